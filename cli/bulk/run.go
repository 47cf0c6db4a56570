// Package bulk carries out one change for each row of a file, at night and with nobody watching: it resumes where an earlier
// run ended, however that ended, does no row twice, and writes one result per row.
//
// Three files lie beside each other. The input is only read. The results have a line for each row as it ends, and are all
// that a later run needs after one that ended in good order. The journal exists while a run is at work: it says which rows
// may have been sent, and one that is left over says so of a run that was killed.
//
// The package knows nothing of perks and properties: a Work gives the rows their meaning and talks to the service.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"example.com/perks/api/client"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// patience is how long a run waits for a server that is away or asks to wait. A server that restarts at night should cost
// no row, and one that is gone should not keep the run until the morning.
const patience = 5 * time.Minute

// Run works through the file. It returns nil when every row is done, and otherwise an error that says how many rows are not,
// and how to go on.
func Run(ctx context.Context, s *session.Session, f Flags, w Work) (err error) {
	s.Patience = patience
	in, err := openInput(f, s.Streams.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	r := newRun(f, w, in, s.Streams)
	mark := markOf(w.Name, fmt.Sprint(connection.APIURL, connection.Sandbox))
	if f.DryRun {
		return r.dryRun(ctx, s, mark)
	}
	b, err := openRunState(f, s.Streams.Out, mark, time.Now())
	if err != nil {
		return err
	}
	r.runState = b
	if err := r.begin(ctx); err != nil {
		return errors.Join(err, b.abandon())
	}
	err = r.work(ctx)
	return r.conclude(ctx, s, err)
}

// run is one run over the rows of an input.
type run struct {
	*runState
	stats
	input   *input
	task    Work
	options Flags
	now     func() time.Time
	wait    func(context.Context, time.Duration) error

	slots      *semaphore.Weighted // one for each row whose requests may be under way
	workers    *semaphore.Weighted // one for each row that is under way, or waits without a slot until what became of it can be known
	waiting    *semaphore.Weighted // one for each row in a queue
	limit      *rate.Limiter
	failedRows *failedRows // nil without --failed
	requests   context.Context
	running    context.Context // ends when no further rows are wanted; requests that are under way go on
	stop       context.CancelCauseFunc

	rowsRead    int64 // rows that were read
	began       time.Time
	subjects    sync.Mutex
	queues      map[string][]*job // the rows behind the one at work about the same subject
	unknownRows map[string]int    // rows whose outcome is unknown, by subject
}

const (
	maxWithoutSlot = 256  // bounds the rows that wait without a slot
	maxWaiting     = 1024 // bounds the rows that wait behind others
)

func newRun(f Flags, w Work, in *input, s *command.Streams) *run {
	r := &run{
		stats: stats{streams: s, codes: map[string]int64{}}, input: in, task: w, options: f, now: time.Now, wait: wait,
		queues: map[string][]*job{}, unknownRows: map[string]int{}, limit: rate.NewLimiter(rate.Inf, 1),
		slots: semaphore.NewWeighted(int64(f.Concurrency)), workers: semaphore.NewWeighted(int64(f.Concurrency) + maxWithoutSlot), waiting: semaphore.NewWeighted(maxWaiting),
	}
	if f.Rate > 0 {
		r.limit.SetLimit(rate.Limit(f.Rate))
	}
	return r
}

// begin makes sure that the input fits the results, and notes that the run is at work.
func (r *run) begin(ctx context.Context) (err error) {
	r.began = r.now()
	var sum uint64
	if r.input.canRewind() {
		if r.total, sum, err = r.input.scan(ctx, r.results, r.journal); err != nil {
			return err
		}
	}
	if r.options.Failed != "" {
		if r.results.path != "" && isSameFile(r.options.Failed, r.results.path) { // by a link to a folder, or by letters of another case
			return command.Usagef("--failed and --results are the same file, %s: one would be written over the other.", r.options.Failed)
		}
		if err := r.options.checkFailed(r.input.format); err != nil {
			return err
		}
		if r.failedRows, err = openFailedRows(r.options.Failed, r.input.format); err != nil {
			return err
		}
	}
	return r.journal.begin(r.batch, r.total, sum)
}

// work carries out the rows. The error is about the run, not about rows.
func (r *run) work(ctx context.Context) error {
	r.running, r.stop = context.WithCancelCause(ctx)
	r.requests = client.WithWaits(context.WithoutCancel(ctx), r.running)
	defer r.stop(nil)
	r.progress = command.NewProgress(r.streams, r.total, r.now)
	defer r.progress.End()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(garbageFor(r.total)))
	}

	var readErr error
	read := make(chan struct{})
	go func() {
		defer close(read)
		readErr = r.dispatch()
	}()
	select {
	case <-read:
	case <-r.running.Done(): // without waiting for an input that stays silent
	}
	_ = r.workers.Acquire(context.WithoutCancel(ctx), int64(r.options.Concurrency)+maxWithoutSlot) // rows come to an end
	err := context.Cause(r.running)
	select {
	case <-read:
		err = cmp.Or(readErr, err)
	default:
	}
	if err == nil {
		err = r.input.checkRows(r.rowsRead)
	}
	r.partial = err != nil
	return err
}

