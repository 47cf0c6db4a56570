package postgres

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
)

// queryer is what rows can be read through: a writing session, or a view.
type queryer interface {
	query(text string, args ...any) (pgx.Rows, error)
}

// view reads what is committed, bounded by a context: as of one moment in a transaction, or as of each query.
type view struct {
	ctx  context.Context
	from interface {
		Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	}
}

func (v view) query(text string, args ...any) (pgx.Rows, error) {
	return v.from.Query(v.ctx, text, args...)
}

// read gives work a view of one moment. When the connection breaks work is done once more: those in the pool may be from
// before a failover.
func (db *DB) read(ctx context.Context, doing string, work func(view) error) error {
	err := db.readOnce(ctx, work)
	if db.leadsNowhere(err) && ctx.Err() == nil {
		err = db.readOnce(ctx, work)
	}
	return fault(doing, err)
}

func (db *DB) readOnce(ctx context.Context, work func(view) error) error {
	return pgx.BeginTxFunc(ctx, db.reads, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return work(view{ctx, tx})
	})
}

// latest gives work, which is a single query, a view of what was committed last. It does it again as read does.
func latest[T any](ctx context.Context, db *DB, doing string, work func(view) (T, error)) (T, error) {
	result, err := work(view{ctx, db.reads})
	if db.leadsNowhere(err) && ctx.Err() == nil {
		result, err = work(view{ctx, db.reads})
	}
	return result, fault(doing, err)
}

// session is one transaction that writes.
type session struct {
	ctx context.Context // does not end when the caller leaves
	tx  pgx.Tx
}

func (s *session) query(text string, args ...any) (pgx.Rows, error) {
	return s.tx.Query(s.ctx, text, args...)
}

func (s *session) exec(text string, args ...any) error {
	_, err := s.execCount(text, args...)
	return err
}

// execCount returns how many rows the statement changed.
func (s *session) execCount(text string, args ...any) (int64, error) {
	tag, err := s.tx.Exec(s.ctx, text, args...)
	return tag.RowsAffected(), err
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

// one returns a query's first row, or pgx.ErrNoRows.
func one[T any](q queryer, scan func(row) (T, error), text string, args ...any) (T, error) {
	for record, err := range each(q, scan, text, args...) {
		return record, err
	}
	var none T
	return none, pgx.ErrNoRows
}

// found is one for rows that need not be there: instead of pgx.ErrNoRows the error is missing. It is so without a query
// when a text is asked for that the database cannot hold.
func found[T any](missing error, q queryer, scan func(row) (T, error), text string, args ...any) (T, error) {
	if slices.ContainsFunc(args, isForeign) {
		var none T
		return none, missing
	}
	record, err := one(q, scan, text, args...)
	if errors.Is(err, pgx.ErrNoRows) {
		err = missing
	}
	return record, err
}

// isForeign holds for a text that PostgreSQL cannot hold, and would refuse to be asked for.
func isForeign(arg any) bool {
	text, ok := arg.(string)
	return ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0))
}

// scanValue reads a row of one column.
func scanValue[T any](r row) (value T, err error) { return value, r.Scan(&value) }

// utcOrNil is the instant as the API shows it. A timestamptz has no zone of its own, and pgx gives it the machine's.
func utcOrNil(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	utc := t.UTC()
	return &utc
}
