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

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Prediction is what a dry run says of a row.
type Prediction struct {
	Row int `json:"row"` // the line of the input on which the row begins
	session.Forecast
}

// rehearsal predicts what would become of every row, and changes nothing: neither at the service nor in the files of a run.
type rehearsal struct {
	*run
	coming chan chan answer // of the rows that are being checked, in their order

	seed   maphash.Seed
	lines  map[uint64]uint32 // the first line about each subject, by a sum of it
	forgot atomic.Bool       // subjects beyond maxRepeats; read while a row may still be noted

	checked, bad int64
}

type answer struct {
	Prediction
	err error
}

func (r *run) rehearse(ctx context.Context, s *session.Session, mark uint32) error {
	printer, err := output.New[Prediction](s.Output, s.Streams, output.View{ID: "row"})
	if err != nil {
		return err
	}
	h := &rehearsal{run: r, coming: make(chan chan answer, r.options.Concurrency-1), seed: maphash.MakeSeed(), lines: map[uint64]uint32{}}
	r.books = &books{journal: &journal{}}
	if r.results, err = peekResults(r.options.Flags, s.Streams.Out, mark); err != nil {
		return err
	}
	if err := r.options.checkFailed(r.input.format); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcOfRehearsal))
	}
	checking, stop := context.WithCancel(ctx)
	defer stop()
	go h.readAll(checking)
	if s.Output.IsTable() { // in sentences: which rows would fail, and what the others would change
		for p, failure := range h.predictions(checking) {
			switch {
			case failure != nil:
				err = failure
			case p.Outcome != session.WouldWork:
				h.streams.Warn("line %d: %s", p.Row, p.Message)
			case len(p.Changes) > 0:
				h.streams.Note("line %d: %s", p.Row, p.Message)
			}
		}
	} else {
		err = printer.List(ctx, h.predictions(checking))
	}
	if err == nil {
		err = h.input.checkRows(h.checked)
	}
	s.Streams.Note("%s checked; no change was sent.", display.Plural(h.checked, "row", "rows"))
	if h.forgot.Load() {
		s.Streams.Warn("The rows are about more than %d different records; repeats of the others were not looked for.", maxRepeats)
	}
	if err == nil && h.bad > 0 {
		err = &command.RowsFailed{Message: fmt.Sprintf("%d of %s would fail.", h.bad, display.Plural(h.checked, "row", "rows"))}
	}
	return err
}

// gcOfRehearsal keeps the garbage small beside the lines that are remembered.
const gcOfRehearsal = 25

// predictions yields the predictions in the order of the rows, until there is none any more or until enough are bad.
func (h *rehearsal) predictions(ctx context.Context) iter.Seq2[Prediction, error] {
	return func(yield func(Prediction, error) bool) {
		for h.options.MaxErrors == 0 || h.bad < int64(h.options.MaxErrors) {
			var a answer
			select {
			case <-ctx.Done(): // an input that stays silent does not keep a person who interrupts
				a.err = ctx.Err()
			case coming, more := <-h.coming:
				if !more {
					return
				}
				a = <-coming // a check ends with its context
			}
			if a.err == nil {
				h.checked++
				if a.Outcome != session.WouldWork {
					h.bad++
				}
			}
			if !yield(a.Prediction, a.err) || a.err != nil {
				return
			}
		}
	}
}

// readAll takes row after row. So many are checked at once as there is room in coming.
func (h *rehearsal) readAll(ctx context.Context) {
	defer close(h.coming)
	for row, err := range rows.NewReader(h.input.from, h.input.format).Rows() {
		if errors.Is(err, rows.ErrEmpty) {
			return
		}
		promise := make(chan answer, 1)
		select {
		case <-ctx.Done():
			return
		case h.coming <- promise:
		}
		known, task, before := h.prepare(row, err)
		if task != nil {
			known.err = h.limit.Wait(ctx)
		}
		if task == nil || known.err != nil {
			promise <- known
			continue
		}
		go func() {
			message, changes, err := task.Check(ctx)
			if err != nil && (errors.Is(err, context.Canceled) || isAboutRun(err)) {
				promise <- answer{err: err}
				return
			}
			if before > 0 {
				message += fmt.Sprintf(" Line %d, about the same record, comes first.", before)
			}
			promise <- predicted(row.Line, message, changes, err)
		}()
	}
}

// prepare does what must be done row by row, in their order. Without a task, the answer is known already; before is the line
// of an earlier row about the same, 0 if there is none.
func (h *rehearsal) prepare(row rows.Row, err error) (known answer, task Task, before int) {
	j, err := h.run.read(row, err)
	switch {
	case err != nil:
		return answer{err: err}, nil, 0
	case j.done:
		return predicted(j.row, "It was done by an earlier run.", nil, nil), nil, 0
	case j.invalid != nil:
		a := predicted(j.row, "", nil, j.invalid)
		a.Outcome, a.Code = session.WouldFail, invalidRow
		return a, nil, 0
	}
	if before = h.note(j.task.Subject(), j.row); before > 0 {
		if err := j.task.After(before); err != nil {
			return predicted(j.row, "", nil, err), nil, 0
		}
	}
	return answer{}, j.task, before
}

func predicted(line int, message string, changes []session.Change, err error) answer {
	return answer{Prediction: Prediction{line, session.ForecastOf(message, changes, err)}}
}

// maxRepeats bounds what is remembered of subjects, at about 40 bytes each.
const maxRepeats = 1 << 20

// note returns the line of an earlier row about the subject, 0 if there is none.
func (h *rehearsal) note(subject string, line int) (before int) {
	sum := maphash.String(h.seed, subject)
	if before, again := h.lines[sum]; again {
		return int(before)
	}
	if len(h.lines) == maxRepeats {
		h.forgot.Store(true)
	} else {
		h.lines[sum] = uint32(line) // #nosec G115 -- no input has four thousand million lines
	}
	return 0
}