// dispatch hands out the rows in their order. A row about something that another row is changing right now waits behind that
// one: in the end the last row about a property has the last word, and two rows can never claim one outcome.
func (r *run) dispatch() error {
	for row, err := range rows.NewReader(r.input.from, r.input.format).Rows() {
		if r.running.Err() != nil {
			return nil
		}
		j, err := r.prepare(row, err)
		if err != nil {
			return err
		}
		if j == nil {
			continue
		}
		if r.waiting.Acquire(r.running, 1) != nil {
			return nil
		}
		if r.queue(j) {
			continue
		}
		r.waiting.Release(1)
		if r.workers.Acquire(r.running, 1) != nil {
			return nil
		}
		if r.slots.Acquire(r.running, 1) != nil {
			r.workers.Release(1)
			return nil
		}
		go r.workOn(j)
	}
	return nil
}

// queue tells whether the row has to wait, and puts it behind the others about the same subject if so.
func (r *run) queue(j *job) bool {
	if j.task == nil {
		return false
	}
	r.subjects.Lock()
	defer r.subjects.Unlock()
	queue, busy := r.queues[j.subject]
	if busy {
		queue = append(queue, j)
	}
	r.queues[j.subject] = queue
	return busy
}

// workOn carries out a row, and those that wait behind it.
func (r *run) workOn(j *job) {
	for ; j != nil; j = r.next(j) {
		if r.limit.Wait(r.running) == nil {
			r.finish(j, r.carryOut(j))
		} // else no rows are wanted any more: the row is left as it is, with all that wait behind it
	}
	r.slots.Release(1)
	r.workers.Release(1)
}

// next returns the row that waited for this one, nil if there is none.
func (r *run) next(j *job) *job {
	if j.task == nil {
		return nil
	}
	r.subjects.Lock()
	defer r.subjects.Unlock()
	queue := r.queues[j.subject]
	if len(queue) == 0 {
		delete(r.queues, j.subject)
		return nil
	}
	r.queues[j.subject] = queue[1:]
	r.waiting.Release(1)
	return queue[0]
}

// garbageFor is how much garbage may lie before it is collected, in per cent of what is live. A run over few rows has little
// that is live and would collect all the time, so it may have as much garbage as a run over a million rows has anyway.
func garbageFor(rows int64) (percent int) {
	const usual, enough, least, aRow = 100, 16 << 20, 4 << 20, 12
	if rows == 0 { // not known
		return usual
	}
	return max(usual, int(usual*enough/(least+aRow*rows)))
}

// prepare makes a job of a row that needs work, and notes that it may be sent from now on.
func (r *run) prepare(row rows.Row, err error) (*job, error) {
	j, err := r.read(row, err)
	if err != nil || j == nil {
		return nil, err
	}
	if j.done {
		r.count(nil)
		return nil, nil
	}
	j.key = r.batch.key(j.row, j.content)
	if j.invalid != nil {
		return j, nil
	}
	return j, r.journal.allow(j.row)
}

