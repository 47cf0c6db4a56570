// Package bulk makes one change for each row of a file, unattended: it resumes where an earlier run stopped, for
// whatever reason, does no row twice, and writes one result per row.
//
// It works with three files. The input is only read. The results file gets a line for each finished row, and is all
// that a later run needs after a clean end. The journal exists while a run is active and says which rows may have been
// sent; a killed run leaves it behind.
//
// The package knows nothing of perks and properties: a Work parses the rows and talks to the service.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// waitBudget is how long a run waits for a server that is down or asks it to wait. A restart of the server should cost
// no row, and a server that stays down should not keep the run going all night.
const waitBudget = 5 * time.Minute

// Run works through the file. It returns nil when every row is done, and otherwise an error that says how many rows are
// not, and how to resume.
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
	r.batch.Connect = sync.OnceValues(func() (*client.Client, error) {
		c, _, err := s.Connect()
		return c, err
	})
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
	batch   operation.Batch
	input   *input
	task    Work
	options Flags

	failedRows *failedRows // nil without --failed
	rowsRead   int64
}

func newRun(f Flags, w Work, in *input, s *command.Streams) *run {
	r := &run{
		stats: stats{streams: s, codes: map[string]int64{}}, input: in, task: w, options: f,
		batch: operation.Batch{
			Concurrency: f.Concurrency, Predictions: w.Predictions, Rate: f.Rate, Resends: w.Resends,
			Patience: waitBudget, Now: time.Now, Wait: wait,
			StopsAll: func(err error) bool { return errors.As(err, new(*command.NotLoggedIn)) },
		},
	}
	if r.batch.Log = r; w.HonoursKeys != nil {
		r.batch.KeysCount = r.keysCount
	}
	return r
}

// begin checks that the input matches the results, and creates the journal.
func (r *run) begin(ctx context.Context) (err error) {
	var sum uint64
	if r.input.canRewind() {
		if r.total, sum, err = r.input.scan(ctx, r.results, r.journal); err != nil {
			return err
		}
	}
	if err := r.confirm(ctx); err != nil {
		return err
	}
	if r.options.Failed != "" {
		if r.results.path != "" && isSameFile(r.options.Failed, r.results.path) { // such as through a symbolic link
			return command.Usagef("--failed and --results are the same file, %s: one would overwrite the other.",
				r.options.Failed)
		}
		if err := r.options.checkFailed(r.input.format); err != nil {
			return err
		}
		if r.failedRows, err = openFailedRows(r.options.Failed, r.input.format); err != nil {
			return err
		}
	}
	return r.journal.begin(r.batchID, r.total, sum)
}

// Start is a run that is about to begin, or to resume.
type Start struct {
	Rows, Done int64
	// Left predicts by reading what would become of each row that is not done. It can be iterated once.
	Left iter.Seq2[operation.RowPrediction, error]
}

// confirm asks whether to begin, if somebody wants to be asked.
func (r *run) confirm(ctx context.Context) error {
	if r.task.Confirm == nil {
		return nil
	}
	start := Start{Rows: r.total, Left: func(yield func(operation.RowPrediction, error) bool) {
		for row, err := range r.batch.Predict(ctx, r.allRows()) {
			if isDone := err == nil && row.State == operation.RowDone; !isDone && !yield(row, err) {
				return
			}
		}
	}}
	for row := 1; row <= r.results.highest; row++ {
		if state, _ := r.results.state(row); state >= firstDone {
			start.Done++
		}
	}
	if err := r.task.Confirm(ctx, start); err != nil {
		return err
	}
	r.rowsRead = 0
	return r.input.rewind()
}

// work processes the rows. The error is about the run, not about single rows.
func (r *run) work(ctx context.Context) error {
	r.journal.isRepeatable = r.task.HonoursKeys == nil || r.task.Resends
	r.batch.Begin(ctx)
	r.progress = command.NewProgress(r.streams, r.total, r.batch.Now)
	defer r.progress.End()
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercentFor(r.total)))
	}
	var stopNote func()
	err := r.batch.Run(r.rows(), func() { stopNote = r.noteWaiting(ctx) })
	stopNote()
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
		if r.batch.Wait(waiting, noticeable) == nil {
			r.progress.Note("Waiting for the replies to requests in progress. " +
				"Ctrl+C again stops at once; the next run checks their rows.")
		}
	})
	return func() {
		cancel()
		noting.Wait()
	}
}

// gcPercentFor sets the garbage collector's target. A run of few rows has a small heap and would collect constantly, so
// it may have as much garbage as a run of a million rows.
func gcPercentFor(rows int64) (percent int) {
	const usual, garbage, heap, perRow = 100, 16 << 20, 4 << 20, 12
	if rows == 0 { // unknown
		return usual
	}
	return max(usual, int(usual*garbage/(heap+perRow*rows)))
}

// job is what a row of a batch is made of.
type job struct {
	raw     rows.Row
	content uint32
	broken  *rows.RowError // why the row cannot be read
}

