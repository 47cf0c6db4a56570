package storetest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

// migrated provides databases for tests that do not change the schema.
var migrated = storetest.MigratedDatabases{Migrate: func(ctx context.Context, address string) error {
	db, err := postgres.Open(ctx, address, postgres.Options{})
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
	testStore(t, func(t *testing.T) store.Store { return openSQLite(t, filepath.Join(t.TempDir(), "perks.db")) })
}

// TestSQLiteInSlices imports all but single perks as it otherwise imports very many.
func TestSQLiteInSlices(t *testing.T) {
	testStore(t, func(t *testing.T) store.Store {
		db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), sqlite.Options{SliceRows: 1})
		return closedLater(t, db, err)
	}, "Order", "Import", "ImportPartly", "Reset", "Race")
}

func TestPostgres(t *testing.T) {
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			testStore(t, func(t *testing.T) store.Store { return openPostgres(t, connection.migrated(t)) })
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
		return openPostgres(t, address)
	}, "Redeem", "Idempotency", "Redemptions", "Import", "Audit in batches", "AuditRead", "Reset", "Race", "Health")
}

func TestReopened(t *testing.T) { forEachDatabase(t, testReopened) }

func TestClosedAmidWrites(t *testing.T) { forEachDatabase(t, testClosedAmidWrites) }

// forEachDatabase runs a test over SQLite, and over PostgreSQL in every mode. Each call of open opens the same
// database, which is empty at first.
func forEachDatabase(t *testing.T, test func(t *testing.T, open func(t *testing.T) store.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "perks.db")
		test(t, func(t *testing.T) store.Store { return openSQLite(t, path) })
	})
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			t.Parallel()
			address := connection.new(t)
			test(t, func(t *testing.T) store.Store { return openPostgres(t, address) })
		})
	}
}

func openSQLite(t *testing.T, path string) store.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	return closedLater(t, db, err)
}

func openPostgres(t *testing.T, address string) store.Store {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, postgres.Options{})
	return closedLater(t, db, err)
}

func closedLater(t *testing.T, db store.Store, err error) store.Store {
	t.Helper()
	noError(t, err)
	storetest.AtEnd(t, db.Close)
	return db
}
