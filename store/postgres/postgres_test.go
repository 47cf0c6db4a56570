package postgres_test

import (
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres"
	"example.com/perks/store/postgres/cluster"
	"example.com/perks/store/storetest"
)

// modes are the two ways in which the database is spoken to: with prepared statements, and as a pooler of transactions
// needs it.
var modes = []string{"cache_statement", "simple_protocol"}

func TestStore(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, newDatabase(t, mode)) })
		})
	}
}

func TestReopened(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			address := newDatabase(t, mode)
			storetest.RunReopened(t, func(t *testing.T) store.Store { return openAt(t, address) })
		})
	}
}

func TestClosedAmidWrites(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			address := newDatabase(t, mode)
			storetest.RunClosedAmidWrites(t, func(t *testing.T) store.Store { return openAt(t, address) })
		})
	}
}

// newDatabase returns the address of an empty database that is to be spoken to in that mode.
func newDatabase(t *testing.T, mode string) string {
	t.Helper()
	return cluster.Database(t) + "&default_query_exec_mode=" + mode
}

func openAt(t *testing.T, address string) *postgres.DB {
	t.Helper()
	db, err := postgres.Open(t.Context(), address, postgres.Options{})
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
