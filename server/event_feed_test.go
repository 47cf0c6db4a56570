package server

import (
	"bytes"
	"context"
	"fmt"
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
	perk := store.PerkRecord{Perk: api.Perk{ID: "p", Title: title, Description: "-", City: "Bath"}, Approval: store.ApprovalAuto}
	rows := func(yield func(store.PerkRecord, error) bool) { yield(perk, nil) }
	if _, err := db.ImportPerks(t.Context(), rows, func() string { return "p" }, store.Operator, time.Now()); err != nil {
		t.Fatal(err)
	}
}

// betweenStore has something happen just before a listener reads what it has missed.
type betweenStore struct {
	store.Store
	happen func()
}

type listenerKey struct{}

func (b *betweenStore) NextAudit(ctx context.Context, since, upTo store.AuditPosition, most int) (store.AuditBatch, error) {
	if ctx.Value(listenerKey{}) != nil {
		b.happen()
	}
	return b.Store.NextAudit(ctx, since, upTo, most)
}

func TestAListenerGetsWhatIsCommittedWhileItCatchesUpOnce(t *testing.T) {
	db := openStore(t)
	start, err := db.NextAudit(t.Context(), "", "", 1)
	if err != nil {
		t.Fatal(err)
	}
	f := newEventFeed(&betweenStore{db, sync.OnceFunc(func() { change(t, db, "while it catches up") })}, slog.New(slog.DiscardHandler))
	change(t, db, "before it comes")
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), listenerKey{}, true))
	defer cancel()
	seen := map[string]int{}
	for part, err := range f.follow(ctx, eventCursor{since: start.Until}, true) {
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

// TestAListenerThatIsLateIsCutOff has one listener that reads every part, and one that reads none.
func TestAListenerThatIsLateIsCutOff(t *testing.T) {
	db := openStore(t)
	f := newEventFeed(db, slog.New(slog.DiscardHandler))
	late, err := f.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick, err := f.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range feedQueue + 1 {
		change(t, db, fmt.Sprint("Perk ", n))
		f.wake <- struct{}{}
		if part := <-quick.parts; len(part.events) != 1 || part.events[0].Type != api.EventPerksImported {
			t.Fatalf("the part %d is %+v", n, part.events)
		}
	}
	for n := range feedQueue {
		if part, isOpen := <-late.parts; !isOpen {
			t.Fatalf("the late listener was cut off after %d parts", n)
		} else if got := part.events[0].Type; got != api.EventPerksImported {
			t.Errorf("the late listener got %s", got)
		}
	}
	select {
	case _, isOpen := <-late.parts:
		if isOpen {
			t.Error("the late listener was sent a part behind one that it missed")
		}
	default:
		t.Error("the late listener was not cut off")
	}
	f.leave(late)
	f.leave(quick)
}

// brokenStore has an entry that cannot be read.
type brokenStore struct {
	store.Store
	isBroken atomic.Bool
}

func (b *brokenStore) NextAudit(ctx context.Context, since, upTo store.AuditPosition, most int) (store.AuditBatch, error) {
	batch, err := b.Store.NextAudit(ctx, since, upTo, most)
	if b.isBroken.Load() && since != "" {
		batch.Entries = []store.AuditEntry{{Action: store.ActionApprove, Subject: "redemption/r", After: []byte("no JSON")}}
	}
	return batch, err
}

func TestAnEntryThatCannotBeReadIsLoggedAndEndsTheStreams(t *testing.T) {
	db := &brokenStore{Store: openStore(t)}
	var log bytes.Buffer
	f := newEventFeed(db, slog.New(slog.NewTextHandler(&log, nil)))
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
	f := newEventFeed(db, slog.New(slog.DiscardHandler))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for part, err := range f.follow(ctx, eventCursor{}, true) {
		if err != nil || part.next.since == "" {
			t.Fatalf("the first part ends at %+v: %v", part.next, err)
		}
		cancel()
	}
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
	ended, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, err := range f.follow(ended, eventCursor{}, true) {
		if err != nil {
			t.Error(err)
		}
	}
	if ended.Err() != nil {
		t.Error("a listener stayed after the end")
	}
}
