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

// startChangeable starts as a client of a service with two perks, of which one needs approval, and the listing 7.
// Change alters the profile.
func startChangeable(t *testing.T, change func(*screen.Profile)) *tuitest.Driver {
	s := servertest.Start(t)
	s.ImportUsers("alice")
	s.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "A pot of tea"}},
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa"}, Approval: store.ApprovalManual})
	id, secret := s.Client()
	s.ImportProperties(id, api.Property{ID: 7, Title: "Loft", Address: "Uferstr. 1", City: "Berlin", Postcode: "10115"})
	d := tuitest.StartAs(t, s, id, secret, func(o *tui.Options) {
		profile := screen.Profile{Name: "prod", APIURL: s.API(), ClientID: id}
		change(&profile)
		accounts := tuitest.NewAccounts(t, nil)
		accounts.Add(profile, secret)
		o.Accounts = accounts
	})
	d.See("Perks 2")
	return d
}

func startProtected(t *testing.T) *tuitest.Driver {
	return startChangeable(t, func(p *screen.Profile) { p.Protected = true })
}

// TestAProtectedProfileIsChangedOnceItsNameIsTyped makes each kind of change. The name is asked for each time.
func TestAProtectedProfileIsChangedOnceItsNameIsTyped(t *testing.T) {
	d := startProtected(t)
	d.See("live protected")
	routes := map[string]screen.Route{"tea": screen.ToPerk{ID: "tea"}, "spa": screen.ToPerk{ID: "spa"},
		"redemptions": screen.ToRedemptions{}, "listing": screen.ToProperty{ID: "7"},
		"listings": screen.ToProperties{}}
	d.Commands = map[string]func(string){
		"open": func(name string) { d.Open(routes[name]) },
		"confirm": func(string) {
			top := d.App.Overlay()
			d.Play(`
				=> LIVE | Protected: type prod:
				y enter => Protected: type prod first.
				ctrl+u "PROD" enter`)
			if d.App.Overlay() != top {
				t.Fatalf("another text confirms:\n%s", d.Screen())
			}
			d.Play(`ctrl+u "prod" enter`)
		},
	}
	d.Play(`
		open: tea => A pot of tea
		r => User
		"alice" ctrl+s => Redeem for alice?
		confirm: => "A pot of tea" for alice:
		settle
		open: spa => A day at the spa
		r => User
		"alice" ctrl+s => Redeem for alice?
		confirm: => "A day at the spa" for alice:
		settle
		open: redemptions => Redemptions 2
		settle a
		confirm: => 1 redemption approved.
		settle ctrl+x => Reason | Profile | Protected: type prod
		"wrong perk" enter ctrl+s => ! Protected: type prod.
		"prod" enter => 1 redemption voided.
		open: listing => Loft
		settle e => Edit property 7
		ctrl+u "Attic" ctrl+s => 1 field changes: Title
		ctrl+s => Save property 7? | Changes title at
		confirm: => Saved property 7: title.
		settle ctrl+x => Delete property 7?
		"delete" enter => Delete property 7?
		ctrl+u
		confirm: => Deleted property 7, Attic.
		open: listings => Properties
		settle esc N => New property
		"Loft" tab "310" ctrl+s => Create this property? | Everybody will see it at
		confirm: => Created property`)
}

// TestAProtectedProfileIsReadToTheEndBeforeItsNameConfirms asks about more than fits.
func TestAProtectedProfileIsReadToTheEndBeforeItsNameConfirms(t *testing.T) {
	d, done := startProtected(t), false
	ask := screen.Confirm{Title: "Approve 60?", Yes: "approve", Whole: true}
	ask.Text = strings.Repeat("line\n", 60) + "the end"
	ask.Then = func() tea.Cmd { done = true; return nil }
	d.Send(ask)
	d.Play(`
		=> Approve 60? | Protected: type prod:
		"prod" enter => Approve 60? | tab more`)
	if done {
		t.Fatal("confirmed unread")
	}
	for range 4 {
		d.Play(`pgdown => Approve 60?`)
	}
	d.See("the end")
	if d.Press("enter"); !done {
		t.Errorf("the name does not confirm:\n%s", d.Screen())
	}
}

// TestWhatWasConfirmedCanBeSentAgainAfterALogin logs in to the same account again, before and after a name was typed.
func TestWhatWasConfirmedCanBeSentAgainAfterALogin(t *testing.T) {
	d := startProtected(t)
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
	d.Play(`"prod" enter`)
	if err := redeem(); err != nil {
		t.Error(err)
	}
}
