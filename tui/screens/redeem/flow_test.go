package redeem_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// flows are sessions of a client that may redeem. The idempotency keys are key-1 and so on.
var flows = map[string]string{
	"a redemption is confirmed, sent and shown": `
		open: coffee
		"alice\nticket=4711\nchannel=phone\n" enter => y redeem it
		dialog: Redeem "Coffee for two" for alice at $url (LIVE), profile test, with the metadata $metadata.
		enter enter space
		got:
		y          => [redeemed] Coffee for two | Redeemed. Status approved, | Id
		got: coffee key-1 $metadata
		stored: coffee approved
		y          => Copied the id
		copied: coffee
		r          => the id of the user
		ctrl+o     => Recent users | alice
		enter ctrl+s
		dialog: Redeem "Coffee for two" for alice at $url (LIVE), profile test.
		y          => [already redeemed] | alice redeemed it on | status approved. Nothing was redeemed now.
		shows: coffee
		got: coffee key-2
		stored: coffee approved
		u          => User alice`,

	"refusals are explained": `
		open: spa for alice
		ctrl+s y   => [waiting for approval] Spa day | Waiting for approval since
		form:
		open: gone for alice
		ctrl+s y   => [sold out] All gone | Sold out. Nothing was redeemed.
		form:
		open: old for alice
		ctrl+s y   => [expired] Old soup | valid until 3 Nov 2025 | Nothing was redeemed.
		form:
		open: new for alice
		ctrl+s y   => [not started] New soup | valid from | Nothing was redeemed.
		form:
		got: spa key-1 | gone key-2 | old key-3 | new key-4
		stored: spa pending`,

	"a throttled request is retried without a question": `
		refuses: 429 rate_limited
		open: tea for alice
		ctrl+s y   => [throttled] A pot of tea | Wait until | ctrl+s retries. It can't be redeemed twice.
		refuses:
		ctrl+s     => [redeemed] A pot of tea
		y          => Copy the id: not possible now. It was sent without a question.
		wait: 1s
		y          => Copied the id
		got: tea key-1 | tea key-1`,

	"a missing scope is named": `
		refuses: 403 insufficient_scope
		open: coffee tea for alice
		ctrl+s y   => [not allowed] Coffee for two | No. Nothing was redeemed. | [not sent] A pot of tea
		           => as a client with the scope perks:redeem.
		got: coffee key-1`,

	"a key that another request has used is replaced": `
		refuses: 422 idempotency_key_reused
		open: coffee for alice
		ctrl+s y   => Another request has used this idempotency key
		           => r opens the form, and uses a new idempotency key.
		refuses:
		r ctrl+s y => [redeemed] Coffee for two
		got: coffee key-1 | coffee key-2
		stored: coffee approved`,

	"an unknown user is shown beside the field": `
		open: coffee tea
		"alise\nticket=1" ctrl+s y => ! No such user.
		           => None of 2 redeemed: no user "alise". Correct the id, then ctrl+s.
		           => [no such user] Coffee for two | [not sent] A pot of tea
		got: coffee key-1 {"ticket":"1"} for alise
		focus: user_id
		form: metadata=ticket=1
		end backspace backspace "ce" ctrl+s y => alice: 2 redeemed.
		got: coffee key-3 {"ticket":"1"} | tea key-4 {"ticket":"1"}`,

	"a refusal does not stop the other perks": `
		open: coffee gone tea for alice
		ctrl+s
		dialog: Redeem 3 perks ("Coffee for two", "All gone" and "A pot of tea") for alice at $url (LIVE), profile test.
		y          => alice: 2 redeemed, 1 sold out. | [redeemed] Coffee for two | [sold out] All gone
		           => [redeemed] A pot of tea
		got: coffee key-1 | gone key-2 | tea key-3
		r ctrl+s
		dialog: Redeem "All gone" for alice at $url (LIVE), profile test.
		n end "ticket=1" ctrl+s
		dialog: Redeem "All gone" for alice at $url (LIVE), profile test, with the metadata {"ticket":"1"}.
		n
		got:`,

	"a second confirmation sends nothing": `
		redeems: held
		open: coffee for alice
		ctrl+s y y ctrl+s
		arrives:
		y ctrl+s enter t s y ctrl+s enter t s
		unsaved: "Coffee for two" is being redeemed for alice
		q          => Quit? | "Coffee for two" is being redeemed for alice
		n
		redeems: released => [redeemed] Coffee for two
		got: coffee key-1
		unsaved:`,

	"an expired session keeps the form and its key": `
		open: coffee
		"alice\nticket=4711"
		expired:
		ctrl+s y   => Log in again; your text is kept.
		secret:    => The service asks for a new login. Nothing was redeemed. | ticket=4711
		           => ctrl+s retries. It can't be redeemed twice.
		settle
		stored:
		ctrl+s     => [redeemed] Coffee for two
		got: coffee key-1 {"ticket":"4711"} | coffee key-1 {"ticket":"4711"}`,

	"the outcomes of several perks are counted": `
		open: coffee tea spa for bob
		ctrl+s y   => [redeemed] Coffee for two | [redeemed] A pot of tea | [waiting for approval] Spa day
		           => Done: bob: 2 redeemed, 1 waiting for approval.
		settle
		open: coffee gone for bob
		ctrl+s y   => bob: none of 2 redeemed: 1 already redeemed, 1 sold out.`,

	"actions use the chosen result": `
		open: coffee gone spa for alice
		ctrl+s y   => > [redeemed] Coffee for two | [sold out] All gone | [waiting for approval] Spa day
		settle y   => , of "Coffee for two".
		copied: coffee
		j          => > [sold out] All gone
		y          => Copy the id: not possible now. There is no redemption here.
		G          => > [waiting for approval] Spa day
		y          => , of "Spa day".
		copied: spa
		k j P
		title: Perk Spa day
		settle esc k j enter
		title: Perk Spa day
		esc
		click: [sold out] => > [sold out] All gone`,

	"results are decided": `
		open: coffee spa gone for alice
		ctrl+s y   => [redeemed] | [waiting for approval] | [sold out] | t retry | ctrl+x void
		a          => Approve: not possible now. It is approved. Void it: ctrl+x.
		ctrl+x     => Void Coffee for two for alice? | LIVE
		"wrong perk\n" => Done: 1 redemption voided. | [voided] | It cannot be used.
		           => Redeemed, then voided. Status voided (wrong perk)
		j a        => Approve Spa day for alice?
		y          => Done: 1 redemption approved. | [redeemed] Spa day | Status approved
		j x        => Reject: not possible now. There is no redemption here.
		stored: coffee voided | spa approved`,

	"the redemption in the way is voided": `
		elsewhere: coffee
		open: coffee for alice
		ctrl+s y   => [already redeemed] | status approved. | ctrl+x void
		ctrl+x "a mistake\n" => Done: 1 redemption voided. | status voided (a mistake).
		r          => Redeem Coffee for two
		ctrl+s y   => [redeemed] Coffee for two`,

	"what failed is retried under its keys": `
		open: coffee gone old tea for alice
		ctrl+s y   => alice: 2 redeemed, 1 sold out, 1 expired. | t retries what failed, r opens the form.
		got: coffee key-1 | gone key-2 | old key-3 | tea key-4
		restocked:
		t          => alice: 3 redeemed, 1 expired.
		got: gone key-2 | old key-3
		t
		got: old key-3
		stored: coffee approved | gone approved | tea approved
		open: coffee for alice
		ctrl+s y   => [already redeemed] Coffee for two | alice redeemed it on
		settle t   => Nothing failed.
		y          => Copied the id
		copied: coffee`,

	"a retry that can redeem twice asks": `
		refuses: 409 sold_out
		open: coffee for alice
		ctrl+s y   => [sold out] Coffee for two
		settle
		refuses:
		lost replies: 1
		reads: fail
		open: coffee for alice
		ctrl+s y   => [unknown] Coffee for two
		settle esc => Leave?
		y          => [sold out] Coffee for two
		t          => THIS CAN REDEEM TWICE
		n
		got: coffee key-1 | coffee key-2`,

	"the question is loud about its service": `
		open: coffee for alice
		ctrl+s     => Redeem for alice? · LIVE | (LIVE)
		n
		sandbox:
		open: coffee for alice => Redeem Coffee for two | ● sandbox
		ctrl+s     => SANDBOX: this is a test. | (SANDBOX)`,

	"nothing is sent to another service": `
		open: coffee for alice
		ctrl+s     => Redeem for
		sandbox:
		y          => Nothing was sent. These perks are from $url (LIVE)
		got:`,

	"leaving a form asks": `
		open: coffee
		"al" esc   => Discard this redemption? | y discard
		y
		screens: 1`,

	// Whether the user can redeem

	"perks that can be redeemed are counted": `
		open: coffee gone old for alice => can redeem 1 of 3: 1 sold out, 1 expired
		           => [sold out] All gone | [expired] Old soup
		open: coffee tea for alice => ✓ can redeem all 2
		shift+tab "x" => ≠ can redeem | no such user`,

	"the check of a user never delays sending": `
		answers: held
		open: coffee
		"alice" ctrl+s y => [redeemed] Coffee for two
		answers: released`,

	"a check that is out of date does not prevent sending": `
		open: gone
		"alice"    => sold out
		restocked:
		ctrl+s y   => [redeemed] All gone`,

	"a perk is redeemed with three keys": `
		perk: coffee => Coffee for two
		settle r "alice" ctrl+s => Redeem for alice?
		y          => [redeemed] Coffee for two
		got: coffee key-1`,

	"a user is completed from the service": `
		imported: alice2
		open: coffee
		"ali"      => ali▏(ce)
		right      => alice▏ | ✓ can redeem | ≠ (2)
		"2"        => alice2▏ | ✓ can redeem`,

	"a half-known user is chosen from those whose ids begin so": `
		imported: alice2
		elsewhere: last
		open: last
		"ali"      => alice already redeemed | alice2 sold out | ↓ choose | ≠ no such user
		down       => ▸ alice
		form: user_id=alice
		down       => ▸ alice2
		form: user_id=alice2
		down       => ≠ ▸
		form: user_id=ali
		up         => ▸ alice2
		tab        => > Metadata | ≠ ▸
		esc y
		open: coffee
		"ali"      => alice ✓ can redeem | alice2 ✓ can redeem
		down down ctrl+s => Redeem for alice2?
		y          => [redeemed] Coffee for two
		got: coffee key-1 for alice2`,

	"what needs approval is known before it is redeemed": `
		imported: alice2
		open: spa
		"ali"      => alice ✓ can redeem, needs approval | alice2 ✓ can redeem, needs approval
		down settle ctrl+s => Redeem for alice? | profile test. Needs approval: "Spa day".
		y          => [waiting for approval] Spa day
		got: spa key-1
		open: coffee tea spa for bob
		           => ✓ can redeem all 3 (1 needs approval) | [needs approval] Spa day | ≠ [needs approval] Coffee
		open: tea gone spa for bob
		           => can redeem 2 of 3 (1 needs approval): 1 sold out
		ctrl+s y   => [redeemed] A pot of tea | [sold out] All gone | [waiting for approval] Spa day`,

	"an unknown user is refused before the question": `
		open: coffee
		"ali"      => ali▏(ce)
		settle ctrl+s => No user "ali". Check the id, or import it. | ≠ Redeem for
		focus: user_id
		imported: ali
		ctrl+s     => ✓ can redeem
		ctrl+s y   => [redeemed] Coffee for two
		got: coffee key-1 for ali`,

	// The y that was meant for the question is not typed.
	"an unknown user withdraws the question": `
		answers: held
		open: coffee
		"ali" ctrl+s => Redeem for ali?
		answers: released => ≠ Redeem for ali? | No user "ali". Check the id, or import it.
		y settle
		got:
		form: user_id=ali
		end        => ✓ can redeem
		ctrl+s y   => [redeemed] Coffee for two`,

	"the check follows what others redeem": `
		open: last for bob => ✓ can redeem
		settle
		elsewhere: last
		wait: 3s   => sold out`,
}

