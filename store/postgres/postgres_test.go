package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

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
			newAddress := addressesIn(t, cluster.Database(t)+"&default_query_exec_mode="+mode)
			storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, newAddress()) })
		})
	}
}

func TestReopened(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			address := cluster.Database(t) + "&default_query_exec_mode=" + mode
			storetest.RunReopened(t, func(t *testing.T) store.Store { return openAt(t, address) })
		})
	}
}

func TestClosedAmidWrites(t *testing.T) {
	for _, mode := range modes {
		t.Run(mode, func(t *testing.T) {
			address := cluster.Database(t) + "&default_query_exec_mode=" + mode
			storetest.RunClosedAmidWrites(t, func(t *testing.T) store.Store { return openAt(t, address) })
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
