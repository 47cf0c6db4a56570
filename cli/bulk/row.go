package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// job is a row during a run.
type job struct {
	row       int // the line of the input
	content   uint32
	key       string
	raw       rows.Row
	task      Task
	subject   string         // of the task
	invalid   error          // why there is no task
	broken    *rows.RowError // why the row cannot be read
	done      bool           // by an earlier run, so there is no task
	maybeSent bool           // by an earlier run
}

// resultOf is the result of a row whose request the service accepted.
func resultOf(o Outcome) *Result {
	r := &Result{Outcome: OK}
	if o.Err != nil {
		if r = failedBy(o.Err); client.OutcomeUnknown(o.Err) {
			r = unknownBy(o.Err)
		}
	}
	r.Status, r.ID, r.RedemptionStatus = o.Status, o.ID, o.RedemptionStatus
	return r
}

func failedBy(err error) *Result { return failure(Failed, err, "") }

func unknownBy(err error) *Result { return failure(Unknown, err, "") }

const (
	// settleDelay is how long a server may keep processing a request after its connection has broken.
	settleDelay = 5 * time.Second
	// maxSends bounds the attempts at a row whose replies are lost.
	maxSends = 3
)

// carryOut makes the change of a row exactly once, whatever earlier attempts did. It returns nil if it sent and learned nothing.
func (r *run) carryOut(j *job) *Result {
	if j.invalid != nil {
		return failure(Failed, j.invalid, invalidRow)
	}
	r.subjects.Lock()
	row, isUnknown := r.unknownRows[j.subject]
	r.subjects.Unlock()
	if isUnknown && row != j.row { // whose retry would undo this row
		outcome := Failed
		if j.maybeSent {
			outcome = Unknown
		}
		return failure(outcome, fmt.Errorf("held back: line %d changes the same record and its outcome is unknown", row), heldBack)
	}
	if j.maybeSent && !r.keysHonoured() {
		if result, settled := r.resolveSent(j); settled {
			return result
		}
	}
	if !j.maybeSent {
		r.observe(j)
	}
	var lost error // why the reply to the attempt before is unknown
	var unreachable *client.Unreachable
	for sends := 1; ; sends++ {
		asked := r.now()
		outcome, err := j.task.Do(r.requests, j.key)
		r.answered(err, asked)
		if err == nil {
			r.noteKeys()
			return resultOf(outcome)
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
		case !done && !r.mayResend():
			return r.notResent(err)
		case errors.As(err, &unreachable) && unreachable.TimedOut() && !done || sends == maxSends:
			return unknownBy(err)
		}
		lost = err
	}
}

// resolveSent looks up the outcome of a row that an earlier run may have sent, once no request can be in flight any more. It is not
// settled if the row was not done, or if a retry under its key tells whether what was found is the row's.
func (r *run) resolveSent(j *job) (result *Result, settled bool) {
	left := r.lastSent().Add(settleDelay).Sub(r.now())
	if left > 0 && !r.waitWithoutSlot(min(left, settleDelay)) { // more means that the clock was set back
		return nil, true
	}
	outcome, done, err := r.lookUp(j)
	switch {
	case err != nil:
		r.stopIfAboutRun(err)
		return unknownBy(err), true
	case done && !r.keysConfirm():
		return r.accept(outcome), true
	case !done && !r.mayResend():
		return r.notResent(errSentBefore), true
	}
	return nil, false
}

var errSentBefore = api.Errorf(outcomeUnknown, "An earlier run may have sent this row.")

// observe reads what is there before a row is sent, unless the service has shown that it honours keys. The first row
// that does so usually shows it.
func (r *run) observe(j *job) {
	task, observes := j.task.(Observer)
	if !observes {
		return
	}
	isFirst := false
	r.probe.Do(func() {
		isFirst = true
		_ = task.Observe(r.requests) // what Done finds is then judged by its time
	})
	if !isFirst && !r.keysHonoured() {
		_ = task.Observe(r.requests)
	}
}

// mayResend tells whether a row whose outcome is unknown may be sent again although nothing was found: the service
// would not carry it out twice, or nobody minds.
func (r *run) mayResend() bool {
	return r.task.HonoursKeys == nil || r.task.Resends || r.keysHonoured()
}

