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
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store/storetest"
)

func start(t *testing.T, options storetest.PostgresOptions) *storetest.PostgresServer {
	t.Helper()
	c, err := storetest.StartPostgres(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, c)
	return c
}

// stopLater stops a server at the end of the test.
func stopLater(t *testing.T, started interface{ Stop() error }) {
	t.Cleanup(func() {
		if err := started.Stop(); err != nil {
			t.Error(err)
		}
	})
}

func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
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
	if err := c.CreateDatabase(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	before := connect(t, c.DSN("d"))
	execute(t, before, `CREATE TABLE rows (n int)`, `INSERT INTO rows VALUES (42)`)
	memory := sharedMemory(t, c)
	busy := keepBusy(t, c.DSN("d"))
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
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
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := one[int](t, connect(t, c.DSN("d")), `SELECT n FROM rows`); n != 42 {
		t.Errorf("the row holds %d, want 42", n)
	}
	if err := c.Restart(t.Context()); err == nil {
		t.Error("a running server was started again")
	}
}

// sharedMemory is the id of the segment that outlives a killed server.
func sharedMemory(t *testing.T, c *storetest.PostgresServer) string {
	t.Helper()
	folder, _ := c.Host()
	file, err := os.ReadFile(filepath.Join(folder, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
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
	list, err := exec.CommandContext(t.Context(), "ipcs", "-m").Output()
	if err != nil {
		t.Fatal(err)
	}
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

func TestAPromotedStandbyHasWhatWasCommitted(t *testing.T) {
	t.Parallel()
	primary := start(t, storetest.PostgresOptions{})
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, standby)
	execute(t, connect(t, primary.DSN("postgres")), `CREATE TABLE rows (n int)`, `INSERT INTO rows VALUES (42)`)
	if _, err := connect(t, standby.DSN("postgres")).Exec(t.Context(),
		`CREATE TABLE other (n int)`); code(err) != "25006" {
		t.Errorf("a standby returned %v for a write, want a read-only error", err)
	}
	if err := primary.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := standby.Promote(t.Context()); err != nil {
		t.Fatal(err)
	}
	promoted := connect(t, standby.DSN("postgres"))
	if n := one[int](t, promoted, `SELECT n FROM rows`); n != 42 {
		t.Errorf("the row holds %d, want 42", n)
	}
	execute(t, promoted, `INSERT INTO rows VALUES (43)`)
}

func TestACommitWaitsForTheStandby(t *testing.T) {
	t.Parallel()
	primary := start(t, storetest.PostgresOptions{})
	standby, err := primary.Standby(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, standby)
	if err := standby.Kill(); err != nil {
		t.Fatal(err)
	}
	committed := make(chan error, 1)
	conn := connect(t, primary.DSN("postgres"))
	go func() {
		_, err := conn.Exec(context.Background(), `CREATE TABLE rows (n int)`)
		committed <- err
	}()
	other := connect(t, primary.DSN("postgres"))
	for !one[bool](t, other, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep')`) {
		select {
		case err := <-committed:
			t.Fatalf("a commit returned (%v) without the standby", err)
		default:
		}
	}
	if err := standby.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-committed; err != nil {
		t.Errorf("the commit failed when the standby was back: %v", err)
	}
}

func TestPgBouncerAssignsAConnectionPerTransaction(t *testing.T) {
	t.Parallel()
	c := start(t, storetest.PostgresOptions{})
	b, err := c.StartPgBouncer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stopLater(t, b)
	if err := c.CreateDatabase(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
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

func TestOptionsReachTheServer(t *testing.T) {
	for _, r := range []struct {
		options              storetest.PostgresOptions
		fsync, sharedBuffers string
	}{
		{storetest.PostgresOptions{}, "off", "64MB"},
		{storetest.PostgresOptions{Durable: true, Settings: map[string]string{"shared_buffers": "16MB"}}, "on", "16MB"},
	} {
		conn := connect(t, start(t, r.options).DSN("postgres"))
		if got := one[string](t, conn, `SHOW fsync`); got != r.fsync {
			t.Errorf("%+v: fsync is %s, want %s", r.options, got, r.fsync)
		}
		if got := one[string](t, conn, `SHOW shared_buffers`); got != r.sharedBuffers {
			t.Errorf("%+v: shared_buffers is %s, want %s", r.options, got, r.sharedBuffers)
		}
	}
}

func TestAServerThatCannotStartSaysWhy(t *testing.T) {
	_, err := storetest.StartPostgres(t.Context(),
		storetest.PostgresOptions{Settings: map[string]string{"shared_buffers": "many"}})
	if err == nil {
		t.Fatal("the server started")
	}
	wantIn(t, err.Error(), `invalid value for parameter "shared_buffers": "many"`)
}

func TestStopRemovesTheFolder(t *testing.T) {
	c := start(t, storetest.PostgresOptions{})
	folder, _ := c.Host()
	for range 2 {
		if err := c.Stop(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder %s is still there (%v)", folder, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if err := c.Restart(ctx); err == nil {
		t.Error("a server without files started")
	}
}

func TestAServerStartsFromASavedOne(t *testing.T) {
	t.Parallel()
	first := start(t, storetest.PostgresOptions{})
	if err := first.CreateDatabase(t.Context(), "saved"); err != nil {
		t.Fatal(err)
	}
	execute(t, connect(t, first.DSN("saved")), `CREATE TABLE colours AS SELECT 'blue' AS name`)
	saved := filepath.Join(t.TempDir(), "saved")
	if err := first.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second must see nothing of the first
		copied, err := storetest.StartPostgresFrom(t.Context(), saved, storetest.PostgresOptions{})
		if err != nil {
			t.Fatal(err)
		}
		stopLater(t, copied)
		conn := connect(t, copied.DSN("saved"))
		execute(t, conn, `INSERT INTO colours VALUES ('red')`)
		if n := one[int](t, conn, `SELECT count(*) FROM colours`); n != 2 {
			t.Errorf("there are %d colours, want the saved one and a new one", n)
		}
	}
}
