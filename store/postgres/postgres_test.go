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

// ways are how an empty database is reached: with prepared statements, as a pooler of transactions needs it, and through
// one.
var ways = []struct {
	name     string
	database func(t testing.TB) string
}{
	{"prepared", func(t testing.TB) string { return cluster.Database(t) + "&default_query_exec_mode=cache_statement" }},
	{"simple", func(t testing.TB) string { return cluster.Database(t) + "&default_query_exec_mode=simple_protocol" }},
	{"bouncer", cluster.DatabaseBehindBouncer},
}

func TestStore(t *testing.T) {
	for _, way := range ways[:2] { // the third cannot be led to a schema
		t.Run(way.name, func(t *testing.T) {
			newAddress := addressesIn(t, way.database(t))
			storetest.Run(t, func(t *testing.T) store.Store { return openAt(t, newAddress()) })
		})
	}
}

func TestReopened(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			address := way.database(t)
			storetest.RunReopened(t, func(t *testing.T) store.Store { return openAt(t, address) })
		})
	}
}

func TestClosedAmidWrites(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			address := way.database(t)
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

func openAt(t testing.TB, address string) *postgres.DB {
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
