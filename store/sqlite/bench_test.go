package sqlite_test

import (
	"path/filepath"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
	"example.com/perks/store/storetest"
)

func BenchmarkRedeem(b *testing.B) {
	storetest.BenchmarkRedeem(b, func(b *testing.B) store.Store {
		db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "perks.db"), sqlite.Options{})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() {
			if err := db.Close(); err != nil {
				b.Error(err)
			}
		})
		return db
	})
}
