package tui_test

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// TestAReadOnlyProfileIsRefusedAtTheKey presses, on each screen, the keys that change something elsewhere.
func TestAReadOnlyProfileIsRefusedAtTheKey(t *testing.T) {
	d := startChangeable(t, func(p *screen.Profile) { p.ReadOnly = true })
	d.See("read-only")
	made, _, err := d.App.Shell().Account.Client.Redeem(t.Context(), "spa", api.RedeemRequest{UserID: "alice"}, "")
	if err != nil {
		t.Fatal(err)
	}
	const why = "not possible now. Profile prod is read-only. L switches the profile."
	decisions := map[string]string{"a approve": "Approve", "x reject": "Reject"}
	for _, on := range []struct {
		route screen.Route
		shows string
		hints map[string]string // elsewhere in the footer, and the name of each
	}{
		{screen.ToPerks{}, "Perks 2", map[string]string{"r redeem": "Redeem"}},
		{screen.ToPerk{ID: "tea"}, "A pot of tea", map[string]string{"r redeem": "Redeem"}},
		{screen.ToUser{ID: "alice"}, "Available 1", map[string]string{"r redeem": "Redeem"}},
		{screen.ToUser{ID: "alice", Redeemed: true}, "Redeemed 1", decisions},
		{screen.ToRedemption{ID: made.ID}, "waiting for approval", decisions},
		{screen.ToRedemptions{}, "Redemptions 1", decisions},
		{screen.ToProperty{ID: "7"}, "Loft", map[string]string{
			"enter edit": "Open", "e edit": "Edit", "/ field": "Edit a field…", "ctrl+x delete": "Delete",
		}},
	} {
		d.Open(on.route)
		d.See(on.shows)
		d.Settle()
		top := d.App.Top()
		for hint, name := range on.hints {
			if d.Shows(hint) {
				t.Errorf("%T: the footer has %q:\n%s", on.route, hint, d.Screen())
			}
			key, _, _ := strings.Cut(hint, " ")
			d.Press(key)
			d.See(name + ": " + why)
			d.Elapse(time.Second)
			if d.App.Top() != top || d.App.Overlay() != nil || top.Form() != nil {
				t.Fatalf("%T: %s opens something:\n%s", on.route, key, d.Screen())
			}
		}
	}
}

// TestAnActionWithoutItsScopeIsRefusedAtTheKey has a client that may only read.
func TestAnActionWithoutItsScopeIsRefusedAtTheKey(t *testing.T) {
	s := servertest.Start(t)
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "A pot of tea"}})
	id, secret := s.Client(api.ScopePerksRead, api.ScopePropertiesRead, api.ScopeRedemptionsRead)
	s.ImportProperties(id, api.Property{ID: 7, Title: "Loft"})
	d := tuitest.StartAs(t, s, id, secret)
	d.See("Perks 1")
	for _, on := range []struct {
		route             screen.Route
		shows, hint, name string
		scope             api.Scope
	}{
		{screen.ToPerks{}, "Perks 1", "r redeem", "Redeem", api.ScopePerksRedeem},
		{screen.ToPerk{ID: "tea"}, "A pot of tea", "r redeem", "Redeem", api.ScopePerksRedeem},
		{screen.ToProperty{ID: "7"}, "Loft", "e edit", "Edit", api.ScopePropertiesWrite},
		{screen.ToProperty{ID: "7"}, "Loft", "ctrl+x delete", "Delete", api.ScopePropertiesWrite},
	} {
		d.Open(on.route)
		d.See(on.shows)
		d.Settle()
		if d.Shows(on.hint) {
			t.Errorf("%T: the footer has %q:\n%s", on.route, on.hint, d.Screen())
		}
		key, _, _ := strings.Cut(on.hint, " ")
		d.Press(key)
		d.See(on.name + ": not possible now. This client lacks the scope " + string(on.scope) + ".")
		d.Elapse(time.Second)
	}
}