// notResent is the result of a row that may still be carried out.
func (r *run) notResent(lost error) *Result {
	result := failure(Unknown, lost, outcomeUnknown)
	result.Message = strings.TrimSuffix(result.Message, ".") + ". It was not sent again, because this service has " +
		"not shown that it would not be done twice. Check it, or run again with --resend-unknown."
	return result
}

// resolveLost looks up the outcome of a row whose reply was lost: at once, and if nothing is found again after settleDelay.
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

// lookUp asks the service whether the row has been done since the run began, or since the batch began if an earlier run may
// have sent it. If the clock was set back, any time counts: an older redemption may then be mistaken for the row's, but no row
// is done twice. A row about a record that does not exist is not done.
func (r *run) lookUp(j *job) (Outcome, bool, error) {
	since := r.began
	if j.maybeSent {
		if since = r.batch.began(); since.After(r.now()) {
			since = time.Time{}
		}
	}
	asked := r.now()
	outcome, done, err := j.task.Done(r.requests, since, r.results.taken)
	if isFailing(err) {
		r.answered(err, asked)
	}
	if client.IsNotFound(err) {
		return Outcome{}, false, nil
	}
	return outcome, done, err
}

// waitWithoutSlot lets other rows use the slot while it waits. It returns false if the run stops.
func (r *run) waitWithoutSlot(d time.Duration) bool {
	r.slots.Release(1)
	waited := r.wait(r.running, d)
	_ = r.slots.Acquire(context.WithoutCancel(r.running), 1) // rows free their slots soon
	return waited == nil
}

// refused handles a row that the service refused, or that could not be sent. If the reply to an earlier attempt was lost, a refusal
// may mean that the attempt succeeded, and a failure to send says nothing about it.
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
	other, isOther := errors.AsType[*client.Error](err)
	switch {
	case lookUpErr != nil:
		r.stopIfAboutRun(lookUpErr)
		return unknownBy(cmp.Or(lost, lookUpErr))
	case done:
		return r.accept(outcome)
	case isOther && other.NotFromService: // a proxy knows nothing of the attempt before
		return unknownBy(cmp.Or(lost, err))
	}
	return failedBy(err)
}

// keysConfirm tells whether a retry under the row's key tells who made what was found.
func (r *run) keysConfirm() bool { return r.task.Shared && r.keysHonoured() }

// accept takes what was found as the outcome of the row, unless it may belong to another request.
func (r *run) accept(found Outcome) *Result {
	if !r.task.Shared {
		return resultOf(found)
	}
	return failure(Unknown, fmt.Errorf("the reply was lost, and %s may belong to this row or to another request. "+
		"If nobody else redeems for these users, run again with --assume-mine", found.ID), ambiguous)
}

// isAboutRun tells whether an error would hit every row: the service is down, asks for too long a wait or rejects this client,
// or this computer has failed.
func isAboutRun(err error) bool {
	var refused *client.Error
	switch {
	case errors.As(err, new(*command.NotLoggedIn)), errors.As(err, new(*client.Unreachable)):
		return true
	case errors.As(err, &refused):
		return refused.LoginNeeded() || refused.Status == http.StatusTooManyRequests ||
			refused.Status == http.StatusServiceUnavailable || refused.Unsupported || refused.Code == api.CodeInsufficientScope
	}
	return !errors.As(err, new(*api.Error))
}

// stopIfAboutRun stops the run if the error of a look-up would hit every row. A list that cannot be walked to its end
// says nothing about other rows.
func (r *run) stopIfAboutRun(err error) {
	ofRequest := errors.As(err, new(*command.NotLoggedIn)) || errors.As(err, new(*client.Unreachable)) ||
		errors.As(err, new(*client.Error))
	if ofRequest && isAboutRun(err) {
		r.stop(err)
	}
}

// keysHonoured tells whether it is safe to retry a row under its key: the service honours keys, and still remembers those of the
// batch. A clock that was set back by as long says nothing about their age.
func (r *run) keysHonoured() bool {
	r.noteKeys()
	return r.task.HonoursKeys != nil && r.journal.keys.Load() && r.now().Sub(r.batch.began()).Abs() < client.KeyLifetime
}

func (r *run) noteKeys() {
	if r.task.HonoursKeys != nil && !r.journal.keys.Load() && r.task.HonoursKeys() {
		if err := r.journal.noteKeys(); err != nil {
			r.stop(err)
		}
	}
}
