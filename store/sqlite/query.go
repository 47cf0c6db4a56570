package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"time"

	"example.com/perks/store"
)

// queryer is what rows can be read through: the writing session, or a view.
type queryer interface {
	query(text string, args ...any) (*sql.Rows, error)
}

// view reads what is committed, bounded by a context: as of one moment in a transaction, or as of each query.
type view struct {
	ctx  context.Context
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (v view) query(text string, args ...any) (*sql.Rows, error) {
	return v.from.QueryContext(v.ctx, text, args...)
}

// read gives work a view of one moment.
func (db *DB) read(ctx context.Context, doing string, work func(view) error) error {
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault(doing, err)
	}
	defer tx.Rollback()
	return fault(doing, work(view{ctx, tx}))
}

// latest reads what was committed last. It is enough for a single query.
func (db *DB) latest(ctx context.Context) view { return view{ctx, db.readers} }

// write runs work in a transaction of the writer and returns when it is durable.
func (db *DB) write(ctx context.Context, doing string, work func(*session) error) error {
	return db.writer.do(ctx, func(s *session) error { return fault(doing, work(s)) })
}

// writeFor is write for work that has a result. The result is not touched when the caller left before the end.
func writeFor[T any](ctx context.Context, db *DB, doing string, work func(*session) (T, error)) (T, error) {
	var result T
	err := db.write(ctx, doing, func(s *session) (err error) {
		result, err = work(s)
		return err
	})
	if err != nil {
		var none T
		return none, err
	}
	return result, nil
}

// row is one row of a result, to be scanned.
type row = store.Scanner

// each streams a query's rows, and its error at the end if there is one.
func each[T any](q queryer, scan func(row) (T, error), text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := q.query(text, args...)
		if err != nil {
			yield(none, err)
			return
		}
		defer rows.Close()
		for rows.Next() {
			record, err := scan(rows)
			if err != nil {
				yield(none, err)
				return
			}
			if !yield(record, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(none, err)
		}
	}
}

// all returns a query's rows, never nil.
func all[T any](q queryer, scan func(row) (T, error), text string, args ...any) ([]T, error) {
	list := []T{}
	for record, err := range each(q, scan, text, args...) {
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return list, nil
}

// one returns a query's first row, or sql.ErrNoRows.
func one[T any](q queryer, scan func(row) (T, error), text string, args ...any) (T, error) {
	for record, err := range each(q, scan, text, args...) {
		return record, err
	}
	var none T
	return none, sql.ErrNoRows
}

// found is one for rows that need not be there: instead of sql.ErrNoRows the error is missing.
func found[T any](missing error, q queryer, scan func(row) (T, error), text string, args ...any) (T, error) {
	record, err := one(q, scan, text, args...)
	if errors.Is(err, sql.ErrNoRows) {
		err = missing
	}
	return record, err
}

// scanValue reads a row of one column.
func scanValue[T any](r row) (value T, err error) { return value, r.Scan(&value) }

func fromMicros(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func fromMicrosOrNil(micros *int64) *time.Time {
	if micros == nil {
		return nil
	}
	t := fromMicros(*micros)
	return &t
}

func microsOrNil(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	micros := t.UnixMicro()
	return &micros
}
