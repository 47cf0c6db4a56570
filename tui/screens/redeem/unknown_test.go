package redeem_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
	"example.com/perks/tui/widget"
)

// wantSameKey checks that all requests were equal, with one idempotency key.
func (l *faultyServer) wantSameKey() {
	l.t.Helper()
	for _, sent := range l.sent() {
		if sent != l.sent()[0] {
			l.t.Errorf("the requests differ: %q", l.sent())
		}
	}
}

func TestLostReplyIsConfirmedWithItsKey(t *testing.T) {
	l := startServer(t)
	l.loseReplies = 1
	d := l.open("alice", "coffee", "tea")
	redeem(d, "ticket=1")
	d.See("alice: 2 redeemed.", "The reply was lost; the service confirmed it.", "[redeemed] A pot of tea")
	d.Settle()
	l.wantCounts(3, 2) // the first twice, with one key
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-1", "key-1-2"}) {
		t.Errorf("sent the keys %q", keys)
	}
}

// openUnknown redeems coffee for alice, and loses the reply.
func (l *faultyServer) openUnknown(perks ...string) *tuitest.Driver {
	l.t.Helper()
	l.set(func(l *faultyServer) { l.loseReplies, l.failReads = 1, true })
	d := l.open("", append([]string{"coffee"}, perks...)...)
	redeem(d, "alice")
	d.See("[unknown] Coffee for two", "No reply yet. Checking every 4 s. Don't redeem elsewhere.")
	d.Settle()
	l.wantCounts(1, 1)
	return d
}

func TestUnknownOutcomeLocksTheFormUntilChecked(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown("tea")
	top := d.App.Top()
	d.See("s checks again, t retries (may redeem twice), x stops checking", "[not sent] A pot of tea")
	if top.Form() != nil || !strings.Contains(top.Unsaved(),
		`It is unknown whether "Coffee for two" was redeemed for alice.`) {
		t.Errorf("Form() = %v, Unsaved() = %q", top.Form(), top.Unsaved())
	}
	d.Press("ctrl+s", "enter", "r", "y")
	d.Elapse(time.Second)
	d.Press("q")
	d.See("Quit?", `whether "Coffee for two" was redeemed for alice`)
	d.Press("n", "s")
	d.Settle()
	d.See("[unknown] Coffee for two")
	l.set(func(l *faultyServer) { l.failReads = false })
	d.Press("s")
	d.See("[redeemed] Coffee for two", "alice: 1 redeemed, 1 not sent. ctrl+s continues.")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
	d.Press("ctrl+s")
	d.See("alice: 2 redeemed.")
	d.Settle()
	l.wantCounts(3, 2)
}

func TestUnknownOutcomeIsCheckedWhenBackOnline(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	l.set(func(l *faultyServer) { l.failReads = false })
	d.Elapse(time.Minute)
	d.See("[redeemed] Coffee for two", "The reply was lost; the service confirmed it.")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
}

// The list does not say who redeemed: a redemption of another client must not be shown as ours.
func TestRedemptionOfAnotherClientIsNotShownAsOurs(t *testing.T) {
	for _, test := range []struct {
		before, dropKeys bool
		says             []string
		sent             int
	}{
		{false, false, []string{"[already redeemed] Coffee for two", "alice redeemed it on",
			"Nothing was redeemed now."}, 2},
		{true, false, []string{"[already redeemed] Coffee for two", "alice redeemed it on",
			"Nothing was redeemed now."}, 2},
		{false, true, []string{"[unknown] Coffee for two", "this one or another.", "t retries (may redeem twice)"}, 1},
		{true, true, []string{
			"[unknown] Coffee for two", "it was not in alice's list", "t retries (may redeem twice)",
		}, 1},
	} {
		l := startServer(t)
		l.loseRequests, l.dropKeys = 1, test.dropKeys
		if test.before {
			l.redeemElsewhere("coffee")
		} else {
			l.onLost = func() { l.redeemElsewhere("coffee") }
		}
		d := l.open("alice", "coffee")
		redeem(d, "")
		d.See(test.says...)
		d.Settle()
		l.wantCounts(test.sent, 1)
		l.wantSameKey()
		id, mayBeOurs := l.stored()[0].ID, !test.before || !test.dropKeys
		if d.Shows(id) != mayBeOurs {
			t.Errorf("redemption %s is shown: %v\n%s", id, !mayBeOurs, d.Screen())
		}
		if d.Shows("[redeemed]") {
			t.Errorf("the redemption of another client is shown as redeemed:\n%s", d.Screen())
		}
	}
}

func TestRetryUsesTheSameKey(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	d.Press("t")
	d.See("Retry?", "This service has not shown that it honours idempotency keys.")
	d.Press("n", "enter")
	d.Settle()
	l.wantCounts(1, 1)
	d.Press("t")
	d.See("Retry?")
	d.Press("y", "y")
	d.See("[redeemed] Coffee for two", "The reply was lost; the service confirmed it.")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
}

