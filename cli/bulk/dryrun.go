package bulk

import (
	"context"
	"fmt"
	"iter"
	"os"
	"runtime/debug"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Prediction is what a dry run says about a row.
type Prediction struct {
	Row int `json:"row"` // the line of the input on which the row begins
	session.Prediction
}

// gcPercent keeps the garbage small beside the subjects that are remembered.
const gcPercent = 25

// dryRun predicts the outcome of every row, and changes nothing: neither at the service nor in the files of a run.
func (r *run) dryRun(ctx context.Context, s *session.Session, mark uint32) error {
	printer, err := output.New[Prediction](s.Output, s.Streams, output.View{ID: "row"})
	if err != nil {
		return err
	}
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
	var rows, bad int64
	predictions := r.predictions(ctx, &rows, &bad)
	if s.Output.IsTable() { // in sentences: which rows would fail, and what the others would change or undo
		for p, failure := range predictions {
			switch {
			case failure != nil:
				err = failure
			case p.Outcome != session.WouldWork:
				r.streams.Warn("line %d: %s", p.Row, p.Message)
			case len(p.Changes) > 0 || r.input.made != nil:
				r.streams.Note("line %d: %s", p.Row, p.Message)
			}
		}
	} else {
		err = printer.List(ctx, predictions)
	}
	if err == nil {
		err = r.input.checkRows(rows)
	}
	count := display.Plural(rows, "row", "rows")
	if err == nil || rows > 0 {
		s.Streams.Note("%s checked; no change was sent.", count)
	}
	if r.batch.ForgetsSubjects() {
		s.Streams.Warn("The rows are about too many records; some that repeat one are not reported.")
	}
	if err == nil && bad > 0 {
		err = command.RowsFailed(fmt.Sprintf("%s of %s would fail.", display.Count(bad), count))
	}
	return err
}

// predictions counts the rows and the bad ones among them, and stops at --max-errors.
func (r *run) predictions(ctx context.Context, rows, bad *int64) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		for found, err := range r.batch.Predict(ctx, r.allRows()) {
			if err != nil {
				yield(Prediction{}, err)
				return
			}
			*rows++
			p := newPrediction(found)
			if p.Outcome != session.WouldWork {
				*bad++
			}
			if !yield(p, nil) || r.options.MaxErrors > 0 && *bad >= int64(r.options.MaxErrors) {
				return
			}
		}
	}
}

func newPrediction(found operation.RowPrediction) Prediction {
	switch {
	case found.State == operation.RowDone:
		found.Message = "An earlier run has done it."
	case found.Invalid != nil:
		found.Err = found.Invalid
	case found.Behind > 0:
		found.Message += fmt.Sprintf(" Line %d, about the same record, comes first.", found.Behind)
	}
	p := Prediction{found.Number, session.NewPrediction(found.Prediction)}
	if found.Invalid != nil {
		p.Outcome, p.Code = session.WouldFail, invalidRow
	}
	return p
}
