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

// job is a row on its way.
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
		j, err := f.read()
		if err != nil || j == nil {
			f.end(err)
			return nil
		}
		if f.claim(j) {
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

// read returns the next row that needs work, nil at the end of the input.
func (f *feed) read() (*job, error) {
	for {
		row, err, more := f.next()
		if !more {
			return nil, nil
		}
		j, err := f.prep(row, err)
		if err != nil || j != nil {
			return j, err
		}
	}
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

// halt lets no further rows out.
func (f *feed) halt() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.halted = true, true
	f.changed.Broadcast()
}

func (f *feed) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended, f.err = true, err
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
