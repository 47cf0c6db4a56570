package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/perks/api"
)

// Scanner is one row of what a query found.
type Scanner interface{ Scan(into ...any) error }

// Rows is what a query found, one row at a time.
type Rows interface {
	Scanner
	Next() bool
	Err() error
	Close() error
}

// Querier is what a driver reads through: a transaction that writes, or a view of what is committed. Parameters are $1, $2 and
// so on, or @name with one Named as the argument. Times, and lists of texts, go in and come out as such.
type Querier interface {
	Query(text string, args ...any) (Rows, error)
}

// Named are the arguments of a query by their names.
type Named = map[string]any

// Tx is a transaction that writes. What it reads stays true until it ends, except where a method says otherwise.
type Tx interface {
	Querier
	// Exec returns how many rows the statement changed.
	Exec(text string, args ...any) (int64, error)

	// Redemption returns a redemption or RedemptionNotFound.
	Redemption(id string) (api.Redemption, error)
	// GiveBack gives the redemption's unit back to the perk's stock.
	GiveBack(redemption api.Redemption) error
	// PurgeIdempotencyKeys deletes at most so many of the keys first used before the instant.
	PurgeIdempotencyKeys(before time.Time, most int) (int64, error)

	// LockSandbox counts what only a live database has, and keeps others from the records that Empty deletes.
	LockSandbox() (LiveRecords, error)
	// Empty deletes what Sandbox.Reset forgets.
	Empty() (Emptied, error)
}

// Dialect is where the databases' SQL differs in statements that are otherwise the same.
type Dialect struct {
	// Locks are statements, or the ends of a SELECT that locks its row. They are "" where there is one writer.
	LockClient, LockProperty, LockSigningKeys, LockNewProperties string

	OnCommitDrop                   string // ends the definition of a temporary table
	Stock                          string // joins perk_stock AS s to perks AS p
	RedemptionColumns, Redemptions string // what ScanRedemption reads, and what follows FROM: redemptions AS r
	// RedemptionPage reads RedemptionColumns of what user $1 has, $2 of them after $3.
	RedemptionPage func(sort []api.SortKey) (string, error)

	Made, Kept              AuditSource
	AuditID                 string // column of audit that numbers its rows
	AuditOrder, AuditLatest string // of what Made and Kept select together: oldest and newest first
}

// Database is what a driver gives to Operations.
type Database struct {
	*Dialect
	// Write runs work in a transaction, once or more often, and returns when it is durable.
	Write func(ctx context.Context, doing string, work func(Tx) error) error
	// Latest reads what was committed last.
	Latest func(ctx context.Context) Querier
	// Snapshot gives work a view of one moment, in which statements are planned for their arguments.
	Snapshot func(ctx context.Context, work func(Querier) error) error
	// AuditNews returns how far the audit log goes now, and conditions for what has come since the position.
	AuditNews func(q Querier, since AuditPosition) (now AuditPosition, made, kept AuditNews, err error)
	// Import stages rows and merges them in one transaction.
	Import func(ctx context.Context, i Import) (Imported, error)
	// Restage replaces staged records by those that write puts.
	Restage func(tx Tx, columns []Column, write func(put func(place int64, values []any) error) error) error
	// MergePerks brings staged perks into the database.
	MergePerks func(tx Tx, by Actor, at time.Time) (created, changed int64, err error)
	// PerkColumns and PerkValues are what the driver stages of a perk beyond the usual.
	PerkColumns []Column
	PerkValues  func(PerkRecord) []any
	// Retry tells whether a read that failed so may succeed now.
	Retry func(error) bool
	// Fault is Fault with what the driver knows of the error.
	Fault func(doing string, err error) error
}

// Each streams a query's rows, and its error at the end if there is one.
func Each[T any](q Querier, scan func(Scanner) (T, error), text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		rows, err := q.Query(text, args...)
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

// All returns a query's rows, never nil.
func All[T any](q Querier, scan func(Scanner) (T, error), text string, args ...any) ([]T, error) {
	list := []T{}
	for record, err := range Each(q, scan, text, args...) {
		if err != nil {
			return nil, err
		}
		list = append(list, record)
	}
	return list, nil
}

// ErrNoRow means that a query found nothing.
var ErrNoRow = errors.New("the query found no row")

// One returns a query's first row, or ErrNoRow.
func One[T any](q Querier, scan func(Scanner) (T, error), text string, args ...any) (none T, err error) {
	for record, err := range Each(q, scan, text, args...) {
		return record, err
	}
	return none, ErrNoRow
}

// Found is One for rows that need not be there: instead of ErrNoRow the error is missing. It is so without a query when a
// text is asked for that is foreign.
func Found[T any](missing error, q Querier, scan func(Scanner) (T, error), text string, args ...any) (T, error) {
	if slices.ContainsFunc(args, IsForeign) {
		var none T
		return none, missing
	}
	record, err := One(q, scan, text, args...)
	if errors.Is(err, ErrNoRow) {
		err = missing
	}
	return record, err
}

// IsForeign holds for a text that not every database can hold, so that nothing has it: it has a NUL or is not UTF-8.
func IsForeign(arg any) bool {
	text, ok := arg.(string)
	return ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0))
}

