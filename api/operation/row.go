package operation

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// A Batch makes many changes, each by an Attempt. A row of it may go through several runs, because runs are stopped and
// killed: RowState says what is known of it over all of them, RowEvent what happens to it in one.

// RowState is what is known of a row of a batch.
type RowState int

// The states of a row.
const (
	RowUntried   RowState = iota // it was never sent
	RowSending                   // this run may send it, and no other has
	RowMaybeSent                 // an earlier run may have sent it, and was killed
	RowResuming                  // this run may send it, and an earlier one may have
	RowFailed                    // it is not done
	RowUnknown                   // it may be done, or still be
	RowDone
)

// MayBeDone tells whether an earlier run may have done the row.
func (s RowState) MayBeDone() bool { return s == RowMaybeSent || s == RowResuming || s == RowUnknown }

// RowEvent is what happens to a row in a run.
type RowEvent int

// The events of a row.
const (
	RowAllowed   RowEvent = iota // it is written down that it may be sent from now on
	RowInvalid                   // nothing can be sent, and never could: a changed row is refused before
	RowHeld                      // an earlier row about the same record is unknown, and its retry would undo this one
	RowConfirmed                 // the service has made the change
	RowRefused                   // it has not, and will not
	RowLost                      // nobody can tell
	RowLeft                      // the run stopped before it sent the row
	RowKilled                    // the run was killed
)

// rowTable says what follows from an event in a state. An event that is not listed changes nothing. A row that may have
// been sent is never taken for one that was not, and only the service makes it done.
var rowTable = sync.OnceValue(func() map[RowState]map[RowEvent]RowState {
	return map[RowState]map[RowEvent]RowState{
		RowUntried: {RowAllowed: RowSending, RowInvalid: RowFailed},
		RowSending: {
			RowHeld: RowFailed, RowConfirmed: RowDone, RowRefused: RowFailed, RowLost: RowUnknown,
			RowLeft: RowUntried, RowKilled: RowMaybeSent,
		},
		RowMaybeSent: {RowAllowed: RowResuming, RowInvalid: RowFailed},
		RowResuming: {
			RowHeld: RowUnknown, RowConfirmed: RowDone, RowRefused: RowFailed, RowLost: RowUnknown,
			RowLeft: RowMaybeSent, RowKilled: RowMaybeSent,
		},
		RowFailed:  {RowAllowed: RowSending},
		RowUnknown: {RowAllowed: RowResuming, RowInvalid: RowFailed},
		RowDone:    {},
	}
})

// Next says what follows from an event.
func (s RowState) Next(e RowEvent) RowState {
	if next, listed := rowTable()[s][e]; listed {
		return next
	}
	return s
}

// Task is the change of a row. The client is that of the batch.
type Task interface {
	// Subject identifies the record that the task changes. Tasks with the same subject run one after the other, in
	// their order.
	Subject() string
	// Send is that of a Change.
	Send(ctx context.Context, c *client.Client, key string) (outcome Outcome, replayed bool, err error)
	// LookUp is that of a Change. Outcomes for which taken is true belong to other rows.
	LookUp(ctx context.Context, c *client.Client, since time.Time, taken func(id string) bool) (Outcome, Event, error)
	// Predict tells what the task would change. It only reads.
	Predict(ctx context.Context, c *client.Client) Prediction
	// After returns the error to expect if the row with that number, about the same subject, is done first; nil if that
	// makes no difference.
	After(row int) error
}

// ObservingTask is to a Task what an Observer is to a Change.
type ObservingTask interface {
	Observe(ctx context.Context, c *client.Client)
}

// Outcome identifies what a task has changed, and says enough to take it back.
type Outcome struct {
	ID               string // of the redemption, the property or the perk
	Kind             string // of the record; "" is a redemption or a property
	Status           int    // of the HTTP response
	RedemptionStatus api.RedemptionStatus
	Action           Action
	ETag             string // of the version that the change left; "" if there is none, or if the service gives none
	ETagBefore       string // of the version that it replaced, and so ETag if it changed nothing; "" likewise
	// Before and After are the fields that it changed, as they were and as it left them; nil if that is not known.
	Before, After json.RawMessage
	// Err says why the row is not done although the service accepted the request, as when it rejected the redemption.
	Err error
}

// Action is what a task did to its record.
type Action string

// The actions.
const (
	Created  Action = "created"
	Updated  Action = "updated"
	Deleted  Action = "deleted"
	Restored Action = "restored" // it was deleted
	Redeemed Action = "redeemed"
	Voided   Action = "voided"
	Rejected Action = "rejected"
)

// IsReversible tells whether the action can be taken back. A redemption that was taken back cannot be made again: only
// its user may decide that.
func (a Action) IsReversible() bool { return a != "" && a != Voided && a != Rejected }

// Row is one change of a batch.
type Row struct {
	Number  int // its place among the rows
	Key     string
	State   RowState
	Task    Task  // nil if the row is invalid
	Invalid error // why there is no task
	Of      any   // what the row was made of, for the log
}

// RowResult is what became of a row in a run.
type RowResult struct {
	State   RowState // RowDone, RowFailed or RowUnknown
	Outcome Outcome  // when done, or what a look-up has found when Ambiguous
	Err     error    // why it is not done
	Why     RowReason
	Behind  int // the row behind which it is held back
}

// RowReason is why a row is not done where the error alone does not say it.
type RowReason int

// The reasons.
const (
	ByError   RowReason = iota
	Invalid             // nothing can be sent
	HeldBack            // an earlier row about the same record is unknown
	Ambiguous           // the reply was lost, and what was found may belong to another request
	NotResent           // the reply was lost, nothing was found, and the service may do a repeated request twice
)

// Log writes down what a later run needs to resume a batch. Many rows note their results at once.
type Log interface {
	// Note writes down the result of a row. Its error stops the batch.
	Note(*Row, RowResult) error
	// Taken tells whether the id is the outcome of some row.
	Taken(id string) bool
	// Began is when the first run of the batch began, and LastSent the latest time at which an earlier run may have
	// sent a request.
	Began() time.Time
	LastSent() time.Time
}
