package tui_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// TestScreensShowWhatOthersChange has a list, a user and a property open, while somebody else changes what they show.
func TestScreensShowWhatOthersChange(t *testing.T) {
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.See("Perks 62")
	d.Settle()
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "new", Title: "Just added", City: "Leeds"}})
	d.Elapse(3 * time.Second)
	d.See("Perks 63", "Just added")

	d.Open(screen.ToUser{ID: "alice"})
	d.See("Redeemed 0")
	d.Settle()
	if _, _, err := colleague(t, server, owner).Redeem(t.Context(), "berlin", api.RedeemRequest{UserID: "alice"},
		""); err != nil {
		t.Fatal(err)
	}
	d.Elapse(3 * time.Second)
	d.See("Redeemed 1")

	d.Open(screen.ToProperty{ID: "1"})
	d.See("Price per week 100")
	d.Settle()
	change(t, server, owner, "1", "150")
	d.Elapse(3 * time.Second)
	d.See("Price per week 150")
	d.Press("e")
	change(t, server, owner, "1", "175")
	d.Elapse(3 * time.Second)
	d.See("Somebody else changed: price per week. Saving merges.", "> Title")
	d.Type("!")
	d.Press("ctrl+s") // the merge comes first, not a comparison with what is out of date
	d.See("Somebody else changed property 1 meanwhile: price per week.", "You changed other fields: nothing to decide.")
	d.Press("ctrl+s")
	d.See("1 field changes: Title")
	d.Press("ctrl+s")
	d.See("Done: Saved property 1: title.")
}

// TestCoveredScreensCatchUp changes a list while a query is typed, and while another tab is shown.
func TestCoveredScreensCatchUp(t *testing.T) {
	server, owner := catalogueOf62(t)
	add := func(id string) {
		server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id, Title: "Added " + id, City: "Leeds"}})
	}
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.See("Perks 62")
	d.Settle()
	d.Press("/")
	add("one")
	d.Elapse(3 * time.Second)
	d.Settle()
	if d.Shows("Added one") {
		t.Errorf("the list has changed under the query:\n%s", d.Screen())
	}
	d.Press("esc")
	d.Elapse(3 * time.Second)
	d.See("Added one")
	d.Settle()
	d.Press("4")
	d.See("Redemptions 1")
	add("two")
	d.Elapse(3 * time.Second)
	d.Settle()
	d.Press("1")
	d.Elapse(3 * time.Second)
	d.See("Added two")
}

// TestServiceWithoutEventsIsAskedOnce has a service of another make.
func TestServiceWithoutEventsIsAskedOnce(t *testing.T) {
	var asked atomic.Int64
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/partners/events" {
			asked.Add(1)
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"response":"ok","data":[],"page":1,"per_page":50,"total":0,"total_pages":0}`))
	}))
	d.Settle()
	for range 5 {
		d.Elapse(10 * time.Second)
		d.Settle()
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}
