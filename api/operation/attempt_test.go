package operation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
)

// Every cell of the table keeps the promises that people rely on.
func TestEveryCellOfTheAttemptTable(t *testing.T) {
	type cell struct {
		state operation.State
		event operation.Event
	}
	proofs := []operation.Event{operation.Accepted, operation.Replayed, operation.Found}
	waits := []operation.State{operation.Unknown, operation.Matched}
	cells := 0
	for state := operation.NotMade; state <= operation.Made; state++ {
		for event := operation.Accepted; event <= operation.Reopened; event++ {
			cells++
			next, step := state.Next(event)
			at := cell{state, event}
			for rule, broken := range map[string]bool{
				"made stays made": state == operation.Made &&
					(next != operation.Made || step != operation.Stop),
				"made needs a proof": state != operation.Made && next == operation.Made &&
					!slices.Contains(proofs, event),
				"a proof counts": state != operation.NotMade &&
					slices.Contains(proofs, event) && next != operation.Made,
				"only a lost reply raises a doubt": !state.IsDoubtful() && next.IsDoubtful() &&
					event != operation.Lost,
				"a lost reply leaves no certainty": event == operation.Lost && state != operation.Made &&
					!next.IsDoubtful(),
				"a doubt ends by denial and absence": state.IsDoubtful() && next == operation.NotMade &&
					event != operation.Taken && at != cell{operation.Denied, operation.Absent},
				"nothing follows where nothing is known": (next == operation.NotMade || next == operation.Abandoned ||
					next == operation.Made) && step != operation.Stop,
				"only a person resumes what was given up": state == operation.Abandoned && next.IsDoubtful() &&
					next != operation.Abandoned &&
					event != operation.Reopened,
				"sent again only if absent and settled": step == operation.Resend &&
					at != cell{operation.Settled, operation.Absent},
				"settled only once nothing is under way": next == operation.Settled &&
					state != operation.Settled && event != operation.Passed,
				"confirms a match only": (step == operation.Confirm) !=
					(event == operation.Match && state.IsDoubtful() && state != operation.Abandoned),
				"waits only while a request may be under way": step == operation.Wait &&
					(event != operation.Absent || !slices.Contains(waits, state)),
			} {
				if broken {
					t.Errorf("%v, event %d: %s, but got %v and step %d", state, event, rule, next, step)
				}
			}
		}
	}
	if cells != 7*15 {
		t.Errorf("%d cells walked", cells)
	}
}

// service is a service with one user and one perk that can be redeemed once, or often if it does not mind. Requests may
// be lost before they arrive, after they were carried out, or arrive late.
type service struct {
	r         *rand.Rand
	keys      bool // honours idempotency keys
	once      bool // refuses a second redemption
	harmless  bool // a repeated request changes nothing, and is nobody else's
	late      int  // requests that are under way
	ours      int  // redemptions made by the attempt
	others    int  // redemptions made by others
	sends     int
	interrupt bool
}

func (s *service) arrive() (reply error, replayed bool) {
	switch {
	case s.harmless:
		s.ours = 1
		return nil, false
	case s.keys && s.ours > 0:
		return nil, true
	case s.once && s.ours+s.others > 0:
		return &client.Error{Status: 409, Code: api.CodeAlreadyRedeemed, KeyUnused: s.keys}, false
	}
	s.ours++
	return nil, false
}

var errLost = &client.Unreachable{Address: "service", Err: errors.New("cut"), OutcomeUnknown: true}

func (s *service) Send(context.Context, string) (string, bool, error) {
	s.sends++
	switch s.r.IntN(7) {
	case 0:
		return "", false, errLost
	case 1:
		s.late++
		return "", false, errLost
	case 2:
		_, _ = s.arrive()
		return "", false, errLost
	case 3:
		return "", false, &client.Error{Status: 502, NotFromService: true}
	case 4:
		return "", false, &client.Error{Status: 404, Code: api.CodeNotFound}
	}
	reply, replayed := s.arrive()
	return "ours", replayed, reply
}

func (s *service) LookUp(context.Context, time.Time) (string, operation.Event, error) {
	if s.r.IntN(4) == 0 && s.late > 0 {
		s.late--
		_, _ = s.arrive()
	}
	switch {
	case s.r.IntN(5) == 0:
		return "", operation.Unread, errors.New("unreadable")
	case s.ours > 0 && s.harmless:
		return "ours", operation.Found, nil
	case s.others > 0 && (s.ours == 0 || s.r.IntN(2) == 0):
		return "theirs", operation.Match, nil
	case s.ours > 0:
		return "ours", operation.Match, nil
	}
	return "", operation.Absent, nil
}

func (s *service) wait() bool {
	if s.interrupt && s.r.IntN(3) == 0 {
		return false
	}
	for ; s.late > 0; s.late-- {
		_, _ = s.arrive()
	}
	return true
}

