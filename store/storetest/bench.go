package storetest

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// BenchmarkRedeem redeems one perk with limited stock, each redemption under a key of its own, by one caller and by 64. The
// ratio of the two rates is what redeeming together gains. Open gives an empty store.
func BenchmarkRedeem(b *testing.B, open func(*testing.B) store.Store) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := open(b)
			addHotPerk(b, s, b.N)
			var next atomic.Int64
			left := make(chan error, callers)
			begin := time.Now()
			b.ResetTimer()
			for range callers {
				go func() { left <- redeemUntil(b, s, &next, begin) }()
			}
			for range callers {
				if err := <-left; err != nil {
					b.Error(err)
				}
			}
			b.ReportMetric(float64(b.N)/time.Since(begin).Seconds(), "redemptions/s")
		})
	}
}

func redeemUntil(b *testing.B, s store.Store, next *atomic.Int64, at time.Time) error {
	for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
		id := fmt.Sprint(n)
		_, err := s.Redeem(b.Context(), store.RedeemAttempt{
			ID: id, PerkID: "hot", UserID: id, ClientID: "bench", At: at, Key: &store.IdempotencyKey{Key: id},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func addHotPerk(b *testing.B, s store.Store, users int) {
	b.Helper()
	units := int64(users)
	perk := store.PerkRecord{Perk: api.Perk{ID: "hot", Title: "Hot", Description: "Hot", City: "Leeds"}, Stock: &units}
	_, err := s.ImportPerks(b.Context(), func(yield func(store.PerkRecord, error) bool) { yield(perk, nil) }, nil, store.Operator, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	_, err = s.ImportUsers(b.Context(), func(yield func(store.User, error) bool) {
		for n := range users {
			if !yield(store.User{ID: fmt.Sprint(n + 1)}, nil) {
				return
			}
		}
	}, store.Operator, time.Now())
	if err != nil {
		b.Fatal(err)
	}
}
