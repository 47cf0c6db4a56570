package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, filepath.Join(t.TempDir(), "perks.db")) })
}

func TestReopened(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	storetest.RunReopened(t, func(t *testing.T) store.Store { return openAt(t, path) })
}

func TestClosedAmidWrites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	storetest.RunClosedAmidWrites(t, func(t *testing.T) store.Store { return openAt(t, path) })
}

func openAt(t *testing.T, path string) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, sqlite.Options{})
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
