package redeem_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// sameKey checks that all requests for a perk went out under one key.
func (l *line) sameKey() {
	l.t.Helper()
	for _, sent := range l.sent() {
		if sent != l.sent()[0] {
			l.t.Errorf("the requests differ: %q", l.sent())
		}
	}
}

func TestALostAnswerIsSettledByReading(t *testing.T) {
	l := dial(t)
	l.cut = 1
	d := l.open("alice", "coffee", "tea")
	redeem(d, "ticket=1")
	d.See("2 of 2 redeemed for alice.", "No answer told of it, but it is among the redemptions of alice.", "[redeemed] A pot of tea")
	d.Settle()
	l.wants(2, 2)
}

// sendAgain sends what is in doubt again, and says yes to the risk.
func sendAgain(d *tuitest.Driver) {
	d.Press("a")
	d.See("Send it again?")
	d.Press("y")
}

// inDoubt brings the screen into doubt about coffee for alice, which the server has redeemed.
func (l *line) inDoubt(perks ...string) *tuitest.Driver {
	l.t.Helper()
	l.disturb(func(l *line) { l.cut, l.deaf = 1, true })
	d := l.open("", append([]string{"coffee"}, perks...)...)
	redeem(d, "alice")
	d.See("[unknown] Coffee for two", "It is not known whether it was redeemed.", "Looking for it failed: No answer from ")
	d.Settle()
	l.wants(1, 1)
	return d
}

func TestADoubtLocksTheFormUntilLookingEndsIt(t *testing.T) {
	l := dial(t)
	d := l.inDoubt("tea")
	top := d.App.Top()
	d.See("s looks again.", "[waiting] A pot of tea")
	if top.Form() != nil || !strings.Contains(top.Unsaved(), `It is not known whether "Coffee for two" was redeemed for alice.`) {
		t.Errorf("the form is %v, unsaved is %q", top.Form(), top.Unsaved())
	}
	d.Press("ctrl+s", "enter", "r", "y")
	d.Press("q")
	d.See("Quit?", `whether "Coffee for two" was redeemed for alice`)
	d.Press("n", "s")
	d.Settle()
	d.See("[unknown] Coffee for two")
	l.disturb(func(l *line) { l.deaf = false })
	d.Press("s")
	d.See("[redeemed] Coffee for two", "1 of 2 redeemed for alice. ctrl+s goes on with the 1 perk that is left.")
	d.Settle()
	l.wants(1, 1)
	d.Press("ctrl+s")
	d.See("2 of 2 redeemed for alice.")
	d.Settle()
	l.wants(2, 2)
}

func TestADoubtIsEndedByItselfWhenTheServiceIsBack(t *testing.T) {
	l := dial(t)
	d := l.inDoubt()
	l.disturb(func(l *line) { l.deaf = false })
	d.Elapse(time.Minute)
	d.See("[redeemed] Coffee for two", "it is among the redemptions of alice")
	d.Settle()
	l.wants(1, 1)
}

func TestSendingAgainInDoubtUsesTheSameKey(t *testing.T) {
	l := dial(t)
	d := l.inDoubt()
	d.Press("a")
	d.See("Send it again?", "This service has not shown that it heeds idempotency keys.")
	d.Press("n", "enter")
	d.Settle()
	l.wants(1, 1)
	sendAgain(d)
	d.Press("y")
	d.See("[redeemed] Coffee for two", "The first request had done it; the second has redeemed nothing more.")
	d.Settle()
	l.wants(2, 1)
	l.sameKey()
}

func TestSendingAgainAsksNothingWhereKeysAreKnownToCount(t *testing.T) {
	l := dial(t)
	l.drop, l.dropped = 1, "tea"
	d := l.open("alice", "coffee", "tea", "spa")
	redeem(d, "")
	d.See("1 of 3 redeemed for alice.", "[unknown] A pot of tea", "[waiting] Spa day")
	d.Settle()
	l.wants(2, 1)
	d.Press("a")
	d.See("2 of 3 redeemed for alice. ctrl+s goes on", "[redeemed] A pot of tea")
	d.Settle()
	l.wants(3, 2)
	d.Press("ctrl+s")
	d.See("3 of 3 redeemed for alice.", "[pending] Spa day")
	d.Settle()
	l.wants(4, 3)
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-2", "key-1-2", "key-1-3"}) {
		t.Errorf("the keys were %q", keys)
	}
}

