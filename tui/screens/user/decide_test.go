package user_test

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

// decided starts on alice, who has an approved coffee and, above it, a spa that waits for approval.
func decided(t *testing.T) (*servertest.Server, *tuitest.Driver) {
	t.Helper()
	s := startServer(t)
	spa := record("spa", "A day at the spa")
	spa.Approval = store.ApprovalManual
	s.ImportPerks(spa)
	d := tuitest.Start(t, s)
	d.See("Perks 4")
	d.Resize(120, 30)
	redeem(t, d, "coffee", "alice")
	redeem(t, d, "spa", "alice")
	d.Open(screen.ToUser{ID: "alice", Redeemed: true})
	d.See("Redeemed 2", "> just now A day at the spa pending", "Coffee for two approved", "Available 2")
	d.Settle()
	return s, d
}

func TestRedemptionsAreDecidedOnTheUsersPage(t *testing.T) {
	_, d := decided(t)
	d.See("a approve", "x reject")
	d.Gone("ctrl+x void")
	d.Press("ctrl+x")
	d.See("Void: not possible now. It is pending. Reject it: x.")
	d.Elapse(time.Second)
	d.Press("a")
	d.See("Approve A day at the spa for alice?", "LIVE")
	d.Press("y")
	d.See("Done: 1 redemption approved.", "A day at the spa approved", "ctrl+x void")
	d.Press("j", "ctrl+x")
	d.See("Void Coffee for two for alice?")
	d.Type("wrong perk\n")
	d.See("Done: 1 redemption voided.", "Coffee for two voided", "wrong perk", "Available 3")
	d.Press("x")
	d.See("Reject: not possible now. It is voided.")
	d.Press("tab", "ctrl+x")
	d.See("Void: not possible now. Go to the redemptions: tab.")
	d.Elapse(time.Second)
	d.Press("e")
	d.See("All perks 4", "A day at the spa Berlin redeemed just now", "Coffee for two Berlin ends in 3 days")
}

// TestARedemptionIsDecidedOnItsPage also shows the decision there, on the user's page and in the list of all.
func TestARedemptionIsDecidedOnItsPage(t *testing.T) {
	_, d := decided(t)
	d.Press("j", "enter")
	d.See("Status approved", "ctrl+x void")
	d.Press("?")
	d.See("Keys", "Redemption", "Approve (not now: It is approved. Void it: ctrl+x.)", "ctrl+x Void")
	d.Press("esc", "ctrl+x")
	d.Type("left early\n")
	facts := []string{"Status voided, can be redeemed again", "Decided", "Reason left early", "Client"}
	d.See(append(facts, "Done: 1 redemption voided.")...)
	d.Press("esc")
	d.See("Coffee for two voided", "left early", "Available 3")
	d.Press("4")
	d.See("Redemptions 2", "Coffee for two voided")
	d.Press("G", "enter")
	d.See(facts...)
	d.Settle()
}

// TestADecisionElsewhereIsShownOnTheRedemptionsPage approves one while it is open.
func TestADecisionElsewhereIsShownOnTheRedemptionsPage(t *testing.T) {
	s, d := decided(t)
	d.Press("enter")
	d.See("Status pending, waiting for approval")
	_, id := d.App.Top().(screen.Selected).Selected()
	address := s.LiveURL() + "/redemptions/" + id + "/approve"
	if status := s.Do(s.Request(s.Token(), "POST", address, `{}`), nil); status != 200 {
		t.Fatalf("approving: %d", status)
	}
	d.Elapse(time.Second)
	d.Send(screen.Changed{})
	d.See("Status approved", "Decided")
}

// TestAClientThatMayNotReadRecordsSeesTheRedemptions is of a client without any right to redemptions, and of one that
// may read only its own, of which there are none.
func TestAClientThatMayNotReadRecordsSeesTheRedemptions(t *testing.T) {
	s, d := decided(t)
	d.Press("j", "ctrl+x")
	d.Type("wrong perk\n")
	d.See("Coffee for two voided")
	for _, scopes := range [][]api.Scope{{api.ScopePerksRead}, {api.ScopePerksRead, api.ScopeRedemptionsRead}} {
		id, secret := s.Client(scopes...)
		d := tuitest.StartAs(t, s, id, secret, tuitest.Route(screen.ToUser{ID: "alice", Redeemed: true}))
		d.See("Redeemed 2", "A day at the spa pending", "Coffee for two rejected")
		if strings.Contains(d.Screen(), "wrong perk") {
			t.Errorf("%v: the reason is shown:\n%s", scopes, d.Screen())
		}
	}
}
