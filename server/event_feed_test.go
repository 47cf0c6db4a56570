package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

func openStore(t *testing.T) store.Store {
	t.Helper()
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), sqlite.Options{})
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

// change makes one event.
func change(t *testing.T, db store.Store, title string) {
	t.Helper()
	perk := store.PerkRecord{Perk: api.Perk{ID: "p", Title: title, Description: "-", City: "Bath"},
		Approval: store.ApprovalAuto}
	rows := func(yield func(store.PerkRecord, error) bool) { yield(perk, nil) }
	if _, err := db.ImportPerks(t.Context(), rows, func() string { return "p" }, store.Operator,
		time.Now()); err != nil {
		t.Fatal(err)
	}
}

// betweenStore has something happen just before a listener reads what it has missed.
type betweenStore struct {
	store.Store
	happen func()
}

type listenerKey struct{}

func (b *betweenStore) NextAudit(
	ctx context.Context, after store.AuditPlace, upTo store.AuditPosition, most store.AuditBound,
) (store.AuditBatch, error) {
	if ctx.Value(listenerKey{}) != nil {
		b.happen()
	}
	return b.Store.NextAudit(ctx, after, upTo, most)
}

func TestAListenerGetsWhatIsCommittedWhileItCatchesUpOnce(t *testing.T) {
	db := openStore(t)
	start, err := db.NextAudit(t.Context(), store.AuditPlace{}, "", feedBound)
	if err != nil {
		t.Fatal(err)
	}
	between := &betweenStore{db, sync.OnceFunc(func() { change(t, db, "while it catches up") })}
	f := newEventFeed(between, "live", slog.New(slog.DiscardHandler))
	change(t, db, "before it comes")
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), listenerKey{}, true))
	defer cancel()
	seen := map[string]int{}
	reader := f.follow(start.Next, true)
	defer reader.leave()
	for {
		part, err := reader.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range part.events {
			seen[e.ID]++
		}
		if len(seen) == 2 {
			change(t, db, "afterwards")
		} else if len(seen) == 3 {
			break
		}
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s came %d times", id, n)
		}
	}
}

// TestAListenerThatIsLateReadsWhatItMissed has one follower that reads every part, one that reads none until others have
// come, and one that has not read all from before it came by then.
func TestAListenerThatIsLateReadsWhatItMissed(t *testing.T) {
	db := openStore(t)
	start, err := db.NextAudit(t.Context(), store.AuditPlace{}, "", feedBound)
	if err != nil {
		t.Fatal(err)
	}
	const before, changes = 2, feedQueue + 3
	for n := range before {
		change(t, db, fmt.Sprint("Before ", n))
	}
	f := newEventFeed(db, "live", slog.New(slog.DiscardHandler))
	late, quick := f.follow(store.AuditPlace{}, true), f.follow(store.AuditPlace{}, true)
	behind := f.follow(start.Next, true)
	late.most, behind.most = store.AuditBound{Entries: 1, Bytes: 1}, store.AuditBound{Entries: 1, Bytes: 1}
	for reader, want := range map[*follower]int{late: 0, behind: 1, quick: 0} {
		defer reader.leave()
		if part, err := reader.next(t.Context()); err != nil || len(part.events) != want {
			t.Fatalf("the first part has %d events, want %d: %v", len(part.events), want, err)
		}
	}
	seen, afterwards := map[string]int{}, 0
	take := func(from *follower) {
		t.Helper()
		part, err := from.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range part.events {
			seen[e.ID]++
		}
	}
	for n := range changes {
		change(t, db, fmt.Sprint("Perk ", n))
		f.wake <- struct{}{}
		for len(seen) == n {
			take(quick)
		}
	}
	for reader, missed := range map[*follower]int{late: changes, behind: before - 1 + changes} {
		missed += afterwards
		if !reader.live.isLate.Load() || len(reader.live.parts) > 0 {
			t.Fatalf("%d parts are kept for the late listener", len(reader.live.parts))
		}
		clear(seen)
		for len(seen) < missed {
			if take(reader); reader.live != nil {
				t.Fatalf("it listens after %d of %d events", len(seen), missed)
			}
		}
		for reader.live == nil {
			take(reader)
		}
		afterwards++
		change(t, db, fmt.Sprint("Afterwards ", afterwards))
		for len(seen) == missed {
			take(reader)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("the late listener got %s %d times", id, n)
			}
		}
	}
}

// brokenStore has an entry that cannot be read.
type brokenStore struct {
	store.Store
	isBroken atomic.Bool
}

func (b *brokenStore) NextAudit(
	ctx context.Context, after store.AuditPlace, upTo store.AuditPosition, most store.AuditBound,
) (store.AuditBatch, error) {
	batch, err := b.Store.NextAudit(ctx, after, upTo, most)
	if b.isBroken.Load() && after.Since != "" {
		batch.Entries = []store.AuditEntry{{Action: store.ActionApprove, Subject: "redemption/r",
			After: []byte("no JSON")}}
	}
	return batch, err
}

func TestAnEntryThatCannotBeReadIsLoggedAndEndsTheStreams(t *testing.T) {
	db := &brokenStore{Store: openStore(t)}
	var log bytes.Buffer
	f := newEventFeed(db, "live", slog.New(slog.NewTextHandler(&log, nil)))
	l, err := f.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	db.isBroken.Store(true)
	if part, isOpen := <-l.parts; isOpen {
		t.Errorf("the listener got %+v", part)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if !strings.Contains(log.String(), "events cannot be read") {
		t.Errorf("the log is %q", &log)
	}
}

// TestTheFeedRestsWithoutListeners has a listener that gives up.
func TestTheFeedRestsWithoutListeners(t *testing.T) {
	db := openStore(t)
	f := newEventFeed(db, "live", slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	reader := f.follow(store.AuditPlace{}, true)
	if part, err := reader.next(ctx); err != nil || part.next.Since == "" {
		t.Fatalf("the first part ends at %+v: %v", part.next, err)
	}
	cancel()
	if _, err := reader.next(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("after its caller has left: %v", err)
	}
	reader.leave()
	for isRunning := true; isRunning; {
		select {
		case f.wake <- struct{}{}:
		default:
		}
		f.mu.Lock()
		isRunning = f.isRunning
		f.mu.Unlock()
	}
	f.end()
	reader = f.follow(store.AuditPlace{}, true)
	defer reader.leave()
	var err error
	for err == nil {
		_, err = reader.next(t.Context())
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("after the end of the server: %v", err)
	}
}
