package postgres

import (
	"context"
	"iter"
)

// stream gives a query's records one by one, as of one moment. When the connection breaks before it gave any, the query is
// made once more: those in the pool may be from before a failover.
func stream[T any](ctx context.Context, db *DB, doing string, scan func(row) (T, error), text string, args ...any) iter.Seq2[T, error] {
	records := each(view{ctx, db.reads}, scan, text, args...)
	return func(yield func(T, error) bool) {
		begun, err := passOn(records, yield)
		if db.leadsNowhere(err) && !begun && ctx.Err() == nil {
			_, err = passOn(records, yield)
		}
		if err != nil {
			var none T
			yield(none, fault(doing, err))
		}
	}
}

// passOn yields records up to the first error, which it returns. It tells whether there were any.
func passOn[T any](records iter.Seq2[T, error], yield func(T, error) bool) (begun bool, err error) {
	for record, err := range records {
		if err != nil {
			return begun, err
		}
		begun = true
		if !yield(record, nil) {
			return begun, nil
		}
	}
	return begun, nil
}
