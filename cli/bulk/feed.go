package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

type job struct {
	row     int // the line of the input
	content uint32
	key     string
	raw     rows.Row
	task    Task
	subject string         // of the task
	invalid error          // why there is no task
	broken  *rows.RowError // why there is not even a row
	done    bool           // by an earlier run; there is no task
	sent    bool           // an earlier run may have sent it
}

// feed hands out the rows in their order, one at a time. A row about something that another row is changing right now waits
// behind that one: in the end the last row about a property has the last word, and two rows can never claim one outcome.
type feed struct {
	reading sync.Mutex // held while the input is read, which may take as long as its writer likes
	next    func() (rows.Row, error, bool)
	stop    func()
	prep    func(rows.Row, error) (*job, error) // nil for a row that needs no work

	mu      sync.Mutex
	changed *sync.Cond
	busy    map[string][]*job // by subject, those that wait behind the one at work
	waiting int
	flying  int // jobs that were handed out and are not done
	ended   bool
	halted  bool
	err     error
}

// maxWaiting bounds the rows that wait behind others.
const maxWaiting = 1024

func newFeed(source iter.Seq2[rows.Row, error], prep func(rows.Row, error) (*job, error)) *feed {
	f := &feed{prep: prep, busy: map[string][]*job{}}
	f.changed = sync.NewCond(&f.mu)
	f.next, f.stop = iter.Pull2(source)
	return f
}

// take returns the next row that may be worked on, or nil when there is none any more. Its taker gives it back by done.
func (f *feed) take() *job {
	f.reading.Lock()
	defer f.reading.Unlock()
	for f.wanted() {
		row, err, more := f.next()
		if !more {
			f.end(nil, false)
			return nil
		}
		j, err := f.prep(row, err)
		if err != nil {
			f.end(err, false)
			return nil
		}
		if j != nil && f.claim(j) {
			return j
		}
	}
	return nil
}

// wanted waits until there is room for another row, and tells whether there are to be any.
func (f *feed) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.waiting >= maxWaiting && !f.ended {
		f.changed.Wait()
	}
	return !f.ended
}

// claim tells whether the row may be worked on now. Otherwise it waits behind the one that is.
func (f *feed) claim(j *job) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.halted {
		return false
	}
	if j.task != nil {
		j.subject = j.task.Subject()
		behind, isBusy := f.busy[j.subject]
		if isBusy {
			f.busy[j.subject] = append(behind, j)
			f.waiting++
			return false
		}
		f.busy[j.subject] = nil
	}
	f.flying++
	return true
}

// done says that a row is behind, and returns the one that waited for it, if there is one.
func (f *feed) done(j *job) *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	if j.task != nil {
		if behind := f.busy[j.subject]; len(behind) > 0 {
			f.busy[j.subject] = behind[1:]
			if f.waiting--; f.waiting == maxWaiting-1 {
				f.changed.Broadcast()
			}
			return behind[0]
		}
		delete(f.busy, j.subject)
	}
	if f.flying--; f.flying == 0 { // whoever drains waits for no other
		f.changed.Broadcast()
	}
	return nil
}

// end lets no further rows be read, and with halted none out that were.
func (f *feed) end(err error, halted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.halted = true, f.halted || halted
	f.err = cmp.Or(f.err, err)
	f.changed.Broadcast()
}

// drain waits until no row is out and none will be, and returns what ended the reading apart from the end of the input. It
// does not wait for an input that stays silent after a halt.
func (f *feed) drain() error {
	f.mu.Lock()
	for !f.ended || f.flying > 0 {
		f.changed.Wait()
	}
	defer f.mu.Unlock()
	if f.reading.TryLock() {
		f.stop()
		f.reading.Unlock()
	}
	return f.err
}

func ok(o Outcome) *Result { return &Result{Outcome: OK, Status: o.Status, ID: o.ID} }

func failedBy(err error) *Result { return failure(Failed, err, "") }

func unknownBy(err error) *Result { return failure(Unknown, err, "") }

const (
	// grace is how long a server may go on with a request whose connection has broken.
	grace = 5 * time.Second
	// maxSends is how often a row is sent whose outcome had to be found out.
	maxSends = 3
)

// carryOut does what a row asks for, once, whatever was tried before. It returns nil if nothing was sent and nothing is known
// that was not known before.
func (r *run) carryOut(j *job) *Result {
	if j.invalid != nil {
		return failure(Failed, j.invalid, invalidRow)
	}
	if row, doubtful := r.doubtAbout(j); doubtful {
		outcome := Failed
		if j.sent { // that is still to be found out
			outcome = Unknown
		}
		return failure(outcome, fmt.Errorf("not sent now, because nobody knows yet what became of line %d, which is about the same", row), heldBack)
	}
	if j.sent && !r.keysCount() {
		if result, settled := r.recall(j); settled {
			return result
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

// doubtAbout returns the earlier row about the same subject whose outcome is not known. What comes behind it waits for a run
// that finds out: sent now, it would be undone when that row is sent again.
func (r *run) doubtAbout(j *job) (row int, doubtful bool) {
	r.doubting.Lock()
	defer r.doubting.Unlock()
	row, doubtful = r.doubts[j.subject]
	return row, doubtful && row != j.row
}

// recall finds out what became of a row that an earlier run may have sent, once nothing can be on its way any more. It is not
// settled if the row was not done, or if sending it again under its key tells whether what was found is the row's.
func (r *run) recall(j *job) (result *Result, settled bool) {
	quiet := r.lastSign().Add(grace).Sub(r.now())
	if quiet > 0 && !r.away(min(quiet, grace)) { // more is a clock that was set back
		return nil, true
	}
	outcome, done, err := r.look(j)
	switch {
	case err != nil:
		r.giveUpIfAway(err)
		return unknownBy(err), true
	case done && !r.canConfirm():
		return r.claim(outcome), true
	}
	return nil, false
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

// look asks whether the row is done since the first row of the batch can have been done at the earliest. Where the clock was
// set back meanwhile, nobody knows when that was; doing nothing twice then matters more than telling an earlier redemption
// apart. Where what the row names does not exist, it is not done.
func (r *run) look(j *job) (Outcome, bool, error) {
	since := r.began
	if j.sent {
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
func (r *run) refused(j *job, err, lost error) *Result {
	if isAboutRun(err) {
		r.stop(err)
		if lost != nil {
			return unknownBy(lost)
		}
		return nil
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
func (r *run) claim(found Outcome) *Result {
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
	return r.task.HonoursKeys != nil && r.journal.keys.Load() && r.now().Sub(r.batch.began()).Abs() < client.KeyLife
}

func (r *run) learn() {
	if r.task.HonoursKeys != nil && !r.journal.keys.Load() && r.task.HonoursKeys() {
		if err := r.journal.learnKeys(); err != nil {
			r.stop(err)
		}
	}
}
