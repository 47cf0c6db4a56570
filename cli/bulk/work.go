package bulk

import (
	"context"
	"time"

	"example.com/perks/api/rows"
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
}

// Task is the work of one row.
type Task interface {
	// Subject names what the task changes. Tasks about the same subject run one after the other, in the order of the input.
	Subject() string
	// Do carries the task out under the idempotency key. It sends the change once; only the client beneath it may decide to
	// send it again.
	Do(ctx context.Context, key string) (Outcome, error)
	// Done finds out by reading alone whether the task has been carried out since that moment, by this computer's clock.
	// What belongs to another row of the same run, as taken tells by the outcome's id, does not count.
	Done(ctx context.Context, since time.Time, taken func(id string) bool) (outcome Outcome, done bool, err error)
	// Check finds out by reading alone whether what the task names exists. It is for rehearsals.
	Check(ctx context.Context) error
}

// Outcome is what a task that was carried out came to.
type Outcome struct {
	ID     string // of the redemption or the property
	Status int    // of the HTTP response
}
