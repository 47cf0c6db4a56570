package redeem_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// redeem fills in the form, and confirms.
func redeem(d *tuitest.Driver, text string) {
	d.Type(text)
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.Press("y")
}

// awaitDialog waits for a dialog with the text, which may be wrapped on the screen.
func awaitDialog(d *tuitest.Driver, text string) {
	d.Until(text, func() bool { return d.App.Overlay() != nil && d.App.Overlay().AccessibleText() == text })
}

func (l *faultyServer) wantCounts(sent, stored int) {
	l.t.Helper()
	if got := l.sent(); len(got) != sent {
		l.t.Errorf("sent %d redeem requests, want %d: %q", len(got), sent, got)
	}
	if got := l.stored(); len(got) != stored {
		l.t.Errorf("stored %d redemptions, want %d: %+v", len(got), stored, got)
	}
}

func TestRedeemIsConfirmedSentAndShown(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Type("alice\nticket=4711\nchannel=phone\n")
	d.Press("enter")
	awaitDialog(d,
		`Redeem "Coffee for two" for alice at `+l.url+` (LIVE), profile test, with the metadata {"channel":"phone","ticket":"4711"}.`)
	d.See("y redeem it")
	d.Press("enter", "enter", " ")
	d.Settle()
	l.wantCounts(0, 0)
	d.Press("y")
	d.See("[redeemed] Coffee for two", "Redeemed. Status approved, ", "Id ")
	d.Settle()
	l.wantCounts(1, 1)
	record := l.stored()[0]
	if record.UserID != "alice" || record.PerkID != "coffee" ||
		string(record.Metadata) != `{"channel":"phone","ticket":"4711"}` {
		t.Errorf("stored %+v", record)
	}
	if l.sent()[0] != `key-1-1 {"user_id":"alice","metadata":{"channel":"phone","ticket":"4711"}}` {
		t.Errorf("sent %q", l.sent())
	}
	d.Press("y")
	d.See("Copied the id " + record.ID)
	if d.Desktop.Copied() != record.ID {
		t.Errorf("copied %q", d.Desktop.Copied())
	}

	d.Press("r")
	d.See("the id of the user")
	d.Press("ctrl+o")
	d.See("Recent users", "alice")
	d.Press("enter", "ctrl+s")
	awaitDialog(d, `Redeem "Coffee for two" for alice at `+l.url+` (LIVE), profile test.`)
	d.Press("y")
	d.See("[already redeemed]", "alice redeemed it on", "status approved. Nothing was redeemed now.", "Id "+record.ID)
	d.Settle()
	l.wantCounts(2, 1)
	if l.sent()[1] != `key-1-2 {"user_id":"alice"}` {
		t.Errorf("the second submission was sent as %q", l.sent()[1])
	}
	d.Press("u")
	d.Until("the user's screen", func() bool { return strings.Contains(d.App.Top().Title(), "alice") })
}

func TestRefusalsAreExplained(t *testing.T) {
	l := startServer(t)
	for _, test := range []struct {
		perk string
		says []string
	}{
		{"spa", []string{"[waiting for approval] Spa day", "Waiting for approval since "}},
		{"gone", []string{"[sold out] All gone", "Sold out. Nothing was redeemed."}},
		{"old", []string{"[expired] Old soup", "valid until 3 Nov 2025", "Nothing was redeemed."}},
		{"new", []string{"[not started] New soup", "valid from", "Nothing was redeemed."}},
	} {
		d := l.open("alice", test.perk)
		redeem(d, "")
		d.See(test.says...)
		d.Settle()
		if form := d.App.Top().Form(); form != nil {
			t.Errorf("%s: the form is open", test.perk)
		}
	}
	l.wantCounts(4, 1)

	d := l.open("bob", "tea")
	l.set(func(l *faultyServer) {
		l.refuse = func(w http.ResponseWriter) bool {
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusTooManyRequests)
			_, _ = w.Write([]byte(`{"response":"Too many requests.","code":"rate_limited"}`))
			return true
		}
	})
	redeem(d, "")
	d.See("[throttled] A pot of tea", "Wait until ", "ctrl+s retries. It can't be redeemed twice.")
	l.set(func(l *faultyServer) { l.refuse = nil })
	d.Press("ctrl+s")
	d.See("[redeemed] A pot of tea")
	d.Press("y") // the answer to a question that is not asked again
	d.See("Copy the id: not possible now. It was sent without a question.")
	d.Elapse(time.Second)
	d.Press("y")
	d.See("Copied the id ")
	if keys := keysOf(l.sent()[4:]); !slices.Equal(keys, []string{"key-5-1", "key-5-1"}) {
		t.Errorf("sent the keys %q", keys)
	}
}

