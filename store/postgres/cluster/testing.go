package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// namedServer is the environment variable that holds the address of a running server for tests, instead of one that is
// started for them.
const namedServer = "PERKS_TEST_POSTGRES"

var errAddress = errors.New(namedServer + " must hold an address of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// patience bounds each thing that is done for a test beside the test itself.
const patience = time.Minute

// Database returns the address of a new, empty database, a postgres:// URL. It is dropped when the test ends, whoever is
// still connected. All tests of a process share one server, which the first call starts, or the one that the environment
// variable PERKS_TEST_POSTGRES names: the address of a database there, whose user may create others. Where there is neither
// the test fails.
func Database(t testing.TB) string {
	t.Helper()
	server, name := emptyDatabase(t)
	return inDatabase(server, name)
}

// DatabaseBehindBouncer is Database, reached through a PgBouncer in transaction mode that all tests of a process share.
func DatabaseBehindBouncer(t testing.TB) string {
	t.Helper()
	_, name := emptyDatabase(t) // first, because a PgBouncer before a server that is not there lets its clients wait
	bouncer, err := sharedBouncer()
	if err != nil {
		t.Fatal(err)
	}
	return bouncer.DSN(name)
}

// emptyDatabase makes a database for as long as the test runs. Its name is like no other: several processes may share the
// server.
func emptyDatabase(t testing.TB) (server *url.URL, name string) {
	t.Helper()
	server, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	name = "perks_test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := createDatabase(ctx, server.String(), name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := dropDatabase(ctx, server.String(), name); err != nil {
			t.Error(err)
		}
	})
	return server, name
}

// sharedServer is the address of the server where the tests of this process make their databases. Like sharedBouncer, one
// that was started for them is never stopped: it ends with the process.
var sharedServer = sync.OnceValues(func() (*url.URL, error) {
	if address := os.Getenv(namedServer); address != "" {
		return readAddress(address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := Start(ctx, Options{})
	if err != nil {
		return nil, err
	}
	return readAddress(c.DSN(superuser))
})

var sharedBouncer = sync.OnceValues(func() (*Bouncer, error) {
	server, err := sharedServer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return startBouncer(ctx, server.String())
})

// readAddress says nothing of an address that it cannot read: it may hold a password.
func readAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errAddress
	}
	return u, nil
}

// inDatabase is the address of another database of the server.
func inDatabase(server *url.URL, name string) string {
	u := *server
	u.Path = "/" + name
	query := u.Query()
	query.Del("dbname") // it would win over the path
	u.RawQuery = query.Encode()
	return u.String()
}