// read makes a job of a row, or of why there is none, as far as that is known without the service; nil if the input is empty.
// The error is about the whole file.
func (r *run) read(row rows.Row, err error) (*job, error) {
	var broken *rows.RowError
	switch {
	case errors.As(err, &broken):
		row = rows.Row{Line: broken.Line}
	case errors.Is(err, rows.ErrEmpty):
		return nil, nil
	case err != nil:
		return nil, r.input.explain(err, r.rowsRead)
	}
	r.rowsRead++
	if err := r.results.checkUnchanged(row, r.input.name); err != nil {
		return nil, err
	}
	j := &job{row: row.Line, content: contentOf(row), raw: row, broken: broken}
	if broken != nil {
		j.invalid = broken.Err
		return j, nil
	}
	before, _ := r.results.state(row.Line)
	if j.done = before >= firstDone; j.done {
		return j, nil
	}
	j.maybeSent = before == unknown || r.journal.leftover && row.Line <= r.journal.sent // by a run that was killed
	j.task, j.invalid = r.task.Parse(row)
	if errors.As(j.invalid, new(*command.UsageError)) {
		return nil, j.invalid
	}
	if j.task != nil {
		j.subject = j.task.Subject()
	}
	return j, nil
}

// finish writes down what became of a row.
func (r *run) finish(j *job, result *Result) {
	if result == nil {
		return
	}
	result.Row, result.Key = j.row, j.key
	if err := r.results.add(*result, j.content); err != nil {
		r.incomplete.Store(true)
		r.stop(err)
		return
	}
	if result.Outcome == Unknown {
		r.subjects.Lock()
		r.unknownRows[j.subject] = j.row
		r.subjects.Unlock()
	}
	if result.Outcome == Failed && result.Code != heldBack && r.failedRows != nil {
		if err := r.failedRows.add(j, result.Message); err != nil {
			r.stop(err)
		}
	}
	if failures := r.count(result); r.options.MaxErrors > 0 && failures >= int64(r.options.MaxErrors) {
		r.stop(errTooMany)
	}
}

var errTooMany = errors.New("too many rows failed")

func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Work is what a run does with every row.
type Work struct {
	// Name is the command, such as "perk redeem". Results of one work are never taken for another's.
	Name string
	// Parse gives a row its meaning. An error is about the row's shape: the row fails, and nothing is sent for it. Names and
	// messages of an *api.Error are those of the columns.
	Parse func(rows.Row) (Task, error)
	// HonoursKeys tells whether the service has shown that it answers a request under a key that it knows as it did the
	// first time. Nil means that keys are not part of the work.
	HonoursKeys func() bool
	// Shared tells that what Done finds may be somebody else's work: it counts as the row's only once the service has confirmed
	// it under the row's key. Without it, what is found is the row's.
	Shared bool
}

// Task is the work of one row.
type Task interface {
	// Subject names what the task changes. Tasks about the same subject run one after the other, in the order of the input.
	Subject() string
	// Do carries the task out under the idempotency key. It sends the change once; only the client beneath it may decide to
	// send it again.
	Do(ctx context.Context, key string) (Outcome, error)
	// Done finds out by reading alone whether the task has been carried out since that moment, by this computer's clock.
	// What belongs to another row of the same run, as taken tells by the outcome's id, does not count. See Work.Shared.
	Done(ctx context.Context, since time.Time, taken func(id string) bool) (outcome Outcome, done bool, err error)
	// Check finds out by reading alone what would become of the task: what it would change, told in a sentence too, or the
	// error that is to be expected. It is for dry runs.
	Check(ctx context.Context) (message string, changes []session.Change, err error)
	// After returns the error that is to be expected where the row on that line, about the same subject, is done first; nil
	// where that makes no difference.
	After(line int) error
}

// Outcome is what a task that was carried out came to.
type Outcome struct {
	ID     string // of the redemption or the property
	Status int    // of the HTTP response
}