// A million random steps claim nothing without proof, and never make a change twice that must be made once.
func TestRandomAttemptsKeepTheirPromises(t *testing.T) {
	for seed := range uint64(200_000) {
		r := rand.New(rand.NewPCG(seed, 1))
		flip := func() bool { return r.IntN(2) == 0 }
		s := &service{r: r, keys: flip(), once: flip(), harmless: r.IntN(4) == 0, interrupt: flip()}
		rules := operation.Rules{
			Now:       func() time.Time { return time.Unix(0, 0) },
			KeysCount: func(time.Time) bool { return s.keys },
		}
		if flip() {
			rules.Persistence = &operation.Persistence{
				Wait: s.wait, MaxSends: 3, Ends: func(error) bool { return r.IntN(8) == 0 },
				MayResend: func(error) bool { return s.keys || s.harmless },
			}
		}
		a := operation.Attempt[string]{Key: "key"}
		var story []string
		for range 1 + r.IntN(8) {
			before, sends := a.State, s.sends
			var what string
			switch n := r.IntN(8); {
			case n == 0 && !s.harmless:
				what = "another redeems"
				if !s.once || s.ours+s.others == 0 {
					s.others++
				}
			case n == 1:
				what, a = "give up", a.GiveUp()
			case n < 4:
				what, a = "check", a.Check(t.Context(), s, rules)
			case a.State == operation.NotMade || s.keys || s.harmless: // where it is safe, as people and runs decide
				what, a = "send", a.Send(t.Context(), s, rules)
			}
			story = append(story, fmt.Sprintf("%s: %v", what, a.State))
			switch {
			case a.State == operation.Made && s.ours == 0,
				a.State == operation.Made && a.Result != "ours",
				a.State == operation.NotMade && before != operation.NotMade &&
					(s.ours > 0 || s.late > 0 && !(s.once && s.others > 0)),
				(s.keys || s.harmless) && s.ours > 1,
				!s.keys && !s.harmless && s.sends > sends+1,
				what == "check" && s.sends > sends && !s.keys && !s.harmless,
				what == "give up" && s.sends > sends:
				t.Fatalf("seed %d: %+v after %q", seed, *s, story)
			}
		}
	}
}

// What a person is told of an attempt whose reply was lost, and what a run at night does with it.
func TestRulesDecideWhatFollowsALostReply(t *testing.T) {
	script := func(replies ...error) *scripted { return &scripted{replies: replies} }
	persistent := &operation.Persistence{
		Wait: func() bool { return true }, MaxSends: 3, MayResend: func(error) bool { return true },
		Ends: func(err error) bool { return errors.Is(err, errEnds) },
	}
	for name, test := range map[string]struct {
		change  *scripted
		resumed bool
		*operation.Persistence
		keys bool
		want operation.State
		did  string
	}{
		"a person sees it unknown": {script(errLost), false, nil, true, operation.Unknown, "send, look up"},
		"a run sends it again": {
			script(errLost, nil), false, persistent, true, operation.Made, "send, look up, look up, send",
		},
		"a run gives up after its last": {
			script(errLost, errLost, errLost), false, persistent, true, operation.Settled,
			"send, look up, look up, send, look up, look up, send, look up, look up",
		},
		"a run ends where all would fail": {
			script(errLost, errEnds), false, persistent, true, operation.Settled, "send, look up, look up, send",
		},
		"a resumed one is looked up first": {script(nil), true, persistent, false, operation.Made,
			"look up, send"},
		"a resumed one is sent where keys tell": {script(nil), true, persistent, true, operation.Made, "send"},
	} {
		a := operation.Attempt[string]{Key: "key"}
		rules := operation.Rules{
			Now:         time.Now,
			KeysCount:   func(time.Time) bool { return test.keys },
			Persistence: test.Persistence,
		}
		if test.resumed {
			a = operation.Resumed[string]("key", time.Now()).Resume(t.Context(), test.change, rules)
		} else {
			a = a.Send(t.Context(), test.change, rules)
		}
		if a.State != test.want || test.change.did != test.did {
			t.Errorf("%s: %v after %q", name, a.State, test.change.did)
		}
	}
}

var errEnds = errors.New("nobody is logged in")

// scripted has a reply to each send, and shows nothing.
type scripted struct {
	replies []error
	did     string
}

func (s *scripted) note(what string) {
	if s.did != "" {
		s.did += ", "
	}
	s.did += what
}

func (s *scripted) Send(context.Context, string) (string, bool, error) {
	s.note("send")
	reply := s.replies[0]
	s.replies = s.replies[1:]
	return "", false, reply
}

func (s *scripted) LookUp(context.Context, time.Time) (string, operation.Event, error) {
	s.note("look up")
	return "", operation.Absent, nil
}
