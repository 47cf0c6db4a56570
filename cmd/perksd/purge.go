package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/perks/store"
)

// startPurging forgets idempotency keys that are past their life and signing keys that have expired, now and then every hour, until the function that it
// returns is called. That function waits for a purge under way.
func startPurging(stores []store.Store, now func() time.Time, log *slog.Logger) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	hourly := time.NewTicker(time.Hour)
	var running sync.WaitGroup
	running.Go(func() { purge(ctx, stores, now, hourly.C, log) })
	return func() {
		hourly.Stop()
		cancel()
		running.Wait()
	}
}

// expiredKeysStay leaves room for clocks that differ.
const expiredKeysStay = time.Hour

// purge works once, and again at each tick, until ctx ends.
func purge(ctx context.Context, stores []store.Store, now func() time.Time, ticks <-chan time.Time, log *slog.Logger) {
	for {
		for _, s := range stores {
			at := now()
			for _, old := range []struct {
				what   string
				purge  func(context.Context, time.Time) (int64, error)
				before time.Time
			}{
				{"idempotency keys", s.PurgeIdempotencyKeys, at.Add(-store.IdempotencyKeyLife)},
				{"signing keys", s.PurgeSigningKeys, at.Add(-expiredKeysStay)},
			} {
				purged, err := old.purge(ctx, old.before)
				switch {
				case ctx.Err() != nil:
					return
				case err != nil:
					log.Warn("cannot purge old "+old.what+"; trying again in an hour", "error", err)
				case purged > 0:
					log.Info("purged old "+old.what, "count", purged)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}
