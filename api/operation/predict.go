package operation

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"iter"

	"example.com/perks/api/client"
)

// Prediction is what a change would come to, as far as reading can tell.
type Prediction struct {
	Message string // what it would do, in a sentence
	Changes []FieldChange
	Err     error // to expect, or why nobody knows
}

// FieldChange is the old and the new value of a field.
type FieldChange struct {
	Field string          `json:"field"`
	From  json.RawMessage `json:"from"`
	To    json.RawMessage `json:"to"`
}

// RowPrediction is the prediction of a row that is not done and can be sent. Its Prediction is zero for other rows.
type RowPrediction struct {
	*Row
	Prediction
	Behind int // the earlier row about the same record, 0 if there is none
}

// maxSubjects bounds the subjects that predictions remember, at about 40 bytes each.
const maxSubjects = 1 << 20

// ForgetsSubjects tells whether the rows of Predict were about more subjects than it remembers, so that it has not
// noticed all that repeat one.
func (b *Batch) ForgetsSubjects() bool { return b.forgets.Load() }

// Predict says in the order of the rows what would become of each, and changes nothing. An error ends it: it is of the
// rows, or would hit them all. Predict may be called once, before Run or instead of it.
func (b *Batch) Predict(ctx context.Context, rows iter.Seq2[*Row, error]) iter.Seq2[RowPrediction, error] {
	return func(yield func(RowPrediction, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		// One for each row that is being predicted. The capacity bounds how many are at once.
		predictions := make(chan chan rowPrediction, max(b.Concurrency, b.Predictions)-1)
		go b.predictAll(ctx, rows, predictions)
		for {
			var p rowPrediction
			select {
			case <-ctx.Done(): // an input that stays silent must not keep the command
				p.err = ctx.Err()
			case next, more := <-predictions:
				if !more {
					return
				}
				p = <-next // a prediction ends with its context
			}
			if !yield(p.RowPrediction, p.err) || p.err != nil {
				return
			}
		}
	}
}

type rowPrediction struct {
	RowPrediction
	err error
}

func (b *Batch) predictAll(ctx context.Context, rows iter.Seq2[*Row, error], predictions chan<- chan rowPrediction) {
	defer close(predictions)
	limit := b.Limiter()
	seed, seen := maphash.MakeSeed(), map[uint64]uint32{}
	for row, err := range rows {
		result := make(chan rowPrediction, 1)
		select {
		case <-ctx.Done():
			return
		case predictions <- result:
		}
		p := RowPrediction{Row: row}
		if err != nil || row.Task == nil || row.State == RowDone {
			result <- rowPrediction{p, err}
			continue
		}
		// what depends on the order of the rows comes before what waits for the service
		subject := maphash.String(seed, row.Task.Subject())
		if p.Behind = int(seen[subject]); p.Behind > 0 {
			if p.Err = row.Task.After(p.Behind); p.Err != nil {
				result <- rowPrediction{p, nil}
				continue
			}
		} else if len(seen) < maxSubjects {
			seen[subject] = uint32(row.Number) // #nosec G115 -- no input has four thousand million rows
		} else {
			b.forgets.Store(true)
		}
		if err := limit.Wait(ctx); err != nil {
			result <- rowPrediction{p, err}
			continue
		}
		go func() {
			var c *client.Client
			if c, p.Err = b.Client(); p.Err == nil {
				p.Prediction = row.Task.Predict(ctx, c)
			}
			if p.Err != nil && (errors.Is(p.Err, context.Canceled) || b.HitsAll(p.Err)) {
				result <- rowPrediction{p, p.Err}
				return
			}
			result <- rowPrediction{p, nil}
		}()
	}
}
