package storetest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store/storetest"
)

func start(t *testing.T, options storetest.PostgresOptions) *storetest.PostgresServer {
	t.Helper()
	c := must(storetest.StartPostgres(t.Context(), options))(t)
	storetest.AtEnd(t, c.Stop)
	return c
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), address))(t)
	t.Cleanup(func() { _ = conn.Close(context.Background()) }) // its server may be gone by then
	return conn
}

func execute(t *testing.T, conn *pgx.Conn, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

func one[T any](t *testing.T, conn *pgx.Conn, query string) T {
	t.Helper()
	var value T
	if err := conn.QueryRow(t.Context(), query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func code(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		return refused.Code
	}
	return ""
}

func TestAKilledServerRestartsWithItsData(t *testing.T) {
	t.Parallel()
	c := start(t, storetest.PostgresOptions{})
	noError(t, c.CreateDatabase(t.Context(), "d"))
	before := connect(t, c.DSN("d"))
	execute(t, before, `CREATE TABLE rows (n int)`, `INSERT INTO rows VALUES (42)`)
	memory := sharedMemory(t, c)
	busy := keepBusy(t, c.DSN("d"))
	noError(t, c.Kill())
	if err := <-busy; err == nil || code(err) != "" {
		t.Errorf("a query running at the kill returned %v, want a broken connection", err)
	}
	if _, err := pgx.Connect(t.Context(), c.DSN("d")); err == nil {
		t.Error("a killed server takes connections")
	}
	if there := segments(t); slices.Contains(there, memory) {
		t.Errorf("the killed server's shared memory %s is still there", memory)
	}
	if err := c.Kill(); err != nil {
		t.Errorf("killing it again: %v", err)
	}
	noError(t, c.Restart(t.Context()))
	storetest.Equal(t, "the row", one[int](t, connect(t, c.DSN("d")), `SELECT n FROM rows`), 42)
	if err := c.Restart(t.Context()); err == nil {
		t.Error("a running server was started again")
	}
}

// sharedMemory is the id of the segment that outlives a killed server.
func sharedMemory(t *testing.T, c *storetest.PostgresServer) string {
	t.Helper()
	directory, _ := c.Host()
	file := must(os.ReadFile(filepath.Join(directory, "data", "postmaster.pid")))(t)
	words := strings.Fields(strings.Split(string(file), "\n")[6])
	if id := words[len(words)-1]; slices.Contains(segments(t), id) {
		return id
	}
	t.Fatalf("no segment of shared memory is the server's: %s", file)
	return ""
}

// segments is every word of the list of segments, ids among them.
func segments(t *testing.T) []string {
	t.Helper()
	list := must(exec.CommandContext(t.Context(), "ipcs", "-m").Output())(t)
	return strings.Fields(string(list))
}

// keepBusy runs a query that never returns by itself, and returns a channel with its error.
func keepBusy(t *testing.T, address string) <-chan error {
	t.Helper()
	conn, other := connect(t, address), connect(t, address)
	done, finished := make(chan error, 1), make(chan struct{})
	t.Cleanup(func() { // without a word to the server, which goes on for a while
		_ = conn.PgConn().Conn().Close()
		<-finished
	})
	go func() {
		defer close(finished)
		_, err := conn.Exec(context.Background(),
			`SELECT count(*) FROM generate_series(1, 1e12::bigint) WHERE sqrt(generate_series) < 0 -- busy`)
		done <- err
	}()
	for !one[bool](t, other, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE query LIKE '%-- busy'
		AND state = 'active' AND pid <> pg_backend_pid())`) {
	}
	return done
}

func TestPgBouncerAssignsAConnectionPerTransaction(t *testing.T) {
	t.Parallel()
	c := start(t, storetest.PostgresOptions{})
	b := must(c.StartPgBouncer(t.Context()))(t)
	storetest.AtEnd(t, b.Stop)
	noError(t, c.CreateDatabase(t.Context(), "d"))
	backends := map[int]bool{}
	for range storetest.PgBouncerPoolSize + 1 {
		conn := connect(t, b.DSN("d")) // stays open
		if database := one[string](t, conn, `SELECT current_database()`); database != "d" {
			t.Fatalf("the database is %s, want d", database)
		}
		backends[one[int](t, conn, `SELECT pg_backend_pid()`)] = true
	}
	if len(backends) > storetest.PgBouncerPoolSize {
		t.Errorf("%d connections of the server were used, more than the pool holds", len(backends))
	}
}
