package endurance

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// backWithin is how long redemptions may be refused after the primary fails.
const backWithin = 15 * time.Second

// TestAFailoverLosesNoAcknowledgedRedemption kills the primary and promotes the standby while
// redemptions continue.
func TestAFailoverLosesNoAcknowledgedRedemption(t *testing.T) {
	parallel(t)
	p := newPair(t)
	load := startLoad(t, p.installed, p.servers...)
	load.awaitReplies(200)
	died := time.Now()
	if err := p.primary.Kill(); err != nil {
		t.Fatal(err)
	}
	p.become(false, died)
	p.promote()
	p.awaitService(load, died)
	p.become(true, died)
	load.awaitReplies(200)
	load.finish()
	load.check(p.installed)
}

// TestServersLeaveADemotedPrimary has the primary refuse writes, as after a switch-over: connections to it work, but
// are of no use.
func TestServersLeaveADemotedPrimary(t *testing.T) {
	parallel(t)
	p := newPair(t)
	load := startLoad(t, p.installed, p.servers...)
	load.awaitReplies(200)
	demoted := time.Now()
	execute(t, p.primary, `ALTER SYSTEM SET default_transaction_read_only = on`, `SELECT pg_reload_conf()`)
	p.become(false, demoted)
	p.promote()
	p.awaitService(load, demoted)
	p.become(true, demoted)
	load.awaitReplies(200)
	load.finish()
	load.check(p.installed)
}

// awaitService waits until a new attempt gets a reply.
func (p *pair) awaitService(c *load, since time.Time) {
	p.Helper()
	if err := c.redeemUntilReply(c.nextAttempt(), 0); err != nil {
		p.Fatal(err)
	}
	back := time.Since(since).Round(time.Millisecond)
	p.Logf("service was back after %s", back)
	if back > backWithin {
		p.Errorf("service was back after %s, want at most %s", back, backWithin)
	}
}

// TestWithoutTheStandbyNothingIsAcknowledged kills the standby: the primary waits for it, writes get unavailable,
// reads work, and writes work again when it is back.
func TestWithoutTheStandbyNothingIsAcknowledged(t *testing.T) {
	parallel(t)
	p := newPair(t)
	load := startLoad(t, p.installed, p.servers...)
	load.awaitReplies(200)
	died := time.Now()
	if err := p.standby.Kill(); err != nil {
		t.Fatal(err)
	}
	p.become(false, died)
	acknowledged := load.replies.count()

	late := load.nextAttempt()
	replied := make(chan error, 1)
	go func() {
		_, err := load.redeemer.redeem(p.servers[0].URL, late)
		replied <- err
	}()
	p.readUntil(load.redeemer.token, func() bool {
		select {
		case err := <-replied:
			if err == nil || !strings.Contains(err.Error(), `"code":"unavailable"`) {
				t.Errorf("a redemption while the standby is down: %v", err)
			}
			return true
		default:
			return false
		}
	})
	if now := load.replies.count(); now != acknowledged {
		t.Errorf("%d redemptions were acknowledged without the standby", now-acknowledged)
	}

	if err := p.standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.become(true, time.Now())
	if err := load.redeemUntilReply(late, 1); err != nil {
		t.Error(err)
	}
	load.awaitReplies(200)
	load.finish()
	load.check(p.installed)
}

const (
	readWithin      = 2 * time.Second
	connectionsEach = 2 * 16 // of a server to PostgreSQL: two pools
)

// readUntil reads from both servers, and counts their connections, until stop returns true.
func (p *pair) readUntil(token string, stop func() bool) {
	p.Helper()
	conn, err := pgx.Connect(p.Context(), p.primary.DSN("perks"))
	if err != nil {
		p.Fatal(err)
	}
	defer conn.Close(p.Context())
	pace := time.NewTicker(busyInterval)
	defer pace.Stop()
	slowest, most := time.Duration(0), 0
	eventually(p.T, atLast, "a write was answered while the standby was down", func() bool {
		<-pace.C
		for _, path := range []string{"/perks", "/perks/rush", "/perks/users/u-0000?type=redeemed"} {
			for _, s := range p.servers {
				begun := time.Now()
				if status := programs.StatusOf(p.T, s.URL+"/v2/partners"+path, token); status != http.StatusOK {
					p.Errorf("%s got %d", path, status)
				}
				slowest = max(slowest, time.Since(begun))
			}
		}
		var connections int
		if err := conn.QueryRow(p.Context(),
			`SELECT count(*) FROM pg_stat_activity WHERE application_name = 'perksd'`).Scan(&connections); err != nil {
			p.Fatal(err)
		}
		most = max(most, connections)
		return stop()
	})
	p.Logf("the slowest read took %s, and there were at most %d connections", slowest.Round(time.Millisecond), most)
	if slowest > readWithin {
		p.Errorf("a read took %s, want at most %s", slowest, readWithin)
	}
	if bound := len(p.servers) * connectionsEach; most > bound {
		p.Errorf("there were %d connections, want at most %d", most, bound)
	}
}

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
	dirA, portA := a.Host()
	dirB, portB := b.Host()
	query := url.Values{"host": {dirA + "," + dirB}, "port": {fmt.Sprintf("%d,%d", portA, portB)}}
	return (&url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/perks", RawQuery: query.Encode()}).String()
}

// become waits until both servers have become ready, or no longer ready.
func (p *pair) become(ready bool, since time.Time) {
	p.Helper()
	for n, w := range p.watches {
		p.Logf("server %d reports ready %t after %s", n, ready, w.becomes(ready).Sub(since).Round(time.Millisecond))
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
