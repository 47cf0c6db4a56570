package tui_test

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/tuitest"
)

// lead shows the only perk, whose redemptions wait for approval, to somebody who wants to be told of them. A colleague
// redeems with another client.
func lead(t *testing.T, notify tui.Notify, scopes ...api.Scope) *tuitest.Driver {
	t.Helper()
	server := servertest.Start(t)
	server.ImportUsers("ann", "bob", "cid", "dan")
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa"},
		Approval: store.ApprovalManual})
	id, secret := server.Client(scopes...)
	d := tuitest.StartAs(t, server, id, secret, func(o *tui.Options) { o.Notify = notify })
	id, secret = server.Client()
	other, made := colleague(t, server, account{id, secret}), map[string]string{}
	d.Commands = map[string]func(string){
		"colleague redeems for": func(users string) {
			for user := range strings.FieldsSeq(users) {
				redemption, _, err := other.Redeem(t.Context(), "spa", api.RedeemRequest{UserID: user}, "")
				if err != nil {
					t.Fatal(err)
				}
				made[user] = redemption.ID
			}
		},
		"colleague rejects that of": func(user string) {
			if _, _, err := other.Decide(t.Context(), made[user], api.StatusRejected, "a duplicate", ""); err != nil {
				t.Fatal(err)
			}
		},
		"notice": func(want string) {
			d.Settle()
			if got := d.Desktop.Notified(); got != want {
				t.Errorf("the notice is %q, want %q", got, want)
			}
		},
	}
	d.Play(`settle => Perks 1`)
	return d
}

func TestWhatOthersLeaveToApproveIsTold(t *testing.T) {
	lead(t, tui.NotifyDesktop).Play(`
		3 settle => Properties
		colleague redeems for: ann
		wait: 3s => 1 new redemption waits for approval.
		notice: Perks: 1 new redemption waits for approval.

		colleague redeems for: bob cid
		wait: 3s
		notice:
		colleague redeems for: dan
		colleague rejects that of: bob
		wait: 3s
		notice:
		wait: 24s
		notice: Perks: 2 new redemptions wait for approval.
		wait: 40s
		notice:`)
}

func TestTheBellRings(t *testing.T) {
	lead(t, tui.NotifyBell).Play(`
		colleague redeems for: ann
		wait: 3s => 1 new redemption waits for approval.
		notice: bell`)
}

// TestNobodyIsToldOfWhatWasRedeemedHere redeems once here and once elsewhere.
func TestNobodyIsToldOfWhatWasRedeemedHere(t *testing.T) {
	lead(t, tui.NotifyBell).Play(`
		r "ann\n\n"    => Redeem for ann?
		wait: 2s
		y              => waiting for approval
		settle
		wait: 3s
		notice:
		colleague redeems for: bob
		wait: 3s
		notice: bell`)
}

func TestNoticesAreOffUntilTheyAreWanted(t *testing.T) {
	for name, d := range map[string]*tuitest.Driver{
		"off":        lead(t, tui.NotifyOff),
		"not set":    lead(t, ""),
		"not for it": lead(t, tui.NotifyBell, api.DefaultScopes()...), // it only sees its own redemptions
	} {
		t.Run(name, func(t *testing.T) {
			d.Play(`
				colleague redeems for: ann
				wait: 3s
				notice: => ≠ waits for approval`)
		})
	}
}

func TestWaysToTell(t *testing.T) {
	for text, want := range map[string]tui.Notify{"": tui.NotifyOff, "off": tui.NotifyOff, "bell": tui.NotifyBell,
		"desktop": tui.NotifyDesktop} {
		if got, err := tui.ParseNotify(text); got != want || err != nil {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	const problem = `there is no notice "loud"; the notices are off, bell, desktop`
	if got, err := tui.ParseNotify("loud"); got != tui.NotifyOff || err == nil || err.Error() != problem {
		t.Errorf("%s, %v", got, err)
	}
}