func TestFlows(t *testing.T) { playEach(t, flows) }

func playEach(t *testing.T, flows map[string]string) {
	t.Helper()
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			l := startServer(t)
			l.Play(flow, "$url", l.url, "$metadata", `{"channel":"phone","ticket":"4711"}`)
		})
	}
}

func TestDialogIsConfirmedOnce(t *testing.T) {
	l := startServer(t)
	l.open("coffee for alice")
	l.Settle()
	first, second := l.Posts(actions.Submit).(screen.Confirm), l.Posts(actions.Submit).(screen.Confirm)
	if first.Then() != nil {
		t.Error("a replaced dialog can still be confirmed")
	}
	l.Send(second.Then()())
	if second.Then() != nil {
		t.Error("a dialog can be confirmed twice")
	}
	l.Play(`
		    => [redeemed]
		got: coffee key-1`)
}

// On a small screen a result has more lines than fit. Scrolling must show them all, and keep the chosen result visible.
func TestEveryResultIsReachedOnASmallScreen(t *testing.T) {
	d := startServer(t)
	d.Play(`
		open: coffee gone spa for alice
		ctrl+s y settle => [waiting for approval] Spa day
		wait: 20s
		size: 30x8`)
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
	d.Play(`pgdown => Redeemed. Status approved`)
	d.Press("j")
	if s := chosen(); s != want[1] {
		t.Errorf("chosen %q after scrolling", s)
	}
}

