package assistant

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
)

const (
	draftLife = 10 * time.Minute
	maxDrafts = 100 // of one process
)

// draft is a change that was prepared. Its id is the idempotency key of the change.
type draft struct {
	id      string
	expires time.Time
	would   string

	mu         sync.Mutex // held while it is carried out, so that a second confirm waits for the first
	carryOut   func(ctx context.Context) (result any, isDoubtful bool, err error)
	isDoubtful bool // it may have been carried out
	isDone     bool
	result     any // if it is done
}

// isExpired tells whether it is too late to begin with it. One whose outcome is unknown may still be settled.
func (d *draft) isExpired(now time.Time) bool {
	return !d.isDone && !d.isDoubtful && !now.Before(d.expires)
}

// drafts are those of this process. They are lost with it.
type drafts struct {
	now func() time.Time

	mu  sync.Mutex
	all []*draft // the oldest first
}

// prepared is what a tool prepare_* answers.
type prepared struct {
	Draft      string                  `json:"draft"`
	ValidUntil time.Time               `json:"valid_until"`
	Would      string                  `json:"would"`
	Changes    []operation.FieldChange `json:"changes,omitempty"`
	Request    any                     `json:"request"`          // exactly what confirm would send
	Record     any                     `json:"record,omitempty"` // as it is now
}

// newDraft makes a draft without a change yet.
func (ds *drafts) newDraft() *draft {
	return &draft{id: uuid.NewString(), expires: ds.now().Add(draftLife).UTC().Truncate(time.Second)}
}

// keep makes room by forgetting drafts that have expired, and then those that are done.
func (ds *drafts) keep(d *draft) error {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for _, isOver := range []func(*draft) bool{
		func(d *draft) bool { return d.isExpired(ds.now()) }, func(d *draft) bool { return d.isDone },
	} {
		var rest []*draft
		for i, known := range ds.all {
			isNeeded := len(rest)+len(ds.all)-i < maxDrafts // there is room even with all that follow
			if known.mu.TryLock() {
				if isNeeded || !isOver(known) {
					rest = append(rest, known)
				}
				known.mu.Unlock()
			} else {
				rest = append(rest, known)
			}
		}
		ds.all = rest
	}
	if len(ds.all) >= maxDrafts {
		return &command.Failure{Exit: command.ExitFailed, Code: "too_many_drafts", Message: fmt.Sprintf(
			"%d drafts wait to be confirmed. Confirm one, or wait until one expires.", maxDrafts)}
	}
	ds.all = append(ds.all, d)
	return nil
}

func (ds *drafts) find(id string) *draft {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	for _, d := range ds.all {
		if d.id == id {
			return d
		}
	}
	return nil
}

// draftID is the param of confirm.
var draftID = id("draft", "the draft that a tool prepare_* returned")

// confirm carries out a draft. A second time it returns the same result, or goes on where the outcome is unknown.
func confirm(ctx context.Context, a *assistant, args arguments) (answer, error) {
	id := args.text(draftID.name)
	d := a.drafts.find(id)
	if d == nil {
		return answer{}, &command.Failure{Exit: command.ExitNotFound, Code: "draft_not_found",
			Message: fmt.Sprintf("There is no draft %q: it has expired, or is of another process. Prepare it again.", id)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.isDone:
		return answer{Source: &a.from, Data: d.result,
			Notices: []string{"The draft was confirmed before: this is the result from then."}}, nil
	case d.isExpired(a.drafts.now()):
		return answer{}, &command.Failure{Exit: command.ExitFailed, Code: "draft_expired",
			Message: fmt.Sprintf("Draft %s was valid until %s. Prepare it again.", d.id, d.expires.Format(time.RFC3339))}
	}
	if err := a.session.MayChange(ctx); err != nil {
		return answer{}, err
	}
	var err error
	d.result, d.isDoubtful, err = d.carryOut(ctx)
	switch {
	case err == nil:
		d.isDone = true
		a.session.Streams.Note("Confirmed by the assistant, draft %s: %s", d.id, d.would)
		return answer{Source: &a.from, Data: d.result}, nil
	case d.isDoubtful:
		a.session.Streams.Warn("The outcome of draft %s is unknown: %s", d.id, display.Line(err.Error()))
		return answer{}, &command.Failure{Exit: command.ExitUnreached, Code: "outcome_unknown",
			Message: fmt.Sprintf("The outcome of draft %s is unknown: %s Confirm it again to find out; nothing is done "+
				"twice.", d.id, err)}
	case operation.IsVersionConflict(err):
		return answer{}, &command.Advised{Err: err, Advice: "Nothing was changed. Prepare it again to see what is there now."}
	}
	return answer{}, err
}