func TestRetryIsNotConfirmedIfTheServiceHonoursKeys(t *testing.T) {
	l := startServer(t)
	l.loseRequests, l.losePerk = 1, "tea"
	d := l.open("alice", "coffee", "tea", "spa")
	redeem(d, "")
	d.See("alice: 1 redeemed, 1 unknown, 1 not sent.", "[unknown] A pot of tea", "[not sent] Spa day")
	d.Settle()
	l.wantCounts(2, 1)
	d.Press("t")
	d.See("alice: 2 redeemed, 1 not sent. ctrl+s continues.", "[redeemed] A pot of tea")
	d.Settle()
	l.wantCounts(3, 2)
	d.Press("ctrl+s")
	d.See("alice: 2 redeemed, 1 waiting for approval.", "[waiting for approval] Spa day")
	d.Settle()
	l.wantCounts(4, 3)
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-2", "key-1-2", "key-1-3"}) {
		t.Errorf("sent the keys %q", keys)
	}
}

func TestRequestThatNeverArrivedIsUnknownUntilRetried(t *testing.T) {
	l := startServer(t)
	l.loseRequests = 1
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two", "it was not in alice's list, but may still come")
	d.Settle()
	l.wantCounts(1, 0)
	d.Press("s")
	d.Settle()
	d.See("[unknown] Coffee for two")
	d.Press("t") // needs no confirmation: the list has shown that the service honours keys
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
}

func TestExpiredSessionKeepsTheOutcomeUnknown(t *testing.T) {
	l := startServer(t)
	l.loseRequests = 1
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two")
	d.Settle()
	d.Accounts.Expire()
	d.Press("t") // needs no confirmation: the list has shown that the service honours keys
	d.See("Log in again; your text is kept.")
	d.Type(l.secret + "\n")
	d.See("[unknown] Coffee for two")
	d.Settle()
	l.wantCounts(2, 0)
	d.Press("t") // needs no confirmation: the list has shown that the service honours keys
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(3, 1)
	l.wantSameKey()
}

func TestStopCheckingWarnsOfRedeemingTwice(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	d.Press("x")
	d.See("Stop checking?", "may have been redeemed for alice")
	d.Press("enter", "n")
	if d.App.Top().Form() != nil {
		t.Fatal("the form is open")
	}
	d.Press("x")
	d.See("Stop checking?")
	d.Press("y")
	d.See("[not checked] Coffee for two")
	d.Press("ctrl+s") // unchanged input keeps its key
	d.See("It keeps its idempotency key")
	d.Press("n", "tab")
	d.Type("ticket=1")
	d.Press("ctrl+s")
	d.See("THIS CAN REDEEM TWICE")
	d.Press("n")
	d.Clear()
	d.Press("ctrl+s")
	d.See("It keeps its idempotency key")
	d.Press("y")
	d.See("[redeemed] Coffee for two", "The reply was lost; the service confirmed it.")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
}

func TestNothingIsCheckedAtAnotherService(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	l.set(func(l *faultyServer) { l.failReads = false })
	d.App.Shell().Account.Profile.Sandbox = true
	for _, offer := range d.App.Top().Offers() {
		if (offer.ID == actions.CheckAgain || offer.ID == actions.Retry) &&
			!strings.Contains(offer.Why, "These perks are from "+l.url+" (LIVE)") {
			t.Errorf("%s is offered: %q", offer.ID, offer.Why)
		}
	}
	d.Press("s", "t", "y", "R")
	d.Settle()
	l.wantCounts(1, 1)
	d.See("[unknown] Coffee for two")
}

// An earlier redemption, which was rejected, must not pass for the one whose request was lost.
func TestEarlierRedemptionDoesNotResolveTheOutcome(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "spa")
	redeem(d, "")
	d.See("[waiting for approval] Spa day")
	d.Settle()
	_, err := l.server.Live.DecideRedemption(t.Context(), l.stored()[0].ID, store.Decision{Status: api.StatusRejected},
		store.Operator, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	l.set(func(l *faultyServer) { l.loseRequests = 1 })
	d.Press("r")
	redeem(d, "alice")
	d.See("[unknown] Spa day")
	d.Settle()
	d.Press("s")
	d.Settle()
	d.See("[unknown] Spa day")
	l.wantCounts(2, 1)
	d.Press("t")
	d.See("[waiting for approval] Spa day")
	d.Settle()
	l.wantCounts(3, 2)
}

func TestConfirmationSendsNothingToAnotherService(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee")
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.App.Shell().Account.Profile.Sandbox = true
	d.Press("y")
	d.See("Nothing was sent. These perks are from " + l.url + " (LIVE)")
	d.Settle()
	l.wantCounts(0, 0)
}

