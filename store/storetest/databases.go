package storetest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// namedServer is the environment variable that holds the address of a running server for tests, instead of one that is
// started for them.
const namedServer = "PERKS_TEST_POSTGRES"

var errAddress = errors.New(namedServer +
	" must hold an address of the form postgres://USER:PASSWORD@HOST:PORT/DATABASE")

// stepTimeout bounds each step of setup and cleanup.
const stepTimeout = time.Minute

// PostgresDatabase returns the address of a new, empty database, a postgres:// URL. It is dropped when the test ends,
// even if clients are still connected. All tests of a process share one server: the one that the environment variable
// PERKS_TEST_POSTGRES names by the address of a database there, whose user may create others, or else one that the
// first call starts. If there is neither, the test fails.
func PostgresDatabase(t testing.TB) string {
	t.Helper()
	server, name := emptyDatabase(t)
	return inDatabase(server, name)
}

// PgBouncerDatabase is PostgresDatabase, reached through a PgBouncer in transaction mode that all tests of a process
// share.
func PgBouncerDatabase(t testing.TB) string {
	t.Helper()
	_, name := emptyDatabase(t) // first, because a PgBouncer without its server lets its clients wait
	return behindPgBouncer(t, name)
}

func behindPgBouncer(t testing.TB, name string) string {
	t.Helper()
	bouncer, err := sharedPgBouncer()
	if err != nil {
		t.Fatal(err)
	}
	return bouncer.DSN(name)
}

// emptyDatabase makes a database for as long as the test runs.
func emptyDatabase(t testing.TB) (server *url.URL, name string) {
	t.Helper()
	server, name = newDatabase(t)
	t.Cleanup(func() { dropDatabase(t, server, name) })
	return server, name
}

// newDatabase makes a database with a unique name: several processes may share the server.
func newDatabase(t testing.TB) (server *url.URL, name string) {
	t.Helper()
	server, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	name = "perks_test_" + strings.ToLower(rand.Text())
	ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
	defer cancel()
	if err := createDatabase(ctx, server.String(), name); err != nil {
		t.Fatal(err)
	}
	return server, name
}

func dropDatabase(t testing.TB, server *url.URL, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	if err := execute(ctx, "drop the database "+name, server.String(),
		"DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
		t.Error(err)
	}
}

// MigratedDatabases provides databases for tests that use them through a driver alone. Creating and migrating one takes
// many times as long as most of these tests, so a database is emptied after its test and used again.
type MigratedDatabases struct {
	Migrate func(ctx context.Context, address string) error // makes an empty database ready, and closes it

	mu   sync.Mutex
	idle []string // the names of databases that are ready
}

// Direct returns the address of a database that is as Migrate leaves an empty one, a postgres:// URL. It is the test's
// until that ends. On a server that was started for the tests the user owns the database, as production's does, and may
// do nothing else.
func (m *MigratedDatabases) Direct(t testing.TB) string {
	t.Helper()
	server, name := m.acquire(t)
	return inDatabase(asOwner(server), name)
}

// BehindPgBouncer is Direct, reached through a PgBouncer in transaction mode that all tests of a process share.
func (m *MigratedDatabases) BehindPgBouncer(t testing.TB) string {
	t.Helper()
	_, name := m.acquire(t)
	return behindPgBouncer(t, name)
}

