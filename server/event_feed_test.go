package server

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/sqlite"
)

// TestAListenerThatIsLateIsCutOff has one listener that reads every part, and one that reads none.
func TestAListenerThatIsLateIsCutOff(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.CreateClient(t.Context(), store.Client{ID: "c", Scopes: api.DefaultScopes(), CreatedAt: time.UnixMilli(1)}, store.Operator); err != nil {
		t.Fatal(err)
	}
	f := newEventFeed(db)
	late, err := f.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quick, err := f.listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for n := range feedQueue + 1 {
		title := fmt.Sprint("Perk ", n)
		perk := store.PerkRecord{Perk: api.Perk{ID: "p", Title: title, Description: "-", City: "Bath"}, Approval: store.ApprovalAuto}
		rows := func(yield func(store.PerkRecord, error) bool) { yield(perk, nil) }
		if _, err := db.ImportPerks(t.Context(), rows, func() string { return "p" }, store.Operator, time.UnixMilli(int64(n))); err != nil {
			t.Fatal(err)
		}
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
	if _, isOpen := <-late.parts; isOpen {
		t.Error("the late listener was sent a part behind one that it missed")
	}
	f.leave(late)
	f.leave(quick)
}

// TestTheFeedRestsWithoutListeners has a listener that gives up.
func TestTheFeedRestsWithoutListeners(t *testing.T) {
	db, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	f := newEventFeed(db)
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
	for _, err := range f.follow(t.Context(), eventCursor{}, true) {
		if err != nil {
			t.Error(err)
		}
	}
}