// ScanValue reads a row of one column.
func ScanValue[T any](r Scanner) (value T, err error) { return value, r.Scan(&value) }

// ScanAfter is a row whose first columns are scanned elsewhere, so that the scan of the other columns can be shared.
func ScanAfter(r Scanner, first ...any) Scanner {
	return scanner(func(into ...any) error { return r.Scan(append(first, into...)...) })
}

type scanner func(into ...any) error

func (s scanner) Scan(into ...any) error { return s(into...) }

// Retried does what reads, once more if it fails and the driver says so.
func Retried[T any](ctx context.Context, db Database, doing string, read func() (T, error)) (T, error) {
	result, err := read()
	if err != nil && db.Retry(err) && ctx.Err() == nil {
		result, err = read()
	}
	return result, db.Fault(doing, err)
}

// Read is Retried with a view of what was committed last, for a single query.
func Read[T any](ctx context.Context, db Database, doing string, work func(Querier) (T, error)) (T, error) {
	return Retried(ctx, db, doing, func() (T, error) { return work(db.Latest(ctx)) })
}

// stream gives a query's records one by one, as of one moment. The query is made once more if it gave none and the driver says so.
func stream[T any](ctx context.Context, db Database, doing string, scan func(Scanner) (T, error), text string, args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		records := Each(db.Latest(ctx), scan, text, args...)
		begun, err := passOn(records, yield)
		if err != nil && db.Retry(err) && !begun && ctx.Err() == nil {
			_, err = passOn(records, yield)
		}
		if err != nil {
			var none T
			yield(none, db.Fault(doing, err))
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

// Step is one statement of a transaction.
type Step struct {
	Text  string
	Args  []any
	Count *int64 // gets how many rows the statement changed, unless it is nil
}

// Run executes the steps up to the first that fails.
func Run(exec func(text string, args ...any) (int64, error), steps ...Step) error {
	for _, step := range steps {
		n, err := exec(step.Text, step.Args...)
		if err != nil {
			return err
		}
		if step.Count != nil {
			*step.Count = n
		}
	}
	return nil
}

// Migration is one step of a database's schema.
type Migration struct {
	Version   int // from 1, without gaps
	Name      string
	AppliedAt time.Time // zero while it is pending
	Script    string
}

// Migrations returns those in the folder "migrations" of a driver, all as pending. A file's name starts with its version.
func Migrations(files fs.FS) (migrations []Migration) {
	names, err := fs.Glob(files, "migrations/*.sql")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	for i, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		name = strings.TrimSuffix(strings.TrimPrefix(name, "migrations/"), ".sql")
		migrations = append(migrations, Migration{Version: i + 1, Name: name, Script: string(text)})
	}
	return migrations
}

// Applied returns the known migrations with the times of those that a database has; exists is a query that tells whether it has any. It
// refuses a database that has others too: its schema is not one that this program knows.
func Applied(q Querier, known []Migration, exists string) ([]Migration, error) {
	begun, err := One(q, ScanValue[bool], exists)
	if err != nil || !begun {
		return known, err
	}
	applied := Each(q, func(r Scanner) (m Migration, err error) {
		return m, r.Scan(&m.Version, &m.AppliedAt)
	}, `SELECT version, applied_at FROM migrations ORDER BY version`)
	for m, err := range applied {
		if err != nil {
			return nil, err
		}
		if m.Version > len(known) {
			return nil, fmt.Errorf("it is at version %d, and this program knows versions up to %d: use a newer perksd", m.Version, len(known))
		}
		known[m.Version-1].AppliedAt = m.AppliedAt
	}
	return known, nil
}

// Pending returns the migrations that are.
func Pending(migrations []Migration) []Migration {
	return slices.DeleteFunc(slices.Clone(migrations), func(m Migration) bool { return !m.AppliedAt.IsZero() })
}
