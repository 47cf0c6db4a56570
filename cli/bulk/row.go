package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// verdict is what became of a row.
type verdict struct {
	result Result
	none   bool // nothing was sent, and nothing is known that was not known before
}

func ok(o Outcome) verdict {
	return verdict{result: Result{Outcome: OK, Status: o.Status, ID: o.ID}}
}

func failedBy(err error) verdict { return verdict{result: failure(Failed, err)} }

func unknownBy(err error) verdict { return verdict{result: failure(Unknown, err)} }

const (
	// grace is how long a server may go on with a request whose connection has broken.
	grace = 5 * time.Second
	// maxSends is how often a row is sent whose outcome had to be found out.
	maxSends = 3
)

// carryOut does what a row asks for, once, whatever was tried before.
func (r *run) carryOut(j *job) verdict {
	if j.invalid != nil {
		v := failedBy(j.invalid)
		v.result.Code = invalidRow
		return v
	}
	if row, doubtful := r.doubtAbout(j); doubtful {
		return holdBack(j, row)
	}
	if j.sent && !r.keysCount() {
		v, settled := r.recall(j)
		if settled {
			return v
		}
	}
	var lost error // of the attempt before, whose outcome is not known
	for sends := 1; ; sends++ {
		outcome, err := j.task.Do(r.requests, j.key)
		if err == nil {
			r.learn()
			return ok(outcome)
		}
		if !client.OutcomeUnknown(err) {
			return r.refused(j, err, lost)
		}
		outcome, done, lookErr := r.settle(j)
		switch {
		case done && !r.canConfirm():
			return r.claim(outcome)
		case lookErr != nil:
			r.giveUpIfAway(lookErr)
			return unknownBy(err)
		case timedOut(err) && !done || sends == maxSends:
			return unknownBy(err)
		}
		lost = err
	}
}

// holdBack leaves a row alone that is about the same as an earlier one whose outcome is not known. If it may have been sent
// before, that is still to be found out.
func holdBack(j *job, behind int) verdict {
	outcome := Failed
	if j.sent {
		outcome = Unknown
	}
	v := verdict{result: failure(outcome, fmt.Errorf("not sent now, because nobody knows yet what became of line %d, which is about the same", behind))}
	v.result.Code = heldBack
	return v
}

// doubtAbout returns the earlier row about the same subject whose outcome is not known. What comes behind it waits for a run
// that finds out: sent now, it would be undone when that row is sent again.
func (r *run) doubtAbout(j *job) (row int, doubtful bool) {
	r.doubting.Lock()
	defer r.doubting.Unlock()
	row, doubtful = r.doubts[j.subject]
	return row, doubtful && row != j.row
}

// doubt notes that nobody knows what became of a row.
func (r *run) doubt(j *job) {
	r.doubting.Lock()
	defer r.doubting.Unlock()
	if r.doubts == nil {
		r.doubts = map[string]int{}
	}
	r.doubts[j.subject] = j.row
}

// recall finds out what became of a row that an earlier run may have sent. It is not settled if the row was not done, or if
// sending it again under its key tells whether what was found is the row's.
func (r *run) recall(j *job) (v verdict, settled bool) {
	if !r.awaitQuiet() {
		return verdict{none: true}, true
	}
	outcome, done, err := r.look(j)
	switch {
	case err != nil:
		r.giveUpIfAway(err)
		return unknownBy(err), true
	case done && !r.canConfirm():
		return r.claim(outcome), true
	}
	return verdict{}, false
}

// awaitQuiet waits until nothing can be on its way that an earlier run sent.
func (r *run) awaitQuiet() bool {
	quiet := r.lastSign().Add(grace).Sub(r.now())
	return quiet <= 0 || r.away(min(quiet, grace)) // more is a clock that was set back
}

// settle finds out what became of a row whose answer was lost: at once, and where nothing is to be seen once more after the
// time for which a server may still be at work on it.
func (r *run) settle(j *job) (Outcome, bool, error) {
	outcome, done, err := r.look(j)
	if done || err != nil {
		return outcome, done, err
	}
	if !r.away(grace) {
		return Outcome{}, false, context.Cause(r.wanted)
	}
	return r.look(j)
}

