// Package bulk makes one change for each row of a file, unattended: it resumes where an earlier run stopped, for whatever reason,
// does no row twice, and writes one result per row.
//
// It works with three files. The input is only read. The results file gets a line for each finished row, and is all that a later
// run needs after a clean end. The journal exists while a run is active and says which rows may have been sent; a killed run leaves
// it behind.
//
// The package knows nothing of perks and properties: a Work parses the rows and talks to the service.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// waitBudget is how long a run waits for a server that is down or asks it to wait. A restart of the server should cost no row, and
// a server that stays down should not keep the run going all night.
const waitBudget = 5 * time.Minute

// Run works through the file. It returns nil when every row is done, and otherwise an error that says how many rows are not, and
// how to resume.
func Run(ctx context.Context, s *session.Session, f Flags, w Work) (err error) {
	if err := f.checkOutput(s); err != nil {
		return err
	}
	in, err := openInput(f, s.Streams.In)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.close()) }()
	return runRows(ctx, s, f, w, in)
}

// runRows works through rows.
func runRows(ctx context.Context, s *session.Session, f Flags, w Work, in *input) error {
	s.WaitBudget = waitBudget
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	r := newRun(f, w, in, s.Streams)
	mark := f.mark(w.Name, connection)
	if f.DryRun {
		return r.dryRun(ctx, s, mark)
	}
	if err := s.MayChange(ctx); err != nil {
		return err
	}
	state, err := openRunState(f, s.Streams.Out, mark, time.Now())
	if err != nil {
		return err
	}
	r.runState = state
	if in.made == nil {
		err = f.checkUndone(s, state.results, state.journal)
	}
	if err == nil {
		err = r.begin(ctx)
	}
	if err == nil {
		if in.made != nil {
			f.File = stdin // its lines are not the rows
		}
		err = f.writeRecord(s)
	}
	if err != nil {
		return errors.Join(err, state.abandon())
	}
	err = r.work(ctx)
	return r.conclude(ctx, s, err)
}

// run is one pass through the rows of an input.
type run struct {
	*runState
	stats
	outage  outage
	probe   sync.Once // of whether the service honours keys
	input   *input
	task    Work
	options Flags
	now     func() time.Time
	wait    func(context.Context, time.Duration) error

	slots      *semaphore.Weighted // one for each row that may send requests
	workers    *semaphore.Weighted // one for each row in progress, including those that wait without a slot
	waiting    *semaphore.Weighted // one for each row in a queue
	idle       chan *job           // hands a row to a goroutine that has finished another
	limit      *rate.Limiter
	failedRows *failedRows // nil without --failed
	requests   context.Context
	running    context.Context // ends when no further row may start; requests in flight continue
	stop       context.CancelCauseFunc

	rowsRead    int64
	began       time.Time
	subjects    sync.Mutex
	queues      map[string][]*job // the rows that wait for one in progress, by subject
	unknownRows map[string]int    // rows whose outcome is unknown, by subject
}

const (
	maxWithoutSlot = 256  // rows that wait without a slot
	maxWaiting     = 1024 // rows in all queues
)

func newRun(f Flags, w Work, in *input, s *command.Streams) *run {
	r := &run{
		stats: stats{streams: s, codes: map[string]int64{}}, input: in, task: w, options: f, now: time.Now, wait: wait,
		queues: map[string][]*job{}, unknownRows: map[string]int{}, limit: rate.NewLimiter(rate.Inf, 1),
		slots: semaphore.NewWeighted(int64(f.Concurrency)), workers: semaphore.NewWeighted(int64(f.Concurrency) + maxWithoutSlot),
		waiting: semaphore.NewWeighted(maxWaiting), idle: make(chan *job),
	}
	if f.Rate > 0 {
		r.limit.SetLimit(rate.Limit(f.Rate))
	}
	return r
}

