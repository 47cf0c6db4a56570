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
	"example.com/perks/api/operation"
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

// done is the result of a row whose request the service accepted.
func done(o Outcome) *Result {
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
	// maxSends bounds the requests for a row whose replies are lost.
	maxSends = 3
)

// carryOut makes the change of a row exactly once, whatever earlier attempts did. It returns nil if it sent and learned
// nothing.
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
		return failure(outcome, fmt.Errorf("held back: line %d changes the same record and its outcome is unknown",
			row), heldBack)
	}
	change := &change{run: r, job: j}
	rules := operation.Rules{
		Now:       r.now,
		KeysCount: func(time.Time) bool { return r.keysHonoured() },
		Persistence: &operation.Persistence{
			Wait: change.wait, MayResend: r.mayResendAfter, MaxSends: maxSends, Ends: stopsRun,
		},
	}
	if !j.maybeSent {
		return r.resultOf(operation.Attempt[Outcome]{Key: j.key}.Send(r.requests, change, rules))
	}
	since := r.batch.began()
	if since.After(r.now()) {
		// The clock was set back. An older redemption may be taken for the row's, but no row is done twice.
		since = time.Time{}
	}
	return r.resultOf(operation.Resumed[Outcome](j.key, since).Resume(r.requests, change, rules))
}

// change sends a row, and asks what became of it.
type change struct {
	*run
	*job
	isSettled bool // the first wait of a row that an earlier run may have sent is over
}

// Send does the task once.
func (c *change) Send(ctx context.Context, key string) (Outcome, bool, error) {
	asked := c.now()
	outcome, replayed, err := c.job.task.Send(ctx, key)
	c.answered(err, asked)
	if err == nil {
		c.noteKeys()
	}
	return outcome, replayed, err
}

// LookUp asks the service whether the row has been done. A row about a record that does not exist is not done.
func (c *change) LookUp(ctx context.Context, since time.Time) (Outcome, operation.Event, error) {
	asked := c.now()
	outcome, event, err := c.job.task.LookUp(ctx, since, c.results.taken)
	if isFailing(err) {
		c.answered(err, asked)
	}
	if client.IsNotFound(err) {
		return Outcome{}, operation.Absent, nil
	}
	return outcome, event, err
}

// Observe reads what is there before a row is sent. The first row that does so usually shows whether the service
// honours keys, and then no other needs to.
func (c *change) Observe(ctx context.Context) {
	task, observes := c.job.task.(operation.Observer)
	if !observes {
		return
	}
	isFirst := false
	c.probe.Do(func() {
		isFirst = true
		task.Observe(ctx)
	})
	if !isFirst && !c.keysHonoured() {
		task.Observe(ctx)
	}
}

// wait waits until no request of the row can be in flight any more. Those of an earlier run have had some time.
func (c *change) wait() bool {
	left := settleDelay
	if c.maybeSent && !c.isSettled {
		c.isSettled = true
		left = min(left, c.lastSent().Add(settleDelay).Sub(c.now())) // it would be more if the clock was set back
	}
	return left <= 0 || c.waitWithoutSlot(left)
}

// mayResend tells whether a row whose outcome is unknown may be sent again although nothing was found: the service
// would not carry it out twice, or nobody minds.
func (r *run) mayResend() bool {
	return r.task.HonoursKeys == nil || r.task.Resends || r.keysHonoured()
}

func (r *run) mayResendAfter(err error) bool {
	var unreachable *client.Unreachable
	other, isOther := errors.AsType[*client.Error](err)
	isSlow, isProxy := errors.As(err, &unreachable) && unreachable.TimedOut(), isOther && other.NotFromService
	return r.mayResend() && !isSlow && !isProxy
}

var errSentBefore = api.Errorf(outcomeUnknown, "An earlier run may have sent this row.")

// resultOf is the result of a row, nil if nothing was sent and learned. It stops the run if an error would hit every
// row.
func (r *run) resultOf(a operation.Attempt[Outcome]) *Result {
	if stopsRun(a.Err) {
		r.stop(a.Err)
	}
	r.stopIfAboutRun(a.CheckErr)
	switch {
	case a.State == operation.Made:
		return done(a.Result)
	case a.State == operation.NotMade && !stopsRun(a.Err):
		return failedBy(a.Err)
	case a.State == operation.Matched && !r.keysHonoured():
		return failure(Unknown, fmt.Errorf("the reply was lost, and %s may belong to this row or to another request. "+
			"If nobody else redeems for these users, run again with --assume-mine", a.Candidate.ID), ambiguous)
	case a.State == operation.Settled && a.CheckErr == nil && !r.mayResend():
		result := failure(Unknown, cmp.Or(a.LostErr, error(errSentBefore)), outcomeUnknown)
		result.Message = strings.TrimSuffix(result.Message, ".") +
			". It was not sent again, because this service has " +
			"not shown that it would not be done twice. Check it, or run again with --resend-unknown."
		return result
	case a.LostErr != nil || a.CheckErr != nil:
		return unknownBy(cmp.Or(a.LostErr, a.CheckErr))
	case a.Err != nil && !stopsRun(a.Err):
		return unknownBy(a.Err)
	}
	return nil
}

// waitWithoutSlot lets other rows use the slot while it waits. It returns false if the run stops.
func (r *run) waitWithoutSlot(d time.Duration) bool {
	r.slots.Release(1)
	waited := r.wait(r.running, d)
	_ = r.slots.Acquire(context.WithoutCancel(r.running), 1) // rows free their slots soon
	return waited == nil
}

// stopsRun tells whether an error says that nothing was sent, and that no row can be.
func stopsRun(err error) bool { return err != nil && !client.OutcomeUnknown(err) && isAboutRun(err) }

// isAboutRun tells whether an error would hit every row: the service is down, asks for too long a wait or rejects this
// client, or this computer has failed.
func isAboutRun(err error) bool {
	var refused *client.Error
	switch {
	case errors.As(err, new(*command.NotLoggedIn)), errors.As(err, new(*client.Unreachable)):
		return true
	case errors.As(err, &refused):
		return refused.LoginNeeded() || refused.Status == http.StatusTooManyRequests ||
			refused.Status == http.StatusServiceUnavailable || refused.Unsupported ||
			refused.Code == api.CodeInsufficientScope
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

// keysHonoured tells whether it is safe to retry a row under its key: the service honours keys, and still remembers
// those of the batch. A clock that was set back by as long says nothing about their age.
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
