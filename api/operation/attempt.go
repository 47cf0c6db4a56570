// Package operation is what is done to a record, without a terminal and without HTTP of its own: one change with its
// lost replies, an edit from the first key to the saved version, many changes in order.
package operation

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// An Attempt makes one change under one idempotency key or ETag, however often it is sent. State says what is known of
// the change, Event what a request has told, and Step what follows.

// State is what is known of a change.
type State int

// The states of a change.
const (
	NotMade   State = iota // nothing was sent, or no request has changed anything
	Unknown                // a request may have been carried out, or may still be
	Settled                // a request may have been carried out, but none is under way any more
	Denied                 // the service says that no request has changed anything; a look-up has yet to agree
	Matched                // the service has what the change would make, but another request may have made it
	Abandoned              // unknown, and nobody checks any more
	Made                   // the service has confirmed the change
)

// IsDoubtful tells whether the change may have been made, or may still be.
func (s State) IsDoubtful() bool { return s != NotMade && s != Made }

func (s State) String() string {
	return [...]string{"not made", "unknown", "settled", "denied", "matched", "abandoned", "made"}[s]
}

// Event is what a request, a look-up or a wait has told.
type Event int

// The events of an attempt: replies to a send, results of a look-up, and the others.
const (
	Accepted Event = iota // the change was made
	Replayed              // the change was made by the first request under the idempotency key
	Refused               // the service refuses this request, and says nothing about earlier ones
	Unused                // the service refuses, and says that no request under the key has changed anything
	Taken                 // another request has made what this one would: this one never will
	Silent                // not sent, or answered by something that knows nothing about requests: a proxy, a throttle
	Lost                  // no reply: the request may have been carried out

	Found       // the record shows the change
	Match       // a record shows the change, and another request may have made it
	Absent      // no record shows the change
	Unread      // the look-up failed
	Unconfirmed // asking under the idempotency key whose match it is told nothing

	Passed   // no request can be under way any more
	GivenUp  // a person has stopped checking
	Reopened // the change is sent once more: an outcome that was given up, or denied, is open again
)

// Step is what an attempt does next.
type Step int

// The steps of an attempt.
const (
	Stop    Step = iota
	LookUp       // read whether the change was made
	Wait         // until no request can be under way any more
	Confirm      // ask whose the match is, by sending the change again under the idempotency key
	Resend       // send the change again: nothing shows it, and nothing is under way
)

type follows struct {
	State
	Step
}

// attemptTable says what follows from an event in a state. An event that is not listed changes nothing. A change counts
// as made only by Accepted, Replayed or Found, and as not made after a doubt only by Taken, or by an absence after a
// denial.
var attemptTable = sync.OnceValue(func() map[State]map[Event]follows {
	return map[State]map[Event]follows{
		NotMade: {
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Lost: {Unknown, LookUp},
		},
		Unknown: {
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Lost: {Unknown, LookUp},
			Refused: {Unknown, LookUp}, Unused: {Denied, LookUp}, Taken: {NotMade, Stop}, Silent: {Unknown, LookUp},
			Found: {Made, Stop}, Match: {Matched, Confirm}, Absent: {Unknown, Wait},
			Passed: {Settled, LookUp}, GivenUp: {Abandoned, Stop},
		},
		Settled: {
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Lost: {Unknown, LookUp},
			Refused: {Denied, LookUp}, Unused: {Denied, LookUp}, Taken: {NotMade, Stop}, Silent: {Settled, LookUp},
			Found: {Made, Stop}, Match: {Matched, Confirm}, Absent: {Settled, Resend},
			GivenUp: {Abandoned, Stop},
		},
		Denied: {
			Found: {Made, Stop}, Match: {Matched, Confirm}, Absent: {NotMade, Stop}, Unread: {Unknown, Stop},
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Lost: {Unknown, LookUp},
			Taken: {NotMade, Stop}, GivenUp: {Abandoned, Stop}, Reopened: {Unknown, Stop},
		},
		Matched: {
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Lost: {Matched, LookUp},
			Refused: {Matched, LookUp}, Unused: {Denied, LookUp}, Taken: {NotMade, Stop}, Silent: {Matched, LookUp},
			Found: {Made, Stop}, Match: {Matched, Confirm}, Absent: {Unknown, Wait},
			GivenUp: {Abandoned, Stop},
		},
		Abandoned: {
			Accepted: {Made, Stop}, Replayed: {Made, Stop}, Found: {Made, Stop}, Reopened: {Unknown, Stop},
		},
		Made: {},
	}
})

