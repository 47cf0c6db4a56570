package redeem_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// unknown redeems coffee for alice, and loses the reply.
const unknown = `
		lost replies: 1
		reads: fail
		open: coffee
		"alice" ctrl+s y => [unknown] Coffee for two | No reply yet. Checking every 4 s, next in 4 s. Don't redeem elsewhere.
		got: coffee key-1
`

// lostReplies are sessions in which it is not known at first whether a perk was redeemed. The tables of api/operation
// say what follows; here is what people see and do.
var lostReplies = map[string]string{
	"a lost reply is confirmed with its key": `
		lost replies: 1
		open: coffee tea for alice
		"ticket=1" ctrl+s y => alice: 2 redeemed. | [redeemed] A pot of tea
		           => The reply was lost; the service confirmed it.
		got: coffee key-1 {"ticket":"1"} | coffee key-1 {"ticket":"1"} | tea key-2 {"ticket":"1"}`,

	"an unknown outcome locks the form until it is checked": `
		lost replies: 1
		reads: fail
		open: coffee tea for alice
		ctrl+s y   => s checks again, t retries (may redeem twice), x stops checking | [not sent] A pot of tea
		settle
		form:
		unsaved: It is unknown whether "Coffee for two" was redeemed for alice.
		ctrl+s enter r y
		wait: 1s
		q          => Quit? | whether "Coffee for two" was redeemed for alice
		n s settle => [unknown] Coffee for two
		got: coffee key-1
		reads: work
		s          => [redeemed] Coffee for two | alice: 1 redeemed, 1 not sent. ctrl+s continues.
		got: coffee key-1
		ctrl+s     => alice: 2 redeemed.
		got: tea key-2
		stored: coffee approved | tea approved`,

	"an unknown outcome is checked when back online": unknown + `
		reads: work
		wait: 1m   => [redeemed] Coffee for two | The reply was lost; the service confirmed it.
		got: coffee key-1`,

	// The pauses grow while the service responds, and stay short while it is down.
	"an unknown outcome is checked soon after the service is back": unknown +
		strings.Repeat("wait: 4s\nsettle => [unknown] Coffee for two\n", 25) + `
		reads: work
		wait: 4s   => [redeemed] Coffee for two
		got: coffee key-1`,

	// Leaving the screen does not stop the check, and quitting asks about it.
	"an unknown outcome is checked after leaving": unknown + `
		settle esc => Leave?
		y
		screens: 1
		ctrl+c     => Quit? | whether "Coffee for two" was redeemed for alice
		n
		reads: work
		wait: 4s   => Done: "Coffee for two" for alice: redeemed.
		got: coffee key-1`,

	// No key is pressed: the screen checks by itself, even if the shell did not notice that the service is back.
	"an unknown outcome is checked automatically": `
		refuses: 500 internal
		open: coffee for alice
		ctrl+s y   => [unknown] Coffee for two | it was not in alice's list
		got: coffee key-1
		refuses:
		delivers:
		wait: 3s
		settle     => [unknown] Coffee for two
		wait: 1s   => [redeemed] Coffee for two | The reply was lost; the service confirmed it.
		got: coffee key-1
		wait: 1h
		got:`,

	"a retry asks if the service may not honour keys": unknown + `
		t          => Retry? | This service has not shown that it honours idempotency keys.
		n enter
		got:
		t y y      => [redeemed] Coffee for two | The reply was lost; the service confirmed it.
		got: coffee key-1`,

	"a retry does not ask if the service honours keys": `
		lost requests: 1 of tea
		open: coffee tea spa for alice
		ctrl+s y   => alice: 1 redeemed, 1 unknown, 1 not sent. | [unknown] A pot of tea | [not sent] Spa day
		got: coffee key-1 | tea key-2
		t          => alice: 2 redeemed, 1 not sent. ctrl+s continues. | [redeemed] A pot of tea
		got: tea key-2
		ctrl+s     => alice: 2 redeemed, 1 waiting for approval. | [waiting for approval] Spa day
		got: spa key-3`,

	// The list has shown that the service honours keys.
	"a request that never arrived is unknown until it is retried": `
		lost requests: 1
		open: coffee for alice
		ctrl+s y   => [unknown] Coffee for two | it was not in alice's list, but may still come
		settle
		stored:
		s settle   => [unknown] Coffee for two
		expired:
		t          => Log in again; your text is kept.
		secret:    => [unknown] Coffee for two
		settle
		stored:
		t          => [redeemed] Coffee for two
		got: coffee key-1 | coffee key-1 | coffee key-1
		stored: coffee approved`,

	"who stops checking is warned of redeeming twice": unknown + `
		x          => Stop checking? | may have been redeemed for alice
		enter n
		form:
		x y        => [not checked] Coffee for two
		ctrl+s     => It keeps its idempotency key
		n tab "ticket=1" ctrl+s => THIS CAN REDEEM TWICE
		n ctrl+u ctrl+s => It keeps its idempotency key
		y          => [redeemed] Coffee for two | The reply was lost; the service confirmed it.
		got: coffee key-1`,

	"nothing is checked at another service": unknown + `
		reads: work
		sandbox:
		s          => These perks are from $url (LIVE)
		wait: 1s
		t          => These perks are from $url (LIVE)
		y R settle => [unknown] Coffee for two
		got:`,

	// An earlier redemption, which was rejected, must not pass for the one whose request was lost.
	"an earlier redemption does not resolve the outcome": `
		open: spa for alice
		ctrl+s y   => [waiting for approval] Spa day
		settle
		rejected: spa
		lost requests: 1
		r "alice" ctrl+s y => [unknown] Spa day
		settle s settle => [unknown] Spa day
		got: spa key-1 | spa key-2
		t          => [waiting for approval] Spa day
		got: spa key-2
		stored: spa pending | spa rejected`,

	"the unknown outcome of the screen below is shown": unknown + `
		open: coffee tea for alice
		ctrl+s     => Redeem for alice? | THIS CAN REDEEM TWICE: another screen has already sent | for alice
		           => and the outcome is unknown.
		n settle
		open: coffee for bob
		ctrl+s     => Redeem for bob? | ≠ TWICE
		got:`,

	// The list does not say who redeemed: a redemption of another client must not be shown as ours.

	"another client's redemption is not ours": `
		lost requests: 1
		elsewhere when lost: coffee
		open: coffee for alice
		ctrl+s y   => [already redeemed] Coffee for two | alice redeemed it on | Nothing was redeemed now.
		shows: coffee
		got: coffee key-1 | coffee key-1`,

	"another client's earlier redemption is not ours": `
		elsewhere: coffee
		lost requests: 1
		open: coffee for alice
		ctrl+s y   => [already redeemed] Coffee for two | alice redeemed it on | Nothing was redeemed now.
		shows: coffee
		got: coffee key-1 | coffee key-1`,

	"without keys, another client's redemption may be ours": `
		keys: dropped
		lost requests: 1
		elsewhere when lost: coffee
		open: coffee for alice
		ctrl+s y   => [unknown] Coffee for two | this one or another. | t retries (may redeem twice)
		shows: coffee
		got: coffee key-1`,

	"without keys, another client's earlier redemption is not ours": `
		keys: dropped
		elsewhere: coffee
		lost requests: 1
		open: coffee for alice
		ctrl+s y   => [unknown] Coffee for two | it was not in alice's list | t retries (may redeem twice)
		hides: coffee
		got: coffee key-1`,
}

