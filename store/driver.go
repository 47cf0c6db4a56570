package store

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
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

// Querier is what a driver reads through: a transaction that writes, or a view of what is committed.
type Querier interface {
	Query(text string, args ...any) (Rows, error)
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

// Applied returns the known migrations with the times of those that a database has: versions and times of it. It refuses a
// database that has others too: its schema is not one that this program knows.
func Applied(known, applied []Migration) ([]Migration, error) {
	for _, m := range applied {
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
