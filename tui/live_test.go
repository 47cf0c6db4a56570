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
// The list does not change while a query is typed, nor while another tab is shown.
func TestScreensShowWhatOthersChange(t *testing.T) {
	server, owner := catalogueOf62(t)
	d := tuitest.StartAs(t, server, owner.id, owner.secret)
	d.Commands = map[string]func(string){
		"add": func(id string) {
			server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: id, Title: "Added " + id, City: "Leeds"}})
		},
		"redeem": func(user string) {
			_, _, err := colleague(t, server, owner).Redeem(t.Context(), "berlin", api.RedeemRequest{UserID: user}, "")
			if err != nil {
				t.Fatal(err)
			}
		},
		"price":         func(price string) { change(t, server, owner, "1", price) },
		"open user":     func(id string) { d.Open(screen.ToUser{ID: id}) },
		"open property": func(id string) { d.Open(screen.ToProperty{ID: api.PropertyID(id)}) },
	}
	d.Play(`
		settle => Perks 62
		add: one
		wait: 3s => Perks 63 | Added one
		settle /
		add: two
		wait: 3s
		settle => Perks 63 | ≠ Added two
		esc
		wait: 3s => Added two
		settle 4 => Redemptions 1
		add: three
		wait: 3s
		settle 1
		wait: 3s => Added three

		open user: alice => Redeemed 0
		settle
		redeem: alice
		wait: 3s => Redeemed 1

		open property: 1 => Price per week 100
		settle
		price: 150
		wait: 3s => Price per week 150
		e
		price: 175
		wait: 3s => Somebody else changed: price per week. Saving merges. | > Title
		"!" ctrl+s => Somebody else changed property 1 meanwhile: price per week. | nothing to decide.
		=> ctrl+s continue esc back
		ctrl+s => 1 field changes: Title
		ctrl+s => Done: Saved property 1: title.`)
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
