package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"example.com/perks/store"
)

// startPurging forgets idempotency keys that are past their life, now and then every hour, until the function that it
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

// purge works once, and again at each tick, until ctx ends.
func purge(ctx context.Context, stores []store.Store, now func() time.Time, ticks <-chan time.Time, log *slog.Logger) {
	for {
		for _, s := range stores {
			purged, err := s.PurgeIdempotencyKeys(ctx, now().Add(-store.IdempotencyKeyLife))
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				log.Warn("cannot purge old idempotency keys; trying again in an hour", "error", err)
			case purged > 0:
				log.Info("purged old idempotency keys", "count", purged)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
	}
}