func TestLostReplies(t *testing.T) { playEach(t, lostReplies) }

func TestUselessCheckIsNotRepeated(t *testing.T) {
	l := startServer(t)
	l.Play(lostReplies["without keys, another client's redemption may be ours"] + `
		wait: 2s
		settle`) // the service is known to be back
	before := l.reads()
	l.Elapse(time.Hour)
	l.Settle()
	if after := l.reads(); after != before {
		t.Errorf("the list was read %d more times", after-before)
	}
}

// TestTheNextCheckIsCountedDown has a service that stays away.
func TestTheNextCheckIsCountedDown(t *testing.T) {
	startServer(t).Play(unknown + `
		settle
		wait: 1s => next in 3 s.
		wait: 2s => next in 1 s.
		wait: 1s => Checking every 4 s, next in 4 s. | OFFLINE
		settle
		wait: 3s => next in 1 s.`)
}

// Every reply to the redeem is lost, but the user's list can be read. Each check redeems again under the key.
func TestChecksBackOffWhileOnlyRepliesAreLost(t *testing.T) {
	l := startServer(t)
	l.Play(`
		lost replies: 1000
		open: coffee for alice
		ctrl+s y => [unknown] Coffee for two
		settle`)
	before := len(l.sent())
	for range 40 {
		l.Play(`wait: 1s
			settle => ≠ OFFLINE | ≠ Back online`)
	}
	if checks := len(l.sent()) - before; checks > 3 { // after 4, 8 and 16 s
		t.Errorf("%d checks in 40 s", checks)
	}
	l.Play(`
		stored: coffee approved
		lost replies: 0
		wait: 1m => [redeemed] Coffee for two | The reply was lost; the service confirmed it.`)
	if keys := slices.Compact(l.sent()); len(keys) != 1 {
		t.Errorf("sent %q", keys)
	}
}