func TestReusedKeyIsReplaced(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee")
	l.refuse = func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"response":"Used.","code":"idempotency_key_reused"}`))
		return true
	}
	redeem(d, "")
	d.See("Another request has used this idempotency key", "r opens the form, and uses a new idempotency key.")
	l.set(func(l *faultyServer) { l.refuse = nil })
	d.Press("r")
	redeem(d, "")
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(2, 1)
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-2"}) {
		t.Errorf("sent the keys %q", keys)
	}
}

func keysOf(sent []string) []string {
	keys := make([]string, len(sent))
	for i := range sent {
		keys[i], _, _ = strings.Cut(sent[i], " ")
	}
	return keys
}

func TestUnknownUserIsShownBesideTheField(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee", "tea")
	redeem(d, "alise\nticket=1")
	d.See("! No such user.", "None of 2 redeemed: no user \"alise\". Correct the id, then ctrl+s.",
		"[no such user] Coffee for two", "[not sent] A pot of tea")
	d.Settle()
	l.wantCounts(1, 0)
	form := d.App.Top().Form()
	if form == nil || form.Focus() != "user_id" || form.Value("metadata") != "ticket=1" {
		t.Fatalf("the form is %v", form)
	}
	d.Clear()
	redeem(d, "alice")
	d.See("alice: 2 redeemed.")
	d.Settle()
	l.wantCounts(3, 2)
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-3", "key-1-4"}) {
		t.Errorf("sent the keys %q", keys)
	}
}

func TestRefusalDoesNotStopTheOtherPerks(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "tea")
	d.Press("ctrl+s")
	awaitDialog(d,
		`Redeem 3 perks ("Coffee for two", "All gone" and "A pot of tea") for alice at `+l.url+` (LIVE), profile test.`)
	d.Press("y")
	d.See("alice: 2 redeemed, 1 sold out.", "[redeemed] Coffee for two", "[sold out] All gone",
		"[redeemed] A pot of tea")
	d.Settle()
	l.wantCounts(3, 2)
	d.Press("r", "ctrl+s")
	awaitDialog(d, `Redeem "All gone" for alice at `+l.url+` (LIVE), profile test.`) // without the redeemed perks
	d.Press("n", "end")
	d.Type("ticket=1")
	d.Press("ctrl+s")
	awaitDialog(d, `Redeem "All gone" for alice at `+l.url+` (LIVE), profile test, with the metadata {"ticket":"1"}.`)
	d.Press("n")
	d.Settle()
	l.wantCounts(3, 2)
}

func TestSecondConfirmationWhileBusySendsNothing(t *testing.T) {
	l := startServer(t)
	hold := make(chan struct{})
	release := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(release)
	l.set(func(l *faultyServer) { l.hold = hold })
	d := l.open("alice", "coffee")
	top := d.App.Top()
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.Press("y", "y", "ctrl+s")
	<-l.arrived
	for range 3 {
		d.Press("y", "ctrl+s", "enter", "t", "s")
	}
	if !strings.Contains(top.Unsaved(), `"Coffee for two" is being redeemed for alice`) {
		t.Errorf("Unsaved() = %q", top.Unsaved())
	}
	d.Press("q")
	d.See("Quit?", `"Coffee for two" is being redeemed for alice`)
	d.Press("n")
	release()
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(1, 1)
	if top.Unsaved() != "" {
		t.Errorf("Unsaved() = %q", top.Unsaved())
	}
}

func TestDialogIsConfirmedOnce(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee")
	d.Settle()
	first, second := d.Posts(actions.Submit).(screen.Confirm), d.Posts(actions.Submit).(screen.Confirm)
	if first.Then() != nil {
		t.Error("a replaced dialog can still be confirmed")
	}
	d.Send(second.Then()())
	if second.Then() != nil {
		t.Error("a dialog can be confirmed twice")
	}
	d.See("[redeemed]")
	l.wantCounts(1, 1)
}

func TestExpiredSessionKeepsTheFormAndItsKey(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Type("alice\nticket=4711")
	d.Accounts.Expire()
	d.Press("ctrl+s")
	d.See("Redeem for")
	d.Press("y")
	d.See("Log in again; your text is kept.")
	d.Type(l.secret + "\n")
	d.See("The service asks for a new login. Nothing was redeemed.",
		"ctrl+s retries. It can't be redeemed twice.", "ticket=4711")
	d.Settle()
	if d.App.Top().Form() == nil || len(l.stored()) != 0 {
		t.Fatalf("the form is closed, or the request was retried automatically:\n%s", d.Screen())
	}
	d.Press("ctrl+s")
	d.See("[redeemed] Coffee for two")
	d.Settle()
	l.wantCounts(2, 1)
	if keys := keysOf(l.sent()); keys[0] != keys[1] {
		t.Errorf("sent the keys %q", keys)
	}
}

func TestMissingScopeIsNamed(t *testing.T) {
	l := startServer(t)
	l.id, l.secret = l.server.Client(api.ScopePerksRead)
	d := l.open("alice", "coffee", "tea")
	redeem(d, "")
	d.See("[not allowed] Coffee for two", "lacks the scope perks:redeem", "Nothing was redeemed.",
		"[not sent] A pot of tea")
	d.Settle()
	l.wantCounts(1, 0)
}

func TestSummaryCountsPendingRedemptions(t *testing.T) {
	l := startServer(t)
	d := l.open("bob", "coffee", "tea", "spa")
	redeem(d, "")
	d.See("[redeemed] Coffee for two", "[redeemed] A pot of tea", "[waiting for approval] Spa day")
	d.Settle()
	summary := "bob: 2 redeemed, 1 waiting for approval."
	if text := d.App.Top().AccessibleText(); !strings.HasPrefix(text, summary+"\n") {
		t.Errorf("accessible text:\n%s", text)
	}
	d.See("Done: " + summary) // the toast is about all perks, not only the last
	l.wantCounts(3, 3)

	d = l.open("bob", "coffee", "gone")
	redeem(d, "")
	d.See("bob: none of 2 redeemed: 1 already redeemed, 1 sold out.")
}

func TestActionsUseTheChosenResult(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "spa")
	redeem(d, "")
	d.See("> [redeemed] Coffee for two", "[sold out] All gone", "[waiting for approval] Spa day")
	d.Settle()
	ids := map[string]string{}
	for _, r := range l.stored() {
		ids[r.PerkID] = r.ID
	}
	d.Press("y")
	d.See("Copied the id " + ids["coffee"] + `, of "Coffee for two".`)
	d.Press("j")
	d.See("> [sold out] All gone")
	for _, offer := range d.App.Top().Offers() {
		if offer.ID == actions.CopyID && offer.Enabled() {
			t.Error("the id of a refused redemption can be copied")
		}
	}
	d.Press("y", "G")
	d.See("> [waiting for approval] Spa day")
	d.Press("y")
	d.See("Copied the id " + ids["spa"] + `, of "Spa day".`)
	if d.Desktop.Copied() != ids["spa"] {
		t.Errorf("copied %q", d.Desktop.Copied())
	}
	for _, key := range []string{"P", "enter"} {
		d.Press("k", "j", key)
		d.Until("the chosen perk", func() bool { return d.App.Top().Title() == "Perk Spa day" })
		d.Settle()
		d.Press("esc")
	}
}

// On a small screen a result has more lines than fit. Scrolling must show them all, and keep the chosen result visible.
func TestEveryResultIsReachedOnASmallScreen(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "spa")
	redeem(d, "")
	d.See("[waiting for approval] Spa day")
	d.Settle()
	d.Elapse(20 * time.Second)
	d.Resize(30, 8)
	chosen := func() string {
		for _, text := range strings.Split(d.Screen(), "\n") {
			if title, is := strings.CutPrefix(strings.TrimSpace(text), "> "); is {
				return strings.Join(strings.Fields(title), " ")
			}
		}
		return ""
	}
	var down, up []string
	record := func(into *[]string) {
		if title := chosen(); title != "" && (len(*into) == 0 || (*into)[len(*into)-1] != title) {
			*into = append(*into, title)
		}
	}
	for range 40 {
		record(&down)
		d.Press("j")
	}
	if !d.Shows("For alice, at") && !d.Shows("r opens the form.") {
		t.Errorf("the end is not reached:\n%s", d.Screen())
	}
	for range 40 {
		d.Press("k")
		record(&up)
	}
	slices.Reverse(up)
	want := []string{"[redeemed] Coffee for…", "[sold out] All gone", "[waiting for a… Spa day"}
	if !slices.Equal(down, want) || !slices.Equal(up, want) {
		t.Errorf("chosen going down %q, going up %q", down, up)
	}
	d.Press("pgdown")
	d.See("Redeemed. Status approved")
	d.Press("j")
	if s := chosen(); s != want[1] {
		t.Errorf("chosen %q after scrolling", s)
	}
}

func TestResultsCanBeReopened(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	offered := func() bool {
		return slices.ContainsFunc(d.App.Offers(), func(o actions.Offer) bool {
			return o.ID == actions.Results &&
				o.Enabled()
		})
	}
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee"), l.perk("gone")}, UserID: "alice"})
	redeem(d, "")
	d.See("> [redeemed] Coffee for two", "[sold out] All gone")
	d.Settle()
	if offered() {
		t.Error("results on the screen can be opened again")
	}
	d.Press("j", "esc")
	d.Until("the screen below", func() bool { return d.App.Top().Title() == "Redeem Coffee for two" })
	d.Open(screen.ToUser{ID: "bob"})
	d.Settle()
	d.Press("5")
	d.See("alice: 1 redeemed, 1 sold out.", "[redeemed] Coffee for two", "> [sold out] All gone")
	if offered() {
		t.Error("reopened results can be opened twice")
	}
	l.wantCounts(1+1, 1)
	d.Press("esc")
	d.Until("the user's screen", func() bool { return strings.Contains(d.App.Top().Title(), "bob") })
	if !offered() {
		t.Error("results cannot be opened a third time")
	}
}

// Leaving the screen does not stop the check of an unknown outcome, and quitting asks about it.
func TestUnknownOutcomeIsCheckedAfterLeaving(t *testing.T) {
	l := startServer(t)
	l.set(func(l *faultyServer) { l.loseReplies, l.failReads = 1, true })
	d := l.open("bob", "tea")
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}, UserID: "alice"})
	redeem(d, "")
	d.See("[unknown] Coffee for two")
	d.Settle()
	d.Press("esc")
	d.See("Leave?")
	d.Press("y")
	d.Until("the screen below", func() bool { return d.App.Top().Title() == "Redeem A pot of tea" })
	d.Press("ctrl+c")
	d.See("Quit?", `whether "Coffee for two" was redeemed for alice`)
	d.Press("n")
	l.set(func(l *faultyServer) { l.failReads = false })
	d.Elapse(4 * time.Second)
	d.See(`Done: "Coffee for two" for alice: redeemed.`)
	d.Settle()
	l.wantCounts(2, 1)
	l.wantSameKey()
}

func TestRetryOfWhatFailedUsesTheSameKeys(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "old", "tea")
	redeem(d, "")
	d.See("alice: 2 redeemed, 1 sold out, 1 expired.", "t retries what failed, r opens the form.")
	d.Settle()
	l.server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "gone", Title: "All gone"}, Stock: &one})
	d.Press("t")
	d.See("alice: 3 redeemed, 1 expired.")
	d.Settle()
	l.wantCounts(6, 3)
	if keys := keysOf(l.sent()); !slices.Equal(keys, []string{"key-1-1", "key-1-2", "key-1-3", "key-1-4", "key-1-2",
		"key-1-3"}) {
		t.Errorf("sent the keys %q", keys)
	}
	for _, offer := range d.App.Top().Offers() {
		if offer.ID == actions.Retry && !offer.Enabled() {
			t.Errorf("what expired cannot be retried: %s", offer.Why)
		}
	}
	d = l.open("alice", "coffee")
	redeem(d, "")
	d.See("[already redeemed] Coffee for two", "alice redeemed it on")
	d.Settle()
	d.Press("t")
	d.See("Nothing failed.")
	d.Press("y")
	d.See("Copied the id " + l.stored()[0].ID)
	l.wantCounts(7, 3)
}

// The same may have been redeemed by another screen under another key since.
func TestRetryOfWhatFailedAsksIfItCanRedeemTwice(t *testing.T) {
	l := startServer(t)
	l.refuse = func(w http.ResponseWriter) bool {
		w.WriteHeader(http.StatusConflict)
		_, _ = w.Write([]byte(`{"response":"No.","code":"sold_out"}`))
		return true
	}
	d := l.open("alice", "coffee")
	redeem(d, "")
	d.See("[sold out] Coffee for two")
	d.Settle()
	l.set(func(l *faultyServer) { l.refuse, l.loseReplies, l.failReads = nil, 1, true })
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}, UserID: "alice"})
	redeem(d, "")
	d.See("[unknown] Coffee for two")
	d.Settle()
	d.Press("esc")
	d.See("Leave?")
	d.Press("y")
	d.See("[sold out] Coffee for two")
	d.Press("t")
	d.See("THIS CAN REDEEM TWICE")
	d.Press("n")
	d.Settle()
	l.wantCounts(2, 1)
}

func TestQuestionIsLoudAboutItsService(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee")
	d.Press("ctrl+s")
	d.See("Redeem for alice? · LIVE", "(LIVE)")
	d.Press("n")
	d.App.Shell().Account.Profile.Sandbox = true
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}, UserID: "alice"})
	d.See("Redeem Coffee for two", "● sandbox")
	d.Press("ctrl+s")
	d.See("SANDBOX: this is a test.", "(SANDBOX)")
}

func TestLeavingATypedFormAsks(t *testing.T) {
	l := startServer(t)
	d := l.open("", "coffee")
	d.Open(screen.ToRedeem{Perks: []api.Perk{l.perk("coffee")}})
	d.Type("al")
	d.Press("esc")
	d.See("Discard this redemption?", "y discard")
	d.Press("y")
	d.Until("the screen below", func() bool { return d.Depth() == 1 })
}

func TestClickChoosesAResult(t *testing.T) {
	l := startServer(t)
	d := l.open("alice", "coffee", "gone", "spa")
	redeem(d, "")
	d.See("> [redeemed] Coffee for two")
	d.Settle()
	d.Screen()
	d.App.Top().Update(screen.Mouse{X: 9, Y: 4})
	d.See("> [sold out] All gone")
}

// TestUnknownUserIsNamedBesideTheFieldAndTheResult is all: neither a toast nor the service's sentence repeats it.
func TestUnknownUserIsNamedBesideTheFieldAndTheResult(t *testing.T) {
	l := startServer(t)
	l.set(func(l *faultyServer) { l.unsupported = true })
	d := l.open("", "coffee")
	redeem(d, "nobody")
	d.See("[no such user] Coffee for two", "! No such user.", "Nothing was redeemed. Correct the user.")
	d.Settle()
	if text := strings.ToLower(d.Screen()); strings.Count(text, "such user")+strings.Count(text, "no user") != 2 {
		t.Errorf("the screen:\n%s", text)
	}
}
