package endurance

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// pair is a primary, the standby that its commits wait for, and two servers that know the addresses of both.
type pair struct {
	*testing.T
	primary, standby *storetest.PostgresServer
	installed        *programs.Installation
	servers          []*programs.Server
	watches          []*readinessWatch
}

func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{T: t, primary: startPostgres(t)}
	var err error
	if p.standby, err = p.primary.Standby(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopPostgres(t, p.standby) })
	p.installed = programs.InstallOver(t, bothAddresses(p.primary, p.standby))
	p.servers = p.installed.StartTogether(2)
	for _, s := range p.servers {
		p.watches = append(p.watches, watchReadiness(t, s))
	}
	p.become(true, time.Now())
	return p
}

// startPostgres starts a server of PostgreSQL with the empty database perks.
func startPostgres(t *testing.T) *storetest.PostgresServer {
	t.Helper()
	c, err := storetest.StartPostgres(t.Context(), storetest.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopPostgres(t, c) })
	if err := c.CreateDatabase(t.Context(), "perks"); err != nil {
		t.Fatal(err)
	}
	return c
}

func stopPostgres(t *testing.T, c *storetest.PostgresServer) {
	t.Helper()
	if err := c.Stop(); err != nil {
		t.Error(err)
	}
}

// bothAddresses is an address that follows a failover from one server to the other.
func bothAddresses(a, b *storetest.PostgresServer) string {
	folderA, portA := a.Host()
	folderB, portB := b.Host()
	query := url.Values{"host": {folderA + "," + folderB}, "port": {fmt.Sprintf("%d,%d", portA, portB)}}
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/perks", RawQuery: query.Encode()}).String()
}

// become waits until both servers have become ready, or no longer ready, since something happened.
func (p *pair) become(ready bool, since time.Time) {
	p.Helper()
	for n, w := range p.watches {
		p.Logf("server %d says that ready is %t after %s", n, ready, w.becomes(ready).Sub(since).Round(time.Millisecond))
	}
}

func (p *pair) promote() {
	p.Helper()
	if err := p.standby.Promote(p.Context()); err != nil {
		p.Fatal(err)
	}
}

// execute runs statements on a server, each by itself.
func execute(t *testing.T, c *storetest.PostgresServer, statements ...string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), c.DSN("perks"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}