func TestUnknownOutcomeOfTheScreenBelowIsShown(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee"), l.perk("tea")}, UserID: "alice"})
	d.Press("ctrl+s")
	d.See("Redeem for alice?", "THIS CAN REDEEM TWICE: another screen has already sent ", "for alice",
		"and the outcome is unknown.")
	d.Press("n")
	d.Settle()
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}, UserID: "bob"})
	d.Press("ctrl+s")
	d.See("Redeem for bob?")
	if d.Shows("TWICE") {
		t.Errorf("alice's unknown outcome is shown for bob:\n%s", d.Screen())
	}
	l.wantCounts(1, 1)
}

// No key is pressed: the screen checks by itself, even if the shell did not notice that the service is back.
func TestUnknownOutcomeIsCheckedAutomatically(t *testing.T) {
	l := startServer(t)
	broken := true
	l.refuse = func(w http.ResponseWriter) bool {
		if broken {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return broken
	}
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two", "it was not in alice's list")
	d.Settle()
	l.wantCounts(1, 0)
	l.set(func(*faultyServer) { broken = false })
	l.deliver() // the first request arrives late
	d.Elapse(3 * time.Second)
	d.Settle()
	d.See("[unknown] Coffee for two")
	d.Elapse(time.Second)
	d.See("[redeemed] Coffee for two", "The reply was lost; the service confirmed it.")
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
	d.Elapse(time.Hour)
	d.Settle()
	l.wantCounts(2, 1)
}

// The pauses grow while the service responds, and stay short while it is down.
func TestUnknownOutcomeIsCheckedSoonAfterTheServiceIsBack(t *testing.T) {
	l := startServer(t)
	d := l.openUnknown()
	for range 25 { // 100 seconds
		d.Elapse(4 * time.Second)
		d.Settle()
		d.See("[unknown] Coffee for two")
	}
	l.set(func(l *faultyServer) { l.failReads = false })
	d.Elapse(4 * time.Second)
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(2, 1)
}

func TestUselessCheckIsNotRepeated(t *testing.T) {
	l := startServer(t)
	l.loseRequests, l.dropKeys = 1, true
	l.onLost = func() { l.redeemElsewhere("coffee") }
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two", "this one or another.")
	d.Settle()
	d.Elapse(2 * time.Second) // the service is known to be back
	d.Settle()
	before := l.reads()
	d.Elapse(time.Hour)
	d.Settle()
	if after := l.reads(); after != before {
		t.Errorf("the list was read %d more times", after-before)
	}
	l.wantCounts(1, 1)
}

func TestSendingShowsASpinnerAndTheSeconds(t *testing.T) {
	l := startServer(t)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	l.set(func(l *faultyServer) { l.hold = hold })
	d := l.open("alice", "coffee")
	after, pictures := d.App.Shell().After, 0
	d.App.Shell().After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause == widget.Beat {
			pictures++ // of the spinner
		}
		return after(pause, msg)
	}
	redeem(d, "")
	<-l.arrived
	for n, text := range []string{"No reply yet.", "⠙ No reply yet: 0s ...", "⠸ No reply yet: 1s ...",
		"⠴ No reply yet: 1s ...", "⠦ No reply yet: 2s ..."} {
		d.See("[sending] Coffee for two", text)
		if pictures != n+1 {
			t.Errorf("%q after %d pictures", text, pictures)
		}
		if text := d.App.Top().AccessibleText(); strings.ContainsAny(text, "⠋⠙⠸⠴⠦⠇") {
			t.Errorf("the accessible text has a spinner: %q", text)
		}
		d.Elapse(widget.Beat)
	}
	release()
	d.See("[redeemed] Coffee for two")
	d.Settle()
	before := pictures
	d.Elapse(time.Second)
	if pictures != before {
		t.Error("the spinner turns after the reply")
	}
}

// Every reply to the redeem is lost, but the user's list can be read. Each check redeems again under the key.
func TestChecksBackOffWhileOnlyRepliesAreLost(t *testing.T) {
	l := startServer(t)
	l.loseReplies = 1000
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[unknown] Coffee for two")
	d.Settle()
	sent, checks := len(l.sent()), 0
	for range 40 {
		d.Elapse(time.Second)
		d.Settle()
		if now := len(l.sent()); now > sent {
			sent, checks = now, checks+1
		}
		if d.Shows("offline") || d.Shows("Back online") {
			t.Fatalf("the service is taken for offline:\n%s", d.Screen())
		}
	}
	if checks > 3 { // after 4, 8 and 16 s
		t.Errorf("%d checks in 40 s", checks)
	}
	if stored := l.stored(); len(stored) != 1 {
		t.Errorf("redeemed %d times", len(stored))
	}
	l.wantSameKey()
	l.set(func(l *faultyServer) { l.loseReplies = 0 })
	d.Elapse(time.Minute)
	d.See("[redeemed] Coffee for two", "The reply was lost; the service confirmed it.")
}
