package storetest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

// connections are the ways to reach a PostgreSQL database: with prepared statements, without them, as a pooler of
// transactions needs it, and through such a pooler.
var connections = []struct {
	name     string
	database func(t testing.TB) string
}{
	{"prepared", func(t testing.TB) string {
		return storetest.PostgresDatabase(t) + "&default_query_exec_mode=cache_statement"
	}},
	{"simple", func(t testing.TB) string {
		return storetest.PostgresDatabase(t) + "&default_query_exec_mode=simple_protocol"
	}},
	{"pgbouncer", storetest.PgBouncerDatabase},
}

func TestSQLite(t *testing.T) {
	testStore(t, func(t *testing.T) store.Store { return openSQLite(t, filepath.Join(t.TempDir(), "perks.db")) })
}

func TestPostgres(t *testing.T) {
	for _, connection := range connections[:2] { // the third cannot be led to a schema
		t.Run(connection.name, func(t *testing.T) {
			newAddress := addressesIn(t, connection.database(t))
			testStore(t, func(t *testing.T) store.Store { return openPostgres(t, newAddress()) })
		})
	}
}

func TestReopened(t *testing.T) { forEachDatabase(t, testReopened) }

func TestClosedAmidWrites(t *testing.T) { forEachDatabase(t, testClosedAmidWrites) }

// forEachDatabase runs a test over SQLite, and over PostgreSQL in every way. Each call of open opens the same database,
// which is empty at first.
func forEachDatabase(t *testing.T, test func(t *testing.T, open func(t *testing.T) store.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "perks.db")
		test(t, func(t *testing.T) store.Store { return openSQLite(t, path) })
	})
	for _, connection := range connections {
		t.Run(connection.name, func(t *testing.T) {
			t.Parallel()
			address := connection.database(t)
			test(t, func(t *testing.T) store.Store { return openPostgres(t, address) })
		})
	}
}

// addressesIn returns a function that makes a schema in the database and returns an address at which that is all there is:
// hundreds of schemas take a fraction of the time that as many databases would.
func addressesIn(t *testing.T, address string) func() string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	var mu sync.Mutex
	made := 0
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		made++
		schema := fmt.Sprintf("empty_%d", made)
		if _, err := conn.Exec(t.Context(), `CREATE SCHEMA `+schema); err != nil {
			t.Error(err)
		}
		return address + "&search_path=" + schema
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}
