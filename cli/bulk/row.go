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
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

type job struct {
	row       int // the line of the input
	content   uint32
	key       string
	raw       rows.Row
	task      Task
	subject   string         // of the task
	invalid   error          // why there is no task
	broken    *rows.RowError // why there is not even a row
	done      bool           // by an earlier run; there is no task
	maybeSent bool           // an earlier run may have sent it
}

func ok(o Outcome) *Result { return &Result{Outcome: OK, Status: o.Status, ID: o.ID} }

func failedBy(err error) *Result { return failure(Failed, err, "") }

func unknownBy(err error) *Result { return failure(Unknown, err, "") }

const (
	// settleDelay is how long a server may go on with a request whose connection has broken.
	settleDelay = 5 * time.Second
	// maxSends is how often a row is sent whose outcome had to be found out.
	maxSends = 3
)

// carryOut does what a row asks for, once, whatever was tried before. It returns nil if nothing was sent and nothing is known
// that was not known before.
func (r *run) carryOut(j *job) *Result {
	if j.invalid != nil {
		return failure(Failed, j.invalid, invalidRow)
	}
	r.subjects.Lock()
	row, isUnknown := r.unknownRows[j.subject]
	r.subjects.Unlock()
	if isUnknown && row != j.row { // sent now, this row would be undone when that one is sent again
		outcome := Failed
		if j.maybeSent { // that is still to be found out
			outcome = Unknown
		}
		return failure(outcome, fmt.Errorf("not sent now, because nobody knows yet what became of line %d, which is about the same", row), heldBack)
	}
	if j.maybeSent && !r.keysHonoured() {
		if result, settled := r.resolveSent(j); settled {
			return result
		}
	}
	var lost error // of the attempt before, whose outcome is not known
	var unreachable *client.Unreachable
	for sends := 1; ; sends++ {
		outcome, err := j.task.Do(r.requests, j.key)
		if err == nil {
			r.noteKeys()
			return ok(outcome)
		}
		if !client.OutcomeUnknown(err) {
			return r.refused(j, err, lost)
		}
		outcome, done, lookUpErr := r.resolveLost(j)
		switch {
		case done && !r.keysConfirm():
			return r.accept(outcome)
		case lookUpErr != nil:
			r.stopIfAboutRun(lookUpErr)
			return unknownBy(err)
		case errors.As(err, &unreachable) && unreachable.TimedOut() && !done || sends == maxSends:
			return unknownBy(err)
		}
		lost = err
	}
}

// recall finds out what became of a row that an earlier run may have sent, once nothing can be on its way any more. It is not
// settled if the row was not done, or if sending it again under its key tells whether what was found is the row's.
func (r *run) resolveSent(j *job) (result *Result, settled bool) {
	quiet := r.lastSent().Add(settleDelay).Sub(r.now())
	if quiet > 0 && !r.waitWithoutSlot(min(quiet, settleDelay)) { // more is a clock that was set back
		return nil, true
	}
	outcome, done, err := r.lookUp(j)
	switch {
	case err != nil:
		r.stopIfAboutRun(err)
		return unknownBy(err), true
	case done && !r.keysConfirm():
		return r.accept(outcome), true
	}
	return nil, false
}

// settle finds out what became of a row whose answer was lost: at once, and where nothing is to be seen once more after the
// time for which a server may still be at work on it.
func (r *run) resolveLost(j *job) (Outcome, bool, error) {
	outcome, done, err := r.lookUp(j)
	if done || err != nil {
		return outcome, done, err
	}
	if !r.waitWithoutSlot(settleDelay) {
		return Outcome{}, false, context.Cause(r.running)
	}
	return r.lookUp(j)
}

// look asks whether the row is done since the first row of the batch can have been done at the earliest. Where the clock was
// set back meanwhile, nobody knows when that was; doing nothing twice then matters more than telling an earlier redemption
// apart. Where what the row names does not exist, it is not done.
func (r *run) lookUp(j *job) (Outcome, bool, error) {
	since := r.began
	if j.maybeSent {
		if since = r.batch.began(); since.After(r.now()) {
			since = time.Time{}
		}
	}
	outcome, done, err := j.task.Done(r.requests, since, r.results.taken)
	var refused *client.Error
	if errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.Stray {
		return Outcome{}, false, nil
	}
	return outcome, done, err
}

// away waits without keeping the slot, so that other rows go on. It returns false if the run ends meanwhile.
func (r *run) waitWithoutSlot(d time.Duration) bool {
	r.slots.Release(1)
	waited := r.wait(r.running, d)
	_ = r.slots.Acquire(context.WithoutCancel(r.running), 1) // slots are only held by rows that come to an end
	return waited == nil
}

// refused is a row that the service refused, or that could not be sent. After an attempt whose outcome was not known, a
// refusal may only mean that the attempt came through after all, and a failure to send says nothing of it.
func (r *run) refused(j *job, err, lost error) *Result {
	if isAboutRun(err) {
		r.stop(err)
		if lost != nil {
			return unknownBy(lost)
		}
		return nil
	}
	if lost == nil && !j.maybeSent || client.KeyUnused(err) && r.keysHonoured() {
		return failedBy(err)
	}
	outcome, done, lookUpErr := r.lookUp(j)
	switch {
	case lookUpErr != nil:
		r.stopIfAboutRun(lookUpErr)
		return unknownBy(cmp.Or(lost, lookUpErr))
	case done:
		return r.accept(outcome)
	}
	return failedBy(err)
}

// keysConfirm tells whether sending a row again under its key tells whose work is what was found for it.
func (r *run) keysConfirm() bool { return r.task.Shared && r.keysHonoured() }

// claim takes what was found for a row for its own, unless it may be somebody else's.
func (r *run) accept(found Outcome) *Result {
	if !r.task.Shared {
		return ok(found)
	}
	return failure(Unknown, fmt.Errorf("the reply was lost, and %s may be this row's or somebody else's. "+
		"If nobody else does this work, run again with --assume-mine", found.ID), ambiguous)
}

// isAboutRun tells whether an error would meet every row alike: the service is away, asks for a longer wait than there is
// patience for, or does not let this client in, or this computer has failed.
func isAboutRun(err error) bool {
	var refused *client.Error
	switch {
	case errors.As(err, new(*command.NotLoggedIn)), errors.As(err, new(*client.Unreachable)):
		return true
	case errors.As(err, &refused):
		return refused.Status == http.StatusUnauthorized || refused.Status == http.StatusTooManyRequests ||
			refused.Status == http.StatusServiceUnavailable || refused.Code == api.CodeInsufficientScope
	}
	return !errors.As(err, new(*api.Error))
}

// stopIfAboutRun ends the run if not even reading works any more.
func (r *run) stopIfAboutRun(err error) {
	if isAboutRun(err) {
		r.stop(err)
	}
}

// keysHonoured tells whether a row can be sent again under its key without harm: the service honours keys, and still remembers
// those of the batch. A clock that was set back by that long says nothing of their age.
func (r *run) keysHonoured() bool {
	r.noteKeys()
	return r.task.HonoursKeys != nil && r.journal.keys.Load() && r.now().Sub(r.batch.began()).Abs() < client.KeyLife
}

func (r *run) noteKeys() {
	if r.task.HonoursKeys != nil && !r.journal.keys.Load() && r.task.HonoursKeys() {
		if err := r.journal.noteKeys(); err != nil {
			r.stop(err)
		}
	}
}
