package postgres_test

import (
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/postgres/cluster"
	"example.com/perks/store/storetest"
)

// BenchmarkRedeem commits to the disk, as production does, which the servers of tests need not.
func BenchmarkRedeem(b *testing.B) {
	storetest.BenchmarkRedeem(b, func(b *testing.B) store.Store {
		c, err := cluster.Start(b.Context(), cluster.Options{Durable: true})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := c.Stop(); err != nil {
				b.Error(err)
			}
		})
		if err := c.CreateDatabase(b.Context(), "perks"); err != nil {
			b.Fatal(err)
		}
		return openAt(b, c.DSN("perks"))
	})
}
