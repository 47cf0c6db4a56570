package record

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
)

// plan is what is to be done to several records, and what became of that. It is the log of its batch.
type plan[I ~string, R any, P operation.Patch[R, P]] struct {
	kind    *Kind[I, R, P]
	fields  []string // that are changed
	targets []*target[I, R, P]
	undoes  bool
	of      *plan[I, R, P] // what it undoes; nil for none

	isSent  bool
	batch   *operation.Batch
	reports *screen.Reports[int]
	all     int // how many are sent
	done    int // and have a result so far
	err     error

	noting sync.Mutex
	noted  int
}

// target is one record of a plan, and the task of its row.
type target[I ~string, R any, P operation.Patch[R, P]] struct {
	operation.Saving[I, R, P]
	kind   *Kind[I, R, P]
	title  string
	whyNot string // it is not changed; "" if it is
	state  operation.RowState
	err    error  // why it was not changed
	left   string // the ETag of the version that the change has left; "" if that is not known
}

var errStopped = errors.New("stopped")

// begin prepares the batch. It may be stopped from then on.
func (p *plan[I, R, P]) begin(sleep func(context.Context, time.Duration) error) {
	p.isSent, p.all = true, p.changing()
	p.reports = screen.NewReports[int]()
	p.batch = &operation.Batch{
		Log: p, Concurrency: atOnce, Patience: patience, Wait: sleep,
	}
	p.batch.Begin(context.Background())
}

// patience is how long a person waits for a service that is down before the rest is not sent.
const patience = 30 * time.Second

// run sends the changes, a few at a time.
func (p *plan[I, R, P]) run(_ context.Context, c *client.Client) (struct{}, error) {
	p.batch.Connect = func() (*client.Client, error) { return c, nil }
	p.batch.Now = c.Now
	rows := func(yield func(*operation.Row, error) bool) {
		for i, t := range p.targets {
			row := &operation.Row{Number: i + 1, Task: t, State: operation.RowUntried.Next(operation.RowAllowed)}
			if t.whyNot == "" && !yield(row, nil) {
				return
			}
		}
	}
	if p.err = p.batch.Run(rows, func() {}); errors.Is(p.err, errStopped) || errors.Is(p.err, context.Canceled) {
		p.err = nil
	}
	return struct{}{}, p.err
}

// Note takes the result of a row.
func (p *plan[I, R, P]) Note(row *operation.Row, result operation.RowResult) error {
	t := row.Task.(*target[I, R, P])
	p.noting.Lock()
	defer p.noting.Unlock()
	t.state, t.err = result.State, result.Err
	p.noted++
	p.reports.Tell(p.noted)
	return nil
}

// Taken, Began and LastSent are for what makes records, and for batches that are resumed.
func (p *plan[I, R, P]) Taken(string) bool   { return false }
func (p *plan[I, R, P]) Began() time.Time    { return time.Time{} }
func (p *plan[I, R, P]) LastSent() time.Time { return time.Time{} }

// changing counts the records that are to be changed.
func (p *plan[I, R, P]) changing() (n int) {
	for _, t := range p.targets {
		if t.whyNot == "" {
			n++
		}
	}
	return n
}

// count counts those of them in a state. Do not call it while they are being changed.
func (p *plan[I, R, P]) count(state operation.RowState) (n int) {
	for _, t := range p.targets {
		if t.whyNot == "" && t.state == state {
			n++
		}
	}
	return n
}

// progress says how far it is: "changing 12 of 46".
func (p *plan[I, R, P]) progress(done int) string {
	verb := "changing"
	if p.undoes {
		verb = "undoing"
	}
	return fmt.Sprintf("%s %d of %d", verb, done, p.all)
}

// summary counts what became of the records: "44 changed, 2 not changed."
func (p *plan[I, R, P]) summary() string {
	changed, text := "changed", ""
	if p.undoes {
		changed = "undone"
	}
	for _, part := range []struct {
		state operation.RowState
		word  string
	}{
		{operation.RowDone, changed}, {operation.RowFailed, "not " + changed}, {operation.RowUnknown, "unknown"},
		{operation.RowUntried, "not sent"},
	} {
		if n := p.count(part.state); n > 0 {
			text += fmt.Sprintf(", %s %s", display.Count(n), part.word)
		}
	}
	text = text[len(", "):] + "."
	if p.err != nil {
		text += " " + screen.Sentence("", p.err)
	}
	return text
}

// Subject is the record.
func (t *target[I, R, P]) Subject() string { return string(t.ID) }

// Send changes the record if it is still the version that was reviewed.
func (t *target[I, R, P]) Send(ctx context.Context, c *client.Client, _ string) (operation.Outcome, bool, error) {
	done := t.Saving.Send(ctx, c)
	t.Current, t.HasCurrent = done.Current, done.HasCurrent
	t.leave(done)
	return operation.Outcome{ID: string(t.ID)}, false, done.Err
}

// LookUp finds the record as the change wants it.
func (t *target[I, R, P]) LookUp(
	ctx context.Context, c *client.Client, _ time.Time, _ func(string) bool,
) (operation.Outcome, operation.Event, error) {
	now := t.Read(ctx, c)
	switch {
	case now.IsApplied():
		now.Lost = true
		t.leave(now)
		return operation.Outcome{ID: string(t.ID)}, operation.Found, nil
	case now.ReadErr != nil:
		return operation.Outcome{}, operation.Unread, now.ReadErr
	}
	return operation.Outcome{}, operation.Absent, nil
}

// leave notes the version that the change has left. After a lost reply it is the one that was read, unless somebody
// else has changed something in it since.
func (t *target[I, R, P]) leave(done operation.Saving[I, R, P]) {
	t.left = done.Left
	wanted := t.kind.with(*t.Base, t.Patch)
	if done.Lost && done.HasCurrent && t.kind.Changes(wanted, done.Current.Record).IsEmpty() {
		t.left = done.Current.ETag
	}
}

// Predict and After are for batches that only read.
func (t *target[I, R, P]) Predict(context.Context, *client.Client) operation.Prediction {
	return operation.Prediction{}
}

func (t *target[I, R, P]) After(int) error { return nil }

// outcome is what became of the record: in a word, and why.
func (t *target[I, R, P]) outcome(undoes bool) (word, reason string) {
	switch {
	case t.whyNot != "":
		return "left as it is", t.whyNot
	case t.state == operation.RowDone && undoes:
		return "undone", ""
	case t.state == operation.RowDone:
		return "changed", ""
	case t.state == operation.RowUnknown:
		return "unknown", screen.Sentence("The reply was lost: ", t.err)
	case t.state == operation.RowUntried:
		return "not sent", ""
	case operation.IsVersionConflict(t.err) && t.HasCurrent:
		return "not changed", "Somebody else changed it. " + t.kind.changesBetween(*t.Base, t.Current.Record)
	}
	return "not changed", screen.Sentence("", t.err)
}