// Next says what follows from an event.
func (s State) Next(e Event) (State, Step) {
	if next, listed := attemptTable()[s][e]; listed {
		return next.State, next.Step
	}
	return s, Stop
}

// Change is how a change is sent, and how the service is asked about it. R is what it makes.
type Change[R any] interface {
	// Send asks for the change once, under the idempotency key. Only the client beneath it may retry. replayed says
	// that the service repeats its response to an earlier request under the key.
	Send(ctx context.Context, key string) (result R, replayed bool, err error)
	// LookUp reads whether the change was made since that time, by this computer's clock; zero is any time. It returns
	// Found, Match, Absent or, with an error, Taken or Unread.
	LookUp(ctx context.Context, since time.Time) (result R, event Event, err error)
}

// Observer is a Change that has to know what is there before it is sent to a service that may ignore idempotency keys,
// so that LookUp can tell what comes from it.
type Observer interface {
	Observe(ctx context.Context)
}

// Rules are what an attempt may do by itself.
type Rules struct {
	Now func() time.Time
	// KeysCount tells whether the service honours idempotency keys, and remembers those from that time on.
	KeysCount func(since time.Time) bool
	// Persistence is that of a run at night. Nil suits a person, who sees the outcome and decides.
	*Persistence
}

// Persistence sends a change again by itself.
type Persistence struct {
	// Wait waits until no request can be under way any more. It returns false if that was interrupted.
	Wait func() bool
	// MayResend tells whether a change that was not found may be sent again.
	MayResend func(lastErr error) bool
	MaxSends  int
	// Ends tells whether an error ends the attempt, because it would meet any request.
	Ends func(error) bool
}

// Attempt is a change under its idempotency key, and what is known of it. It is a value: its methods return an updated
// copy. Fill in Key, which may be empty if the change needs none, and keep the attempt from the first Send on.
type Attempt[R any] struct {
	Key   string
	State State

	Result   R     // when Made
	Replayed bool  // Made earlier, under the same key, but by no request of this Attempt
	Earlier  bool  // Made by a request whose reply was lost
	Err      error // what the last send has failed with; nil when Made, or if nothing was sent
	LostErr  error // what the last send without a reply has failed with; nil if there is none

	Candidate R     // what the last look-up has found
	CheckErr  error // why the last look-up failed; nil if it did not

	sends int
	since time.Time // when the first request with an unknown outcome began, by the client's clock
}

// Resumed returns an attempt that an earlier process may have sent since that time.
func Resumed[R any](key string, since time.Time) Attempt[R] {
	return Attempt[R]{Key: key, State: Unknown, since: since}
}

// Since returns when the first request with an unknown outcome began; the zero time if there is none.
func (a Attempt[R]) Since() time.Time {
	if !a.State.IsDoubtful() {
		return time.Time{}
	}
	return a.since
}

// Failure is the error to show: why the outcome could not be resolved, or else why the last send failed.
func (a Attempt[R]) Failure() error {
	if a.State.IsDoubtful() && a.CheckErr != nil {
		return a.CheckErr
	}
	return a.Err
}

// GiveUp stops checking.
func (a Attempt[R]) GiveUp() Attempt[R] {
	a.State, _ = a.State.Next(GivenUp)
	return a
}

// Reopen checks again what was given up.
func (a Attempt[R]) Reopen() Attempt[R] {
	a.State, _ = a.State.Next(Reopened)
	return a
}

