package tui_test

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// startProtected starts as a profile "prod" that is protected, with two perks and the listing 7.
func startProtected(t *testing.T) *tuitest.Driver {
	s := servertest.Start(t)
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "A pot of tea"}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa"}, Approval: store.ApprovalManual})
	id, secret := s.Client()
	s.ImportProperties(id, api.Property{ID: 7, Title: "Loft", Address: "Uferstr. 1", City: "Berlin", Postcode: "10115"})
	return tuitest.StartAs(t, s, id, secret, func(o *tui.Options) {
		accounts := tuitest.NewAccounts(t, nil)
		accounts.Add(screen.Profile{Name: "prod", APIURL: s.API(), ClientID: id, Protected: true}, secret)
		o.Accounts = accounts
	})
}

// TestAProtectedProfileIsChangedOnceItsNameIsTyped makes each kind of change. The name is asked for each time.
func TestAProtectedProfileIsChangedOnceItsNameIsTyped(t *testing.T) {
	d := startProtected(t)
	d.See("Perks 2", "live protected")
	typed := func(key string) {
		t.Helper()
		d.See("LIVE", "Protected: type prod:")
		top := d.App.Overlay()
		d.Press("y", "enter")
		d.See("Protected: type prod first.")
		d.Press("ctrl+u")
		d.Type("PROD")
		d.Press("enter")
		if d.App.Overlay() != top {
			t.Fatalf("%s: another text confirms:\n%s", key, d.Screen())
		}
		d.Press("ctrl+u")
		d.Type("prod")
		d.Press("enter")
	}
	for _, perk := range []api.Perk{{ID: "tea", Title: "A pot of tea"}, {ID: "spa", Title: "A day at the spa"}} {
		d.Open(screen.ToPerk{ID: perk.ID})
		d.See(perk.Title)
		d.Press("r")
		d.See("User")
		d.Type("alice")
		d.Press("ctrl+s")
		d.See("Redeem for alice?")
		typed("r")
		d.See(`"` + perk.Title + `" for alice: `)
		d.Settle()
	}

	// a decision, and one with a reason
	d.Open(screen.ToRedemptions{})
	d.See("Redemptions 2")
	d.Settle()
	d.Press("a")
	typed("a")
	d.See("1 redemption approved.")
	d.Settle()
	d.Press("ctrl+x")
	d.See("Reason", "Profile", "Protected: type prod")
	d.Type("wrong perk")
	d.Press("enter", "ctrl+s")
	d.See("! Protected: type prod.")
	d.Type("prod")
	d.Press("enter")
	d.See("1 redemption voided.")

	// a listing
	d.Open(screen.ToProperty{ID: "7"})
	d.See("Loft")
	d.Settle()
	d.Press("e")
	d.See("Edit property 7")
	d.Clear()
	d.Type("Attic")
	d.Press("ctrl+s")
	d.See("1 field changes: Title")
	d.Press("ctrl+s")
	d.See("Save property 7?", "Changes title at ")
	typed("ctrl+s")
	d.See("Saved property 7: title.")
	d.Settle()
	d.Press("ctrl+x")
	d.See("Delete property 7?")
	d.Type("delete")
	d.Press("enter")
	d.See("Delete property 7?")
	d.Press("ctrl+u")
	typed("ctrl+x")
	d.See("Deleted property 7, Attic.")
}

// TestAProtectedProfileIsReadToTheEndBeforeItsNameConfirms asks about more than fits.
func TestAProtectedProfileIsReadToTheEndBeforeItsNameConfirms(t *testing.T) {
	d, done := startProtected(t), false
	d.See("Perks 2")
	ask := screen.Confirm{Title: "Approve 60?", Yes: "approve", Whole: true}
	ask.Text = strings.Repeat("line\n", 60) + "the end"
	ask.Then = func() tea.Cmd { done = true; return nil }
	d.Send(ask)
	d.See("Approve 60?", "Protected: type prod:")
	d.Type("prod")
	d.Press("enter")
	d.See("Approve 60?", "tab more")
	if done {
		t.Fatal("confirmed unread")
	}
	for range 4 {
		d.Press("pgdown")
		d.See("Approve 60?")
	}
	d.See("the end")
	if d.Press("enter"); !done {
		t.Errorf("the name does not confirm:\n%s", d.Screen())
	}
}

// TestWhatWasConfirmedCanBeSentAgainAfterALogin logs in to the same account again, before and after a name was typed.
func TestWhatWasConfirmedCanBeSentAgainAfterALogin(t *testing.T) {
	d := startProtected(t)
	d.See("Perks 2")
	redeem := func() error {
		account, err := d.App.Shell().Accounts.Connect("prod")
		if err != nil {
			t.Fatal(err)
		}
		d.Send(screen.LoggedIn{Account: account})
		_, _, err = d.App.Shell().Account.Client.Redeem(t.Context(), "tea", api.RedeemRequest{UserID: "alice"}, "")
		return err
	}
	if redeem() == nil {
		t.Error("nobody has typed the name")
	}
	d.Send(screen.Confirm{Title: "Change it?", Yes: "change it", Then: func() tea.Cmd { return nil }})
	d.Type("prod")
	d.Press("enter")
	if err := redeem(); err != nil {
		t.Error(err)
	}
}
