package storetest_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

// migrated provides databases for tests that do not change the schema.
var migrated = storetest.MigratedDatabases{Migrate: func(ctx context.Context, address string) error {
	db, err := openPostgres(ctx, address)
	if err != nil {
		return err
	}
	return db.Close()
}}

// connections are the modes to connect to PostgreSQL: with prepared statements, and without them, through PgBouncer in
// transaction mode. What holds there holds without PgBouncer, because the driver sends the same.
var connections = []struct {
	name          string
	migrated, new func(t testing.TB) string
}{
	{"prepared", with("cache_statement", migrated.Direct), with("cache_statement", storetest.PostgresDatabase)},
	{"pgbouncer", migrated.BehindPgBouncer, storetest.PgBouncerDatabase},
}

func with(execMode string, database func(t testing.TB) string) func(t testing.TB) string {
	return func(t testing.TB) string { return database(t) + "&default_query_exec_mode=" + execMode }
}

func TestSQLite(t *testing.T) {
	testStore(t, func(t *testing.T) store.Store { return opened(t, openSQLite, newFile(t)) })
}

// TestSQLiteInSlices imports all but single perks as it otherwise imports very many. A slice has a row, or a hundred
// where there are thousands, because each is a transaction.
func TestSQLiteInSlices(t *testing.T) {
	open := func(rows int64) open {
		return func(ctx context.Context, path string) (store.Store, error) {
			return sqlite.Open(ctx, path, sqlite.Options{SliceRows: rows})
		}
	}
	testStore(t, func(t *testing.T) store.Store {
		if strings.Contains(t.Name(), "thousands") {
			return opened(t, open(100), newFile(t))
		}
		return opened(t, open(1), newFile(t))
	}, "Order", "Import",
		"ImportPartly", "Reset", "Race")
}

func TestPostgres(t *testing.T) {
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			testStore(t, func(t *testing.T) store.Store { return opened(t, openPostgres, connection.migrated(t)) })
		})
	}
}

// TestPostgresInASchema has, for each test, a role with nothing but a schema in a database of another role, which is
// what a managed service may leave one with. The groups are those that lock, alter or ask PostgreSQL about itself.
func TestPostgresInASchema(t *testing.T) {
	server := start(t, storetest.PostgresOptions{})
	execute(t, connect(t, server.DSN("postgres")), `REVOKE CREATE ON SCHEMA public FROM PUBLIC`,
		`REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC`)
	var made atomic.Int64
	testStore(t, func(t *testing.T) store.Store {
		address := must(server.CreateSchema(t.Context(), "postgres", fmt.Sprint("schema", made.Add(1))))(t)
		return opened(t, openPostgres, address)
	}, "Redeem", "Idempotency", "Redemptions", "Import", "Audit in batches", "AuditRead", "Reset", "Race", "Health")
}

func TestReopened(t *testing.T) { forEachDatabase(t, testReopened) }

func TestClosedAmidWrites(t *testing.T) { forEachDatabase(t, testClosedAmidWrites) }

// database is one that programs open.
type database struct {
	address string
	open    open
	status  func(ctx context.Context, address string) ([]store.Migration, error)
	execute func(t testing.TB, address string, statements ...string)
}

// forEachDatabase runs a test with a database that is empty at first, of SQLite, and of PostgreSQL in every mode.
func forEachDatabase(t *testing.T, test func(t *testing.T, d database)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, database{newFile(t), openSQLite, sqlite.Status, executeInSQLite})
	})
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			t.Parallel()
			test(t, database{connection.new(t), openPostgres, postgres.Status, storetest.Execute})
		})
	}
}

func newFile(t *testing.T) string { return filepath.Join(t.TempDir(), "perks.db") }

// open is a driver's Open.
type open func(ctx context.Context, address string) (store.Store, error)

// opened is a program that has the database open until the test ends.
func (d database) opened(t *testing.T) store.Store {
	t.Helper()
	return opened(t, d.open, d.address)
}

func opened(t *testing.T, open open, address string) store.Store {
	t.Helper()
	db := must(open(t.Context(), address))(t)
	storetest.AtEnd(t, db.Close)
	return db
}

func openSQLite(ctx context.Context, path string) (store.Store, error) {
	return sqlite.Open(ctx, path, sqlite.Options{})
}

func openPostgres(ctx context.Context, address string) (store.Store, error) {
	return postgres.Open(ctx, address, postgres.Options{})
}

func executeInSQLite(t testing.TB, path string, statements ...string) {
	t.Helper()
	db := must(sql.Open("sqlite", path))(t)
	defer db.Close()
	for _, statement := range statements {
		must(db.ExecContext(t.Context(), statement))(t)
	}
}
