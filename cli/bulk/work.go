package bulk

import (
	"context"
	"time"

	"example.com/perks/api/rows"
	"example.com/perks/cli/session"
)

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