// Send sends the change, or sends it again under the same key, and goes on as the rules allow until nothing more can be
// learned now. An outcome that was given up is checked again.
func (a Attempt[R]) Send(ctx context.Context, change Change[R], rules Rules) Attempt[R] {
	if a.State == Made {
		return a
	}
	if a = a.Reopen(); a.State == NotMade {
		a.since = rules.Now()
		if observer, ok := change.(Observer); ok && !rules.KeysCount(a.since) {
			observer.Observe(ctx)
		}
	}
	return a.follow(ctx, change, rules, Resend)
}

// Check looks up what became of the change, if that is unknown and was not given up.
func (a Attempt[R]) Check(ctx context.Context, change Change[R], rules Rules) Attempt[R] {
	if !a.State.IsDoubtful() || a.State == Abandoned {
		return a
	}
	return a.follow(ctx, change, rules, LookUp)
}

// Resume goes on with an attempt that an earlier process may have sent: it sends it again if the idempotency key tells
// what became of it, and otherwise looks it up once no request can be under way any more. The rules need a Persistence.
func (a Attempt[R]) Resume(ctx context.Context, change Change[R], rules Rules) Attempt[R] {
	if rules.KeysCount(a.since) {
		return a.follow(ctx, change, rules, Resend)
	}
	return a.follow(ctx, change, rules, Wait)
}

// follow takes the first step, and those that follow as far as the rules allow.
func (a Attempt[R]) follow(ctx context.Context, change Change[R], rules Rules, step Step) Attempt[R] {
	a.sends = 0
	for first := true; step != Stop && (first || a.may(step, rules)); first = false {
		event, err := a.take(ctx, step, change, rules)
		if a.State, step = a.State.Next(event); err != nil && rules.Persistence != nil && rules.Ends(err) {
			break
		}
	}
	switch a.State {
	case Made:
		a.Err, a.LostErr, a.CheckErr = nil, nil, nil
	case NotMade:
		a.LostErr, a.CheckErr = nil, nil
	}
	return a
}

func (a Attempt[R]) may(step Step, rules Rules) bool {
	persists := rules.Persistence != nil
	switch step {
	case Wait:
		return persists
	case Resend:
		return persists && a.sends < rules.MaxSends && rules.MayResend(a.Err)
	case Confirm:
		return rules.KeysCount(a.since) && (!persists || a.sends < rules.MaxSends)
	}
	return true
}

// take takes a step, notes what it has told, and returns the event, with the error of a request.
func (a *Attempt[R]) take(ctx context.Context, step Step, change Change[R], rules Rules) (event Event, err error) {
	switch step {
	case Wait:
		if rules.Wait() {
			return Passed, nil
		}
		return Unread, nil // interrupted
	case LookUp:
		found, event, err := change.LookUp(ctx, a.since)
		switch a.Candidate, a.CheckErr = found, err; event {
		case Found:
			a.Result, a.Earlier = found, true
		case Taken:
			a.Err = err
		}
		return event, err
	}
	a.sends++
	result, replayed, err := change.Send(ctx, a.Key)
	switch event = replyOf(replayed, err, rules.KeysCount(a.since)); {
	case err == nil:
		a.Result, a.Replayed, a.Earlier = result, replayed && a.State == NotMade, replayed && a.State != NotMade
		return event, nil
	case event == Taken, step == Confirm && event == Unused:
		event = Taken // the match is another's
	case step == Confirm && rules.Persistence == nil:
		a.CheckErr = err
		return Unconfirmed, err
	case event == Lost:
		a.LostErr = err
	}
	a.Err = err
	return event, err
}

func replyOf(replayed bool, err error, keysCount bool) Event {
	refused, isReply := errors.AsType[*client.Error](err)
	switch {
	case err == nil && replayed:
		return Replayed
	case err == nil:
		return Accepted
	case client.OutcomeUnknown(err):
		return Lost
	case client.KeyUnused(err) && keysCount && refused.Code == api.CodeAlreadyRedeemed:
		return Taken
	case client.KeyUnused(err) && keysCount:
		return Unused
	case isReply && !refused.NotFromService && !refused.LoginNeeded() && refused.Status != http.StatusTooManyRequests:
		return Refused
	}
	return Silent
}