// begin checks that the input matches the results, and creates the journal.
func (r *run) begin(ctx context.Context) (err error) {
	r.began = r.now()
	var sum uint64
	if r.input.canRewind() {
		if r.total, sum, err = r.input.scan(ctx, r.results, r.journal); err != nil {
			return err
		}
	}
	if r.options.Failed != "" {
		if r.results.path != "" && isSameFile(r.options.Failed, r.results.path) { // such as through a symbolic link, or in another case
			return command.Usagef("--failed and --results are the same file, %s: one would overwrite the other.", r.options.Failed)
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

// work processes the rows. The error is about the run, not about single rows.
func (r *run) work(ctx context.Context) error {
	r.journal.isRepeatable = r.task.HonoursKeys == nil || r.task.Resends
	r.running, r.stop = context.WithCancelCause(ctx)
	r.requests = client.WithWaitContext(context.WithoutCancel(ctx), r.running)
	defer r.stop(nil)
	r.progress = command.NewProgress(r.streams, r.total, r.now)
	defer r.progress.End()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercentFor(r.total)))
	}

	var readErr error
	read := make(chan struct{})
	go func() {
		defer close(read)
		readErr = r.dispatch()
	}()
	select {
	case <-read:
	case <-r.running.Done(): // an input that stays silent must not keep the run
	}
	stopNote := r.noteWaiting(ctx)
	_ = r.workers.Acquire(context.WithoutCancel(ctx), int64(r.options.Concurrency)+maxWithoutSlot) // until no row is in progress
	stopNote()
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

// noticeable is how long an interrupted run waits without a word.
const noticeable = time.Second

// noteWaiting says what an interrupted run waits for, unless it stops waiting soon.
func (r *run) noteWaiting(ctx context.Context) (stop func()) {
	waiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var noting sync.WaitGroup
	noting.Go(func() {
		select {
		case <-ctx.Done():
		case <-waiting.Done():
			return
		}
		if r.wait(waiting, noticeable) == nil {
			r.progress.Note("Waiting for the replies to requests in progress. " +
				"Ctrl+C again stops at once; the next run checks their rows.")
		}
	})
	return func() {
		cancel()
		noting.Wait()
	}
}

// dispatch starts the rows in their order. A row waits for an earlier one about the same subject, so that the last row about a
// property wins, and two rows never claim the same outcome.
func (r *run) dispatch() error {
	defer close(r.idle)
	for row, err := range r.input.rows() {
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
		select {
		case r.idle <- j:
		default:
			go r.workOnEach(j)
		}
	}
	return nil
}

// workOnEach processes one row after another until the run ends. A goroutine for each row would grow its stack for every request, which took
// a tenth of the time.
func (r *run) workOnEach(j *job) {
	for j != nil {
		r.workOn(j)
		j = <-r.idle
	}
}

// queue adds the row to the queue of its subject if a row about that is in progress, and reports whether it did.
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

// workOn processes a row, and then those that wait for it.
func (r *run) workOn(j *job) {
	for ; j != nil; j = r.next(j) {
		if r.limit.Wait(r.running) == nil {
			r.finish(j, r.carryOut(j))
		} // else the run is stopping, and this row and its queue are left for the next run
	}
	r.slots.Release(1)
	r.workers.Release(1)
}

// next returns the next row about the same subject, nil if none waits.
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

// gcPercentFor sets the garbage collector's target. A run of few rows has a small heap and would collect constantly, so it may
// have as much garbage as a run of a million rows.
func gcPercentFor(rows int64) (percent int) {
	const usual, garbage, heap, perRow = 100, 16 << 20, 4 << 20, 12
	if rows == 0 { // unknown
		return usual
	}
	return max(usual, int(usual*garbage/(heap+perRow*rows)))
}

// prepare makes a job of a row that is not done yet, and records in the journal that it may be sent.
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

// read makes a job of a row, without asking the service; nil if the input is empty. An error is about the whole file: what is wrong
// with the row is in the job.
func (r *run) read(row rows.Row, err error) (*job, error) {
	var broken *rows.RowError
	switch {
	case errors.As(err, &broken):
		row = rows.Row{Line: broken.Line}
	case errors.Is(err, rows.ErrEmpty):
		r.input.isEmpty = true
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
	j.maybeSent = before == unknown || r.journal.leftover && row.Line <= r.journal.sent // the latter by a killed run
	j.task, j.invalid = r.task.Parse(row)
	if errors.As(j.invalid, new(*command.UsageError)) {
		return nil, j.invalid
	}
	if j.task != nil {
		j.subject = j.task.Subject()
	}
	return j, nil
}

// finish records the result of a row.
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
	// Name is the command, such as "perk redeem". A run refuses the results of another command.
	Name string
	// Parse makes a task of a row. If it fails, the row fails and nothing is sent. An *api.Error names the columns.
	Parse func(rows.Row) (Task, error)
	// HonoursKeys tells whether the service has shown that it repeats its first response to an idempotency key. Nil means that the
	// command does not use keys.
	HonoursKeys func() bool
	// Resends sends a row again whose outcome is unknown, even if the service may carry it out twice.
	Resends bool
}

// Task is the change that one row asks for. It may be an operation.Observer.
type Task interface {
	// Subject identifies the record that the task changes. Tasks with the same subject run one after the other, in the order of
	// the input.
	Subject() string
	// Send sends the change once, under the idempotency key. Only the client beneath it may retry.
	Send(ctx context.Context, key string) (outcome Outcome, replayed bool, err error)
	// LookUp is that of an operation.Change. Outcomes for which taken is true belong to other rows of the run.
	LookUp(ctx context.Context, since time.Time, taken func(id string) bool) (Outcome, operation.Event, error)
	// Check predicts, for dry runs, what the task would change, or the error to expect. It only reads.
	Check(ctx context.Context) (message string, changes []session.Change, err error)
	// After returns the error to expect if the row on that line, about the same subject, is done first; nil if that makes no
	// difference.
	After(line int) error
}

// Outcome identifies what a task has changed.
type Outcome struct {
	ID               string // of the redemption or the property
	Status           int    // of the HTTP response
	RedemptionStatus api.RedemptionStatus
	// Err says why the row is not done although the service accepted the request, as when it rejected the redemption.
	Err error
}
