package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

// purging tells a test when a purge is over and how many keys it forgot.
type purging struct {
	store.Store
	purged chan int64
}

func (p purging) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	n, err := p.Store.PurgeIdempotencyKeys(ctx, before)
	p.purged <- n
	return n, err
}

func TestOldIdempotencyKeysAreForgottenAtEachTick(t *testing.T) {
	o := withClient(t)
	o.must("import", "users", o.file("users.csv", importable["users"]))
	o.must("import", "perks", o.file("perks.csv", importable["perks"]))
	db, err := sqlite.Open(t.Context(), filepath.Join(o.folder, "perks.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	attempt := store.RedeemAttempt{ID: "r", PerkID: "tea", UserID: "alice", ClientID: "acme", Metadata: json.RawMessage(`{}`), At: testNow,
		Key: &store.IdempotencyKey{Key: "k"}}
	if _, err := db.Redeem(t.Context(), attempt); err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	watched := purging{Store: db, purged: make(chan int64)}
	times, ticks := make(chan time.Time), make(chan time.Time)
	ended := make(chan struct{})
	go func() {
		purge(ctx, []store.Store{watched}, func() time.Time { return <-times }, ticks, slog.New(slog.DiscardHandler))
		close(ended)
	}()
	times <- testNow.Add(store.IdempotencyKeyLife)
	if n := <-watched.purged; n != 0 {
		t.Errorf("at the start %d keys are forgotten that still live", n)
	}
	ticks <- testNow
	times <- testNow.Add(store.IdempotencyKeyLife + time.Second)
	if n := <-watched.purged; n != 1 {
		t.Errorf("at the tick %d keys are forgotten, want the one that is past its life", n)
	}
	cancel()
	<-ended
}

func TestStoppingWaitsForThePurge(t *testing.T) {
	o := newOperator(t)
	db, err := sqlite.Open(t.Context(), o.path("perks.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watched := purging{Store: db, purged: make(chan int64, 1)}
	stop := startPurging([]store.Store{watched}, time.Now, slog.New(slog.DiscardHandler))
	<-watched.purged
	stop()
	if err := db.Close(); err != nil {
		t.Error(err)
	}
}
