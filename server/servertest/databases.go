package servertest

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

// chosenDatabase is the environment variable that selects the database of the programs' tests.
const chosenDatabase = "PERKS_TEST_DATABASE"

// kind is a kind of database that tests can use.
type kind struct {
	address func(t testing.TB) string      // of a new, empty database as perksd takes it
	open    func(t testing.TB) store.Store // opens a new store
}

var kinds = map[string]kind{
	"sqlite": {func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "perks.db") }, openSQLite},
	"postgres": {storetest.PostgresDatabase,
		func(t testing.TB) store.Store { return openPostgres(t, migrated.Direct(t)) }},
	"pgbouncer": {storetest.PgBouncerDatabase,
		func(t testing.TB) store.Store { return openPostgres(t, migrated.BehindPgBouncer(t)) }},
}

func chosenKind(t testing.TB) kind {
	t.Helper()
	name := cmp.Or(os.Getenv(chosenDatabase), "sqlite")
	chosen, known := kinds[name]
	if !known {
		t.Fatalf("%s is %q, but only sqlite, postgres and pgbouncer can be chosen", chosenDatabase, name)
	}
	return chosen
}

// DatabaseAddress returns the address of a new, empty database as perksd takes it, which is gone when the test ends.
// The environment variable PERKS_TEST_DATABASE chooses its kind: sqlite, which is the default, postgres, or pgbouncer
// for a PostgreSQL behind PgBouncer in transaction mode.
func DatabaseAddress(t testing.TB) string {
	t.Helper()
	return chosenKind(t).address(t)
}

// OpenStore opens an empty store in a database of the kind that DatabaseAddress chooses, until the test ends.
func OpenStore(t testing.TB) store.Store {
	t.Helper()
	return chosenKind(t).open(t)
}

var migrated = storetest.MigratedDatabases{Migrate: func(ctx context.Context, address string) error {
	db, err := postgres.Open(ctx, address, postgres.Options{})
	if err != nil {
		return err
	}
	return db.Close()
}}

func openPostgres(t testing.TB, address string) store.Store {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, postgres.Options{})
	return closedLater(t, db, err)
}

// migratedFile is what a new SQLite file holds. Making one takes many times as long as copying it.
var migratedFile = sync.OnceValues(func() ([]byte, error) {
	directory, err := os.MkdirTemp("", "perks-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(directory)
	path := filepath.Join(directory, "perks.db")
	db, err := sqlite.Open(context.Background(), path, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func openSQLite(t testing.TB) store.Store {
	t.Helper()
	file, err := migratedFile()
	if err != nil {
		t.Fatalf("making a database: %v", err)
	}
	path := filepath.Join(t.TempDir(), "perks.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	return closedLater(t, db, err)
}

func closedLater(t testing.TB, db store.Store, err error) store.Store {
	t.Helper()
	if err != nil {
		t.Fatalf("opening the database: %v", err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Errorf("closing the database: %v", err)
		}
	})
	return db
}
