package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"runtime"
	"testing"
	"time"

	"example.com/perks/store"
)

// purging reports when a purge is done and how many keys it deleted.
type purging struct {
	store.Store
	purged chan int64
}

func (p purging) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	n, err := p.Store.PurgeIdempotencyKeys(ctx, before)
	p.purged <- n
	return n, err
}

func (p purging) PurgeSigningKeys(ctx context.Context, before time.Time) (int64, error) {
	n, err := p.Store.PurgeSigningKeys(ctx, before)
	p.purged <- n
	return n, err
}

func TestOldKeysArePurgedAtEachTick(t *testing.T) {
	o := withClient(t)
	o.must("import", "users", o.file("users.csv", importable["users"]))
	o.must("import", "perks", o.file("perks.csv", importable["perks"]))
	db := o.store()
	defer db.Close()
	attempt := store.RedeemAttempt{ID: "r", PerkID: "tea", UserID: "alice", ClientID: "acme",
		Metadata: json.RawMessage(`{}`), At: testNow,
		Key: &store.IdempotencyKey{Key: "k"}}
	if _, err := db.Redeem(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}

	for id, expire := range map[string]time.Time{"first": {}, "second": testNow.Add(23 * time.Hour)} {
		key := store.SigningKey{ID: id, Secret: []byte("secret"), CreatedAt: testNow, ExpiresAt: expire}
		if err := db.RotateSigningKey(t.Context(), key, testNow.Add(1000*time.Hour), store.Operator); err != nil {
			t.Fatal(err)
		}
	}

	ctx, cancel := context.WithCancel(context.Background())
	watched := purging{Store: db, purged: make(chan int64)}
	times, ticks := make(chan time.Time), make(chan time.Time)
	stopped := make(chan struct{})
	go func() {
		purge(ctx, []store.Store{watched}, func(int64, error) {}, func() time.Time { return <-times }, ticks,
			slog.New(slog.DiscardHandler))
		close(stopped)
	}()
	times <- testNow.Add(store.IdempotencyKeyLife)
	if n := <-watched.purged; n != 0 {
		t.Errorf("at the start %d valid keys are purged", n)
	}
	if n := <-watched.purged; n != 0 {
		t.Errorf("at the start %d signing keys are purged that expired less than an hour ago", n)
	}
	ticks <- testNow
	times <- testNow.Add(store.IdempotencyKeyLife + time.Second)
	if n := <-watched.purged; n != 1 {
		t.Errorf("at the tick %d keys are purged, want the expired one", n)
	}
	if n := <-watched.purged; n != 1 {
		t.Errorf("at the tick %d signing keys are purged, want the one that expired an hour ago", n)
	}
	cancel()
	<-stopped
}

// slow is a store whose purge lasts until it is cancelled.
type slow struct {
	store.Store
	begun, done chan struct{}
}

func (s slow) PurgeIdempotencyKeys(ctx context.Context, _ time.Time) (int64, error) {
	close(s.begun)
	<-ctx.Done()
	runtime.Gosched() // lets a stop that does not wait return first
	close(s.done)
	return 0, ctx.Err()
}

func TestStoppingWaitsForARunningPurge(t *testing.T) {
	for range 100 {
		s := slow{begun: make(chan struct{}), done: make(chan struct{})}
		stop := inBackground(func(ctx context.Context) {
			purge(ctx, []store.Store{s}, func(int64, error) {}, time.Now, nil, slog.New(slog.DiscardHandler))
		})
		<-s.begun
		stop()
		select {
		case <-s.done:
		default:
			t.Fatal("stop returned during a purge")
		}
	}
}