// acquire returns an idle database or makes one. On a server that outlives this process it is dropped after its test.
func (m *MigratedDatabases) acquire(t testing.TB) (server *url.URL, name string) {
	t.Helper()
	server, err := sharedServer()
	if err != nil {
		t.Fatal(err)
	}
	if name = m.takeIdle(); name == "" {
		server, name = newDatabase(t)
		owner := asOwner(server)
		if err = execute(t.Context(), "give the database to its owner", server.String(),
			"ALTER DATABASE "+name+" OWNER TO "+pgx.Identifier{owner.User.Username()}.Sanitize()); err == nil {
			err = m.Migrate(t.Context(), inDatabase(owner, name))
		}
		if err == nil {
			err = execute(t.Context(), "keep the rows of a new database", inDatabase(server, name), keepInitialRows)
		}
	}
	t.Cleanup(func() {
		if err != nil || os.Getenv(namedServer) != "" {
			dropDatabase(t, server, name)
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
		defer cancel()
		if err := execute(ctx, "empty the database "+name, inDatabase(server, name), restoreInitialRows); err != nil {
			t.Error(err)
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.idle = append(m.idle, name)
	})
	if err != nil {
		t.Fatal(err)
	}
	return server, name
}

func (m *MigratedDatabases) takeIdle() (name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if last := len(m.idle) - 1; last >= 0 {
		name, m.idle = m.idle[last], m.idle[:last]
	}
	return name
}

// keepInitialRows copies the tables that have rows.
const keepInitialRows = `CREATE SCHEMA initial;
DO $$ DECLARE name text; filled boolean; BEGIN
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('SELECT EXISTS (SELECT FROM public.%I)', name) INTO filled;
		IF filled THEN EXECUTE format('CREATE TABLE initial.%1$I AS TABLE public.%1$I', name); END IF;
	END LOOP;
END $$`

// restoreInitialRows resets the tables and their identities, in spite of triggers that forbid it. It terminates
// sessions that a driver left behind.
const restoreInitialRows = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
	WHERE datname = current_database() AND state <> 'idle' AND pid <> pg_backend_pid();
DO $$ DECLARE name text; filled boolean; names text[]; BEGIN
	FOR name IN SELECT format('public.%I', tablename) FROM pg_tables WHERE schemaname = 'public' LOOP
		EXECUTE format('SELECT EXISTS (SELECT FROM %s)', name) INTO filled;
		IF filled THEN
			names := names || name;
			EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', name);
		END IF;
	END LOOP;
	EXECUTE format('TRUNCATE %s RESTART IDENTITY CASCADE', array_to_string(names, ', '));
	FOREACH name IN ARRAY names LOOP
		EXECUTE format('ALTER TABLE %s ENABLE TRIGGER USER', name);
	END LOOP;
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'initial' LOOP
		EXECUTE format('INSERT INTO public.%1$I OVERRIDING SYSTEM VALUE TABLE initial.%1$I', name);
	END LOOP;
END $$`

// sharedServer is the address of the server where the tests of this process make their databases. Like sharedPgBouncer,
// one that was started for them is never stopped: it ends with the process.
var sharedServer = sync.OnceValues(func() (*url.URL, error) {
	if address := os.Getenv(namedServer); address != "" {
		return readAddress(address)
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	c, err := StartPostgres(ctx, PostgresOptions{})
	if err != nil {
		return nil, err
	}
	if err := execute(ctx, "make the role "+ownerRole, c.DSN(superuser),
		"CREATE ROLE "+ownerRole+" LOGIN"); err != nil {
		return nil, err
	}
	return readAddress(c.DSN(superuser))
})

// ownerRole has no right but to log in.
const ownerRole = "owner_of_databases"

// asOwner is the server's address for the user that owns migrated databases. On a named server there is only the one
// that is named.
func asOwner(server *url.URL) *url.URL {
	if os.Getenv(namedServer) != "" {
		return server
	}
	u := *server
	u.User = url.User(ownerRole)
	return &u
}

var sharedPgBouncer = sync.OnceValues(func() (*PgBouncer, error) {
	server, err := sharedServer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), stepTimeout)
	defer cancel()
	return startPgBouncer(ctx, server.String())
})

// readAddress does not repeat an invalid address: it may hold a password.
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
	query.Del("dbname") // it would override the path
	u.RawQuery = query.Encode()
	return u.String()
}

// createDatabase makes a database on the server that has the one at the address. It comes from template0, which is
// empty on any server; another template may hold what its owner put there.
func createDatabase(ctx context.Context, address, name string) error {
	return execute(ctx, "create the database "+name, address,
		"CREATE DATABASE "+pgx.Identifier{name}.Sanitize()+" TEMPLATE template0")
}

// execute runs statements one after the other on a new connection.
func execute(ctx context.Context, doing, address string, statements ...string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	for _, statement := range statements {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", doing, err), conn.Close(ctx))
		}
	}
	return conn.Close(ctx)
}