func TestResultsCanBeReopened(t *testing.T) {
	d := startServer(t)
	wantOffered := func(want bool) {
		t.Helper()
		if offered := slices.ContainsFunc(d.App.Offers(), func(o actions.Offer) bool {
			return o.ID == actions.Results && o.Enabled()
		}); offered != want {
			t.Errorf("results can be opened: %t\n%s", offered, d.Screen())
		}
	}
	d.Play(`
		open: coffee gone for alice
		ctrl+s y settle => > [redeemed] Coffee for two | [sold out] All gone`)
	wantOffered(false)
	d.Press("j", "esc")
	d.Open(screen.ToUser{ID: "bob"})
	d.Play(`settle 5 => alice: 1 redeemed, 1 sold out. | [redeemed] Coffee for two | > [sold out] All gone`)
	wantOffered(false)
	d.Play(`
		esc
		title: User bob
		got: coffee key-1 | gone key-2`)
	wantOffered(true)
}

// TestUnknownUserIsNamedBesideTheFieldAndTheResult is all: neither a toast nor the service's sentence repeats it.
func TestUnknownUserIsNamedBesideTheFieldAndTheResult(t *testing.T) {
	l := startServer(t)
	l.Play(`
		eligibility: unsupported
		open: coffee
		"nobody" ctrl+s y => [no such user] Coffee for two | ! No such user. | Nothing was redeemed. Correct the user.
		settle`)
	if text := strings.ToLower(l.Screen()); strings.Count(text, "such user")+strings.Count(text, "no user") != 2 {
		t.Errorf("the screen:\n%s", text)
	}
}

func TestSendingShowsASpinnerAndTheSeconds(t *testing.T) {
	d := startServer(t)
	d.Elapse(time.Second) // of the first load
	after, pictures := d.App.Shell().After, 0
	d.App.Shell().After = func(pause time.Duration, msg tea.Msg) tea.Cmd {
		if pause == widget.Beat {
			pictures++ // of the spinner
		}
		return after(pause, msg)
	}
	d.Play(`
		redeems: held
		open: coffee for alice
		ctrl+s y
		arrives:`)
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
	d.Play(`redeems: released => [redeemed] Coffee for two
		settle`)
	before := pictures
	d.Elapse(time.Second)
	if pictures != before {
		t.Error("the spinner turns after the reply")
	}
}
