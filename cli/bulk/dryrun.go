package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"os"
	"runtime/debug"
	"sync/atomic"

	"golang.org/x/time/rate"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Prediction is what a dry run says about a row.
type Prediction struct {
	Row int `json:"row"` // the line of the input on which the row begins
	session.Prediction
}

// dryRun predicts the outcome of every row, and changes nothing: neither at the service nor in the files of a run.
type dryRun struct {
	*run
	checks chan chan checked // one for each row that is being checked, in their order

	seed   maphash.Seed
	lines  map[uint64]uint32 // the first line about each subject, by its hash
	forgot atomic.Bool       // there are more subjects than maxSubjects; read while a row may still be noted

	limit     *rate.Limiter
	rows, bad int64
}

// checked is the outcome of a check. The error ends the dry run.
type checked struct {
	Prediction
	err error
}

// gcPercent keeps the garbage small beside the lines that are remembered.
const gcPercent = 25

func (r *run) dryRun(ctx context.Context, s *session.Session, mark uint32) error {
	printer, err := output.New[Prediction](s.Output, s.Streams, output.View{ID: "row"})
	if err != nil {
		return err
	}
	d := &dryRun{run: r, checks: make(chan chan checked, r.options.Concurrency-1), seed: maphash.MakeSeed(),
		lines: map[uint64]uint32{}, limit: r.batch.Limiter()}
	r.runState = &runState{journal: &journal{}}
	if r.results, err = peekResults(r.options, s.Streams.Out, mark); err != nil {
		return err
	}
	j, _, err := peekJournal(r.options.resultsPath())
	if err == nil && r.input.made == nil {
		err = r.options.checkUndone(s, r.results, j)
	}
	if err != nil {
		return err
	}
	if err := r.options.checkFailed(r.input.format); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	checking, stop := context.WithCancel(ctx)
	defer stop()
	go d.readAll(checking)
	if s.Output.IsTable() { // in sentences: which rows would fail, and what the others would change
		for p, failure := range d.predictions(checking) {
			switch {
			case failure != nil:
				err = failure
			case p.Outcome != session.WouldWork:
				d.streams.Warn("line %d: %s", p.Row, p.Message)
			case len(p.Changes) > 0:
				d.streams.Note("line %d: %s", p.Row, p.Message)
			}
		}
	} else {
		err = printer.List(ctx, d.predictions(checking))
	}
	if err == nil {
		err = d.input.checkRows(d.rows)
	}
	count := display.Plural(d.rows, "row", "rows")
	if err == nil || d.rows > 0 {
		s.Streams.Note("%s checked; no change was sent.", count)
	}
	if d.forgot.Load() {
		s.Streams.Warn("The rows are about more than %d records; repeats of the others are not reported.", maxSubjects)
	}
	if err == nil && d.bad > 0 {
		err = command.RowsFailed(fmt.Sprintf("%s of %s would fail.", display.Count(d.bad), count))
	}
	return err
}

// predictions yields the predictions in the order of the rows, and stops at --max-errors.
func (d *dryRun) predictions(ctx context.Context) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		for d.options.MaxErrors == 0 || d.bad < int64(d.options.MaxErrors) {
			var c checked
			select {
			case <-ctx.Done(): // an input that stays silent must not keep the command
				c.err = ctx.Err()
			case check, more := <-d.checks:
				if !more {
					return
				}
				c = <-check // a check ends with its context
			}
			if c.err == nil {
				d.rows++
				if c.Outcome != session.WouldWork {
					d.bad++
				}
			}
			if !yield(c.Prediction, c.err) || c.err != nil {
				return
			}
		}
	}
}

// readAll starts a check of each row. The capacity of checks bounds how many run at once.
func (d *dryRun) readAll(ctx context.Context) {
	defer close(d.checks)
	for row, err := range d.input.rows() {
		if errors.Is(err, rows.ErrEmpty) {
			d.input.isEmpty = true
			return
		}
		result := make(chan checked, 1)
		select {
		case <-ctx.Done():
			return
		case d.checks <- result:
		}
		d.check(ctx, row, err, result)
	}
}

// check does what depends on the order of the rows. A goroutine asks the service.
func (d *dryRun) check(ctx context.Context, row rows.Row, err error, result chan<- checked) {
	r, err := d.run.read(row, err)
	switch {
	case err != nil:
		result <- checked{err: err}
		return
	case r.State == operation.RowDone:
		result <- predicted(r.Number, "An earlier run has done it.", nil, nil)
		return
	case r.Invalid != nil:
		c := predicted(r.Number, "", nil, r.Invalid)
		c.Outcome, c.Code = session.WouldFail, invalidRow
		result <- c
		return
	}
	task := r.Task.(Task)
	before := d.note(task.Subject(), r.Number)
	if before > 0 {
		if err := task.After(before); err != nil {
			result <- predicted(r.Number, "", nil, err)
			return
		}
	}
	if err := d.limit.Wait(ctx); err != nil {
		result <- checked{err: err}
		return
	}
	go func() {
		message, changes, err := task.Check(ctx)
		if err != nil && (errors.Is(err, context.Canceled) || d.batch.HitsAll(err)) {
			result <- checked{err: err}
			return
		}
		if before > 0 {
			message += fmt.Sprintf(" Line %d, about the same record, comes first.", before)
		}
		result <- predicted(r.Number, message, changes, err)
	}()
}

func predicted(line int, message string, changes []session.Change, err error) checked {
	return checked{Prediction: Prediction{line, session.Predict(message, changes, err)}}
}

// maxSubjects bounds the subjects that are remembered, at about 40 bytes each.
const maxSubjects = 1 << 20

// note returns the line of an earlier row about the subject, 0 if there is none.
func (d *dryRun) note(subject string, line int) (before int) {
	hash := maphash.String(d.seed, subject)
	if before, again := d.lines[hash]; again {
		return int(before)
	}
	if len(d.lines) == maxSubjects {
		d.forgot.Store(true)
	} else {
		d.lines[hash] = uint32(line) // #nosec G115 -- no input has four thousand million lines
	}
	return 0
}