// look asks whether the row is done. Where what it names does not exist, it is not.
func (r *run) look(j *job) (Outcome, bool, error) {
	outcome, done, err := j.task.Done(r.requests, r.since(j), r.results.taken)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.Stray {
		return Outcome{}, false, nil
	}
	return outcome, done, err
}

// since is when the first row of the batch can have been done at the earliest. Where the clock was set back meanwhile, nobody
// knows; doing nothing twice then matters more than telling an earlier redemption apart.
func (r *run) since(j *job) time.Time {
	if !j.sent {
		return r.began
	}
	if began := r.batch.began(); !began.After(r.now()) {
		return began
	}
	return time.Time{}
}

// away waits without keeping the seat, so that other rows go on. It returns false if the run ends meanwhile.
func (r *run) away(d time.Duration) bool {
	r.seats.Release(1)
	r.hire()
	waited := r.wait(r.wanted, d)
	_ = r.seats.Acquire(context.WithoutCancel(r.wanted), 1) // seats are only held by rows that come to an end
	return waited == nil
}

// refused is a row that the service refused, or that could not be sent. After an attempt whose outcome was not known, a
// refusal may only mean that the attempt came through after all, and a failure to send says nothing of it.
func (r *run) refused(j *job, err, lost error) verdict {
	if isAboutRun(err) {
		r.stop(err)
		if lost != nil {
			return unknownBy(lost)
		}
		return verdict{none: true}
	}
	if lost == nil && !j.sent || client.KeyUnused(err) && r.keysCount() {
		return failedBy(err)
	}
	outcome, done, lookErr := r.look(j)
	switch {
	case lookErr != nil:
		r.giveUpIfAway(lookErr)
		return unknownBy(cmp.Or(lost, lookErr))
	case done:
		return r.claim(outcome)
	}
	return failedBy(err)
}

// canConfirm tells whether sending a row again under its key tells whose work is what was found for it.
func (r *run) canConfirm() bool { return r.task.Shared && r.keysCount() }

// claim takes what was found for a row for its own, unless it may be somebody else's.
func (r *run) claim(found Outcome) verdict {
	if !r.task.Shared {
		return ok(found)
	}
	v := unknownBy(fmt.Errorf("the reply was lost, and %s may be this row's or somebody else's. If nobody else does this work, run again with --assume-mine", found.ID))
	v.result.Code = ambiguous
	return v
}

// isAboutRun tells whether an error would meet every row alike: the service is away, asks for a longer wait than there is
// patience for, or does not let this client in.
func isAboutRun(err error) bool {
	var (
		unreachable *client.Unreachable
		notLoggedIn *command.NotLoggedIn
		refused     *client.Error
	)
	switch {
	case errors.As(err, &notLoggedIn), errors.As(err, &unreachable):
		return true
	case errors.As(err, &refused):
		return refused.Status == http.StatusUnauthorized || refused.Status == http.StatusTooManyRequests ||
			refused.Status == http.StatusServiceUnavailable || refused.Code == api.CodeInsufficientScope
	}
	var local *api.Error
	return !errors.As(err, &local) // a failure of this computer
}

// giveUpIfAway ends the run if not even reading works any more.
func (r *run) giveUpIfAway(err error) {
	if isAboutRun(err) {
		r.stop(err)
	}
}

func timedOut(err error) bool {
	var unreachable *client.Unreachable
	return errors.As(err, &unreachable) && unreachable.TimedOut()
}

// keysCount tells whether a row can be sent again under its key without harm: the service honours keys, and still remembers
// those of the batch. A clock that was set back by that long says nothing of their age.
func (r *run) keysCount() bool {
	r.learn()
	return r.task.HonoursKeys != nil && r.journal.keysKnown() && r.now().Sub(r.batch.began()).Abs() < client.KeyLife
}

// learn notes once that the server honours keys.
func (r *run) learn() {
	if r.task.HonoursKeys != nil && !r.journal.keysKnown() && r.task.HonoursKeys() {
		if err := r.journal.learnKeys(); err != nil {
			r.stop(err)
		}
	}
}
