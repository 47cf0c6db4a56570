package servertest

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/postgres/cluster"
	"example.com/perks/store/sqlite"
)

// chosenDatabase is the environment variable that says which database the tests of the programs run over.
const chosenDatabase = "PERKS_TEST_DATABASE"

// DatabaseAddress returns the address of a new, empty database as perksd takes it, which is gone when the test ends. The
// environment variable PERKS_TEST_DATABASE chooses its kind: sqlite, which is the default, postgres, or pgbouncer for a
// PostgreSQL behind PgBouncer in transaction mode.
func DatabaseAddress(t testing.TB) string {
	t.Helper()
	switch kind := cmp.Or(os.Getenv(chosenDatabase), "sqlite"); kind {
	case "sqlite":
		return sqliteScheme + filepath.Join(t.TempDir(), "perks.db")
	case "postgres":
		return cluster.Database(t)
	case "pgbouncer":
		return cluster.DatabaseBehindBouncer(t)
	default:
		t.Fatalf("%s is %q, but only sqlite, postgres and pgbouncer can be chosen", chosenDatabase, kind)
		return ""
	}
}

const sqliteScheme = "sqlite:"

// OpenStore opens the store in a new database, of the kind that DatabaseAddress chooses, until the test ends.
func OpenStore(t testing.TB) store.Store {
	t.Helper()
	db, err := open(t, DatabaseAddress(t))
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

func open(t testing.TB, address string) (store.Store, error) {
	if path, isFile := strings.CutPrefix(address, sqliteScheme); isFile {
		return sqlite.Open(t.Context(), path, sqlite.Options{})
	}
	return postgres.Open(t.Context(), address, postgres.Options{})
}
