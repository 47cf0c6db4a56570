package sqlite_test

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

// BenchmarkRedeem redeems one perk with limited stock, every redemption on the disk before the next begins or shared with
// what others wait for. The ratio of the two rates is what the writer gains.
func BenchmarkRedeem(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			db, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "perks.db"), sqlite.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer db.Close()
			addHotPerk(b, db, b.N)
			var next atomic.Int64
			callersLeft := make(chan int, callers)
			begin := time.Now()
			b.ResetTimer()
			for range callers {
				go func() {
					done := 0
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						if _, err := db.Redeem(b.Context(), store.RedeemAttempt{
							ID: fmt.Sprint(i), PerkID: "hot", UserID: fmt.Sprint(i), ClientID: "bench", At: begin,
							Key: &store.IdempotencyKey{Key: fmt.Sprint(i)},
						}); err != nil {
							b.Error(err)
						}
						done++
					}
					callersLeft <- done
				}()
			}
			for range callers {
				<-callersLeft
			}
			b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "redemptions/s")
		})
	}
}

func addHotPerk(b *testing.B, db *sqlite.DB, users int) {
	b.Helper()
	units := int64(users)
	perk := store.PerkRecord{Perk: api.Perk{ID: "hot", Title: "Hot", Description: "Hot", City: "Leeds"}, Stock: &units}
	_, err := db.ImportPerks(b.Context(), func(yield func(store.PerkRecord, error) bool) { yield(perk, nil) }, nil, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	_, err = db.ImportUsers(b.Context(), func(yield func(store.User, error) bool) {
		for i := range users {
			if !yield(store.User{ID: fmt.Sprint(i + 1)}, nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
}