func TestWhatNeverArrivedStaysInDoubtUntilItIsSentAgain(t *testing.T) {
	l := dial(t)
	l.drop = 1
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two", "it was not among the redemptions of alice, but the service may still be at work")
	d.Settle()
	l.wants(1, 0)
	d.Press("s")
	d.Settle()
	d.See("[unknown] Coffee for two")
	sendAgain(d)
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wants(2, 1)
	l.sameKey()
}

func TestAnEndedSessionEndsNoDoubt(t *testing.T) {
	l := dial(t)
	l.drop = 1
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two")
	d.Settle()
	d.Accounts.Expire()
	sendAgain(d)
	d.See("Log in again; what you have typed is kept.")
	d.Type(l.secret + "\n")
	d.See("[unknown] Coffee for two")
	d.Settle()
	l.wants(2, 0)
	sendAgain(d)
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wants(3, 1)
	l.sameKey()
}

func TestGivingUpSaysWhatItRisks(t *testing.T) {
	l := dial(t)
	d := l.inDoubt()
	d.Press("x")
	d.See("Give up finding out?", "may have been redeemed for alice")
	d.Press("enter", "n")
	if d.App.Top().Form() != nil {
		t.Fatal("the form is open")
	}
	d.Press("x")
	d.See("Give up finding out?")
	d.Press("y")
	d.See("[given up] Coffee for two")
	d.Press("ctrl+s") // with nothing changed the key stays
	d.See("was redeemed before.")
	d.Press("n", "tab")
	d.Type("ticket=1")
	d.Press("ctrl+s")
	d.See("THIS CAN REDEEM TWICE")
	d.Press("n")
	d.Clear()
	d.Press("ctrl+s")
	d.See("was redeemed before.")
	d.Press("y")
	d.See("[redeemed] Coffee for two", "The first request had done it")
	d.Settle()
	l.wants(2, 1)
	l.sameKey()
}

func TestNothingIsSettledAtAnotherService(t *testing.T) {
	l := dial(t)
	d := l.inDoubt()
	l.disturb(func(l *line) { l.deaf = false })
	d.App.Shell().Account.Profile.Sandbox = true
	for _, offer := range d.App.Top().Offers() {
		if (offer.ID == actions.Settle || offer.ID == actions.Retry) && !strings.Contains(offer.Why, "This was begun at "+l.url+" (LIVE)") {
			t.Errorf("%s is offered: %q", offer.ID, offer.Why)
		}
	}
	d.Press("s", "a", "y", "R")
	d.Settle()
	l.wants(1, 1)
	d.See("[unknown] Coffee for two")
}

// The redemption that a moment ago was made and rejected must not pass for the one whose request has got lost since.
func TestAnEarlierRedemptionDoesNotEndADoubt(t *testing.T) {
	l := dial(t)
	d := l.open("alice", "spa")
	redeem(d, "")
	d.See("[pending] Spa day")
	d.Settle()
	_, err := l.server.Live.DecideRedemption(t.Context(), l.stored()[0].ID, api.StatusRejected, store.Operator, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.disturb(func(l *line) { l.drop = 1 })
	d.Press("r")
	redeem(d, "alice")
	d.See("[unknown] Spa day")
	d.Settle()
	d.Press("s")
	d.Settle()
	d.See("[unknown] Spa day")
	l.wants(2, 1)
	d.Press("a")
	d.See("[pending] Spa day")
	d.Settle()
	l.wants(3, 2)
}

func TestAQuestionIsNoLongerAnsweredAtAnotherService(t *testing.T) {
	l := dial(t)
	d := l.open("alice", "coffee")
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.App.Shell().Account.Profile.Sandbox = true
	d.Press("y")
	d.See("Nothing was sent. This was begun at " + l.url + " (LIVE)")
	d.Settle()
	l.wants(0, 0)
}

func TestAnotherScreenSaysWhatIsInDoubtBelowIt(t *testing.T) {
	l := dial(t)
	d := l.inDoubt()
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee"), l.perk("tea")}, UserID: "alice"})
	d.Press("ctrl+s")
	d.See("Redeem for alice?", "THIS CAN REDEEM TWICE: a screen that is open below this one has sent ", "for alice already, and does not know yet whether it was redeemed.")
	d.Press("n")
	d.Settle()
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}, UserID: "bob"})
	d.Press("ctrl+s")
	d.See("Redeem for bob?")
	if d.Shows("TWICE") {
		t.Errorf("what alice has is said to be in doubt for bob:\n%s", d.Screen())
	}
	l.wants(1, 1)
}
