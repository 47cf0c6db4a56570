package bulk

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"os"
	"runtime/debug"

	"example.com/perks/api/rows"
	"example.com/perks/cli/exit"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Verdict is what a dry run says of a row.
type Verdict struct {
	Row int `json:"row"` // the line of the input on which the row begins
	session.Forecast
}

// rehearsal predicts what would become of every row, and changes nothing: neither at the service nor in the files of a run.
type rehearsal struct {
	*run
	earlier *results // of runs before, only read; nil if there are none
	repeats repeats
	coming  chan chan forecast // of the rows that are being checked, in their order

	read         int64 // rows so far; the one goroutine that reads has it
	checked, bad int64
}

// forecast is a verdict, or why there can be none.
type forecast struct {
	Verdict
	err error
}

func (r *run) rehearse(ctx context.Context, s *session.Session, mark uint32) error {
	printer, err := output.New[Verdict](s.Output, s.Streams, output.View{ID: "row"})
	if err != nil {
		return err
	}
	if err := r.options.checkPaths(s.Streams.Out); err != nil {
		return err
	}
	h := &rehearsal{run: r, coming: make(chan chan forecast, r.options.Concurrency-1)}
	if h.earlier, err = peekResults(r.options.Flags, mark); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcOfRehearsal))
	}
	checking, stop := context.WithCancel(ctx)
	defer stop()
	go h.readAll(checking)
	if s.Output.IsTable() {
		err = h.tell(checking)
	} else {
		err = printer.List(ctx, h.verdicts(checking))
	}
	if err == nil && h.options.MaxErrors == 0 {
		err = h.input.checkRows(h.checked)
	}
	s.Streams.Note("%s checked; nothing was sent.", count(h.checked, "row"))
	if h.repeats.full {
		s.Streams.Warn("The rows are about more than %d different things; which of the others are there twice was not looked for.", maxRepeats)
	}
	if err == nil && h.bad > 0 {
		err = &exit.RowsFailed{Message: fmt.Sprintf("%d of %s would fail.", h.bad, count(h.checked, "row"))}
	}
	return err
}

// gcOfRehearsal keeps the garbage small beside what repeats remembers.
const gcOfRehearsal = 25

// tell says in sentences which rows would fail, and what the others would change.
func (h *rehearsal) tell(ctx context.Context) error {
	for verdict, err := range h.verdicts(ctx) {
		switch {
		case err != nil:
			return err
		case verdict.Outcome != session.WouldWork:
			h.streams.Warn("line %d: %s", verdict.Row, verdict.Message)
		case len(verdict.Changes) > 0:
			h.streams.Note("line %d: %s", verdict.Row, verdict.Message)
		}
	}
	return nil
}

// verdicts yields the verdicts in the order of the rows, until there is none any more or until enough are bad.
func (h *rehearsal) verdicts(ctx context.Context) iter.Seq2[Verdict, error] {
	return func(yield func(Verdict, error) bool) {
		for h.options.MaxErrors == 0 || h.bad < int64(h.options.MaxErrors) {
			f, more := h.next(ctx)
			if !more {
				return
			}
			if f.err == nil {
				h.checked++
			}
			if f.err == nil && f.Outcome != session.WouldWork {
				h.bad++
			}
			if !yield(f.Verdict, f.err) || f.err != nil {
				return
			}
		}
	}
}

// next waits for the next row. An input that stays silent does not keep a person who interrupts.
func (h *rehearsal) next(ctx context.Context) (forecast, bool) {
	select {
	case <-ctx.Done():
		return forecast{err: ctx.Err()}, true
	case coming, more := <-h.coming:
		if !more {
			return forecast{}, false
		}
		return <-coming, true // a check ends with its context
	}
}

// readAll takes row after row. So many are checked at once as there is room in coming.
func (h *rehearsal) readAll(ctx context.Context) {
	defer close(h.coming)
	for row, err := range rows.NewReader(h.input.from, h.input.format).Rows() {
		if errors.Is(err, rows.ErrEmpty) {
			return
		}
		promise := make(chan forecast, 1)
		select {
		case <-ctx.Done():
			return
		case h.coming <- promise:
		}
		check := h.prepare(row, err)
		if h.limit.Wait(ctx) != nil {
			check = func(context.Context) forecast { return forecast{err: ctx.Err()} }
		}
		go func() { promise <- check(ctx) }()
	}
}

// prepare does what must be done row by row, in their order, and returns the rest.
func (h *rehearsal) prepare(row rows.Row, err error) func(context.Context) forecast {
	known := func(f forecast) func(context.Context) forecast { return func(context.Context) forecast { return f } }
	var broken *rows.RowError
	switch {
	case errors.As(err, &broken):
		h.read++
		return known(invalid(broken.Line, broken.Err))
	case err != nil:
		return known(forecast{err: h.input.explain(err, h.read)})
	}
	h.read++
	if h.earlier != nil {
		if err := h.earlier.isSame(row, h.input.name); err != nil {
			return known(forecast{err: err})
		}
		if state, _ := h.earlier.state(row.Line); state >= firstDone {
			return known(forecast{Verdict: Verdict{row.Line, session.ForecastOf("It was done by an earlier run.", nil, nil)}})
		}
	}
	task, err := h.task.Parse(row)
	var usage *exit.Usage
	switch {
	case errors.As(err, &usage):
		return known(forecast{err: err}) // it is about the whole file
	case err != nil:
		return known(invalid(row.Line, err))
	}
	before := h.repeats.note(task.Subject(), row.Line)
	if before > 0 {
		if err := task.After(before); err != nil {
			return known(forecast{Verdict: Verdict{row.Line, session.ForecastOf("", nil, err)}})
		}
	}
	return func(ctx context.Context) forecast {
		message, changes, err := task.Check(ctx)
		if err != nil && (errors.Is(err, context.Canceled) || isAboutRun(err)) {
			return forecast{err: err}
		}
		if before > 0 {
			message += fmt.Sprintf(" Line %d is about the same and comes first.", before)
		}
		return forecast{Verdict: Verdict{row.Line, session.ForecastOf(message, changes, err)}}
	}
}

func invalid(line int, err error) forecast {
	f := session.ForecastOf("", nil, err)
	f.Outcome, f.Code = session.WouldFail, invalidRow
	return forecast{Verdict: Verdict{line, f}}
}

// repeats remembers what rows are about, so that a row about the same as one before it is known.
type repeats struct {
	seed  maphash.Seed
	lines map[uint64]uint32 // by a sum of the subject
	full  bool
}

// maxRepeats bounds what is remembered, at about 40 bytes each.
const maxRepeats = 1 << 20

// note returns the line of an earlier row about the subject, 0 if there is none.
func (r *repeats) note(subject string, line int) (before int) {
	if r.lines == nil {
		r.seed, r.lines = maphash.MakeSeed(), map[uint64]uint32{}
	}
	sum := maphash.String(r.seed, subject)
	if before, again := r.lines[sum]; again {
		return int(before)
	}
	if r.full = r.full || len(r.lines) == maxRepeats; !r.full {
		r.lines[sum] = uint32(line) // #nosec G115 -- no input has four thousand million lines
	}
	return 0
}