// rows yields the rows that are not done yet, each once the journal says that it may be sent. An error is about the
// whole file.
func (r *run) rows() iter.Seq2[*operation.Row, error] {
	return func(yield func(*operation.Row, error) bool) {
		for row, err := range r.allRows() {
			switch {
			case r.batch.IsStopping():
				return
			case err == nil && row.State == operation.RowDone:
				r.count(nil)
				continue
			case err == nil && row.Task != nil:
				if err = r.journal.allow(r.input.place(row.Number)); err == nil {
					row.State = row.State.Next(operation.RowAllowed)
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// allRows also yields the rows that are done.
func (r *run) allRows() iter.Seq2[*operation.Row, error] {
	return func(yield func(*operation.Row, error) bool) {
		for raw, err := range r.input.rows() {
			row, err := r.read(raw, err)
			if isEmpty := err == nil && row == nil; isEmpty || !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// read makes a row of a batch, without asking the service; nil if the input is empty. An error is about the whole file:
// what is wrong with the row is in it.
func (r *run) read(raw rows.Row, err error) (*operation.Row, error) {
	var broken *rows.RowError
	switch {
	case errors.As(err, &broken):
		raw = rows.Row{Line: broken.Line}
	case errors.Is(err, rows.ErrEmpty):
		r.input.isEmpty = true
		return nil, nil
	case err != nil:
		return nil, r.input.explain(err, r.rowsRead)
	}
	r.rowsRead++
	if err := r.results.checkUnchanged(raw, r.input.name); err != nil {
		return nil, err
	}
	made := &job{raw: raw, content: contentOf(raw), broken: broken}
	row := &operation.Row{Number: raw.Line, Key: r.batchID.key(raw.Line, made.content), Of: made}
	if broken != nil {
		row.Invalid = broken.Err
		return row, nil
	}
	row.State = r.results.rowState(raw.Line)
	if row.State == operation.RowDone {
		return row, nil
	}
	mayBeSent := r.journal.leftover && r.input.place(raw.Line) <= r.journal.sent // by a killed run
	if !row.State.MayBeDone() && mayBeSent {
		row.State = operation.RowMaybeSent
	}
	task, err := r.task.Parse(raw)
	switch {
	case errors.As(err, new(*command.UsageError)):
		return nil, err
	case err != nil:
		row.Invalid = err
	default:
		row.Task = task
	}
	return row, nil
}

// Note writes the result of a row.
func (r *run) Note(row *operation.Row, of operation.RowResult) error {
	made, result := row.Of.(*job), newResult(of)
	result.Row, result.Key = row.Number, row.Key
	if err := r.results.add(*result, made.content); err != nil {
		r.incomplete.Store(true)
		return err
	}
	var err error
	if result.Outcome == Failed && of.Why != operation.HeldBack && r.failedRows != nil {
		err = r.failedRows.add(made, result.Message)
	}
	if failures := r.count(result); r.options.MaxErrors > 0 && failures >= int64(r.options.MaxErrors) {
		err = cmp.Or(err, errTooMany)
	}
	return err
}

// Taken tells whether the id is the outcome of some row.
func (r *run) Taken(id string) bool { return r.results.taken(id) }

// Began is when the first run of these rows began.
func (r *run) Began() time.Time { return r.batchID.began() }

// LastSent is the latest time at which an earlier run may have sent a request.
func (r *run) LastSent() time.Time { return r.lastSent() }

// keysCount tells whether it is safe to retry a row under its key: the service honours keys, and still remembers those
// of the batch. A clock that was set back by as long says nothing about their age.
func (r *run) keysCount() bool {
	if c, err := r.batch.Client(); err == nil && !r.journal.keys.Load() && r.task.HonoursKeys(c) {
		if err := r.journal.noteKeys(); err != nil {
			r.batch.Stop(err)
		}
	}
	return r.journal.keys.Load() && r.batch.Now().Sub(r.Began()).Abs() < client.KeyLifetime
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
	// Name is one of those below. A run refuses the results of another command.
	Name string
	// Parse makes a task of a row. If it fails, the row fails and nothing is sent. An *api.Error names the columns.
	Parse func(rows.Row) (operation.Task, error)
	// HonoursKeys tells whether the service has shown that it repeats its first response to an idempotency key. Nil
	// means that the command does not use keys.
	HonoursKeys func(*client.Client) bool
	// Confirm is called before the first row is sent, while no other run can have the results. Its error ends the run
	// with nothing sent. Nil does not ask. The input must be a file.
	Confirm func(context.Context, Start) error
	// Predictions is that of a Batch.
	Predictions int
	// Resends sends a row again whose outcome is unknown, even if the service may carry it out twice.
	Resends bool
}

// The names of works: the commands.
const (
	RedeemPerks = "perk redeem"
	undoRun     = "bulk undo"
)

// undoable are the works that can be undone.
var undoable = []string{
	RedeemPerks, "perk create", "perk update", "property create", "property update", "property delete",
	"property restore",
}
