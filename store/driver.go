package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/perks/api"
)

// Scanner is one row of a result.
type Scanner interface{ Scan(into ...any) error }

// Rows is the result of a query, one row at a time.
type Rows interface {
	Scanner
	Next() bool
	Err() error
	Close() error
}

// Querier runs queries: a transaction that writes, or a view of committed data. Parameters are $1, $2 and so on, or
// @name with a single Named as argument. The driver converts time.Time and []string.
type Querier interface {
	Query(text string, args ...any) (Rows, error)
}

// Named has the arguments of a query by name.
type Named = map[string]any

// Tx is a transaction that writes. Rows that it has read do not change until it ends, unless a method says otherwise.
type Tx interface {
	Querier
	// Exec returns how many rows the statement changed.
	Exec(text string, args ...any) (int64, error)
}

// Dialect has the parts in which shared statements differ between databases.
type Dialect struct {
	// Locks are statements, or the ends of a SELECT that locks its rows, of which SkipLocked leaves out those of
	// others. LockStock locks the stock of redemption $1's perk. They are "" where there is one writer.
	LockClient, LockProperty, LockSigningKeys, LockNewProperties, LockStock, LockCatalog, SkipLocked string
	// ImportsPerks is a query that tells whether an import that locks nothing has been merging perks since $1; "" if
	// each locks the catalog.
	ImportsPerks string

	StockPerk  string // column of perk_stock and of redemptions that refers to the perk
	EmptyIndex string // a statement that empties the table derived from perks

	JSONObject                    string // the function that makes a JSON object of names and values
	JSONValue, JSONTexts          string // a value as the text of JSON; a list as what JSONObject takes
	RowPlace, RowPlaceType        string // column that says where a version of a row is, and its type
	OnCommitDrop                  string // ends the definition of a temporary table
	Stock                         string // joins perk_stock AS s to perks AS p
	Redemptions, PerkOfRedemption string // what follows FROM: redemptions AS r, and its id of the perk
	RedemptionsOfUser             string // Redemptions of user @user alone
	PerkOfEach                    string // joins perks AS p to RedemptionsOfUser, unless these have them
	RedemptionPerk, PerkKey       string // column of redemptions AS r, and the column of perks that it refers to
	IndexedPerk                   string // RedemptionPerk as an index of redemptions has it
	RedemptionDay                 string // of redemptions AS r: the day in UTC, as a number since 1970
	ByCodePoint                   string // follows a text, to compare it by code point
	FilteredTime                  string // redeemed_at of redemptions AS r, as only the indexes for filters have it
	PerkOrder                     Order  // of perks AS p

	// WordsType is the type of a listing's words, HasWords the condition that properties AS w have all of some words,
	// named in args, and PropertiesWithWords follows FROM: those that the index of words has for @words, of which it
	// finds all before the first. AreCommonWords tells at once that more than most listings have all of the words, as
	// they are and not only as beginnings, and meet the others' conditions, unless they are "". Otherwise there may be
	// few, or many that come late.
	WordsType           string
	HasWords            func(words []string, args Named) string
	PropertiesWithWords string
	AreCommonWords      func(q Querier, words []string, others string, args Named, most int64) (bool, error)
	StreamsWords        bool                      // AreCommonWords takes no longer if very many have them
	ListSettings        string                    // a statement at the beginning of a list's snapshot, or ""
	Indexed             func(index string) string // follows a table, which is then read by the index

	AuditRedemptions, AuditEntries AuditSource
	AuditID                        string // column of audit that numbers its rows
	IndexedAuditID                 string // the same as only the index of histories has it
	NextAuditID                    string // a value of it for an entry that is about to be added
	AuditOldestFirst               string // ORDER BY for the union of AuditRedemptions and AuditEntries
	AuditInCommitOrder             string // the same; an entry comes after all that its transaction has seen

	// LockAudit is a lock of Locks. BeginRemoving and EndRemoving enclose the removal of archived entries in a
	// transaction, and AuditGone says before that those from $1 to $2 are gone.
	LockAudit, BeginRemoving, EndRemoving, AuditGone string
}

// Database is what Operations needs of a driver.
type Database struct {
	*Dialect
	// Write runs work in a transaction, once or more often, and returns when it is durable.
	Write func(ctx context.Context, doing string, work func(Tx) error) error
	// Latest returns a view of committed data, for a single query.
	Latest func(ctx context.Context) Querier
	// Snapshot runs work with a consistent view, in which each statement is planned for its arguments.
	Snapshot func(ctx context.Context, work func(Querier) error) error
	// ListPerks returns a page of perks in a snapshot.
	ListPerks func(q Querier, query PerkQuery) (List[api.Perk], error)
	// SnapshotInOrder is Snapshot for work that an index has rows in order for: they are not collected and sorted,
	// however few are expected.
	SnapshotInOrder func(ctx context.Context, work func(Querier) error) error
	// SnapshotWithin is Snapshot in a single process of the database, and fails with ErrTimeLimit if that takes longer.
	SnapshotWithin func(ctx context.Context, within time.Duration, work func(Querier) error) error
	// AuditEnd returns upTo, or the current end if it is "", or a position before it that is about most rows after
	// since; a zero bound is none. It comes before AuditRange, AuditNewest and AuditPlaceOf in a snapshot.
	AuditEnd func(q Querier, since, upTo AuditPosition, most AuditBound) (AuditEnd, error)
	// AuditRange returns conditions for the rows added after a position and not after until.
	AuditRange func(q Querier, since, until AuditPosition) (redemptions, entries AuditFilter, err error)
	// AuditNewest returns the last entries with the actions up to the current position, newest first in the order of
	// commits. It looks at AuditSearch entries at most.
	AuditNewest func(q Querier, now AuditPosition, actions []string, most int) ([]AuditKey, error)
	// AuditPlaceOf returns the place after an entry that AuditNewest returned.
	AuditPlaceOf func(q Querier, now AuditPosition, key AuditKey) (AuditPlace, error)
	// Import stages rows and merges them in one transaction.
	Import func(ctx context.Context, i Import) (Imported, error)
	// ReplaceStaged replaces staged records with those that write passes to put.
	ReplaceStaged func(tx Tx, columns []Column, write func(put func(seq int64, values []any) error) error) error
	// LockSandbox keeps all others from changing what Sandbox.Reset deletes, or looks at, and raises the catalog's
	// version.
	LockSandbox func(Tx) error
	// Unprotected runs work that deletes rows which triggers protect.
	Unprotected func(tx Tx, work func() error) error
	// MergePerks writes the staged perks to the database.
	MergePerks func(tx Tx, by Actor, at time.Time) (created, changed int64, err error)
	// PutPerk writes a new or changed perk with all that is derived from it, but not its stock.
	PutPerk func(tx Tx, perk PerkRecord) error
	// PerkColumns and PerkValues are additional columns of staged perks.
	PerkColumns []Column
	PerkValues  func(PerkRecord) []any
	// Retry tells whether a read that failed with the error may succeed on a second try.
	Retry func(error) bool
	// Fault calls Fault with the driver's classification of the error.
	Fault func(doing string, err error) error
}

// Each streams the rows of a query, then its error, if any.
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

// All returns the rows of a query, never nil.
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

// ErrNoRow means that a query returned no row.
var ErrNoRow = errors.New("the query found no row")

// One returns the first row of a query, or ErrNoRow.
func One[T any](q Querier, scan func(Scanner) (T, error), text string, args ...any) (none T, err error) {
	for record, err := range Each(q, scan, text, args...) {
		return record, err
	}
	return none, ErrNoRow
}

// OneOr is One with the error missing instead of ErrNoRow. It skips the query if an argument is unstorable, because no
// row can match it.
func OneOr[T any](missing error, q Querier, scan func(Scanner) (T, error), text string, args ...any) (T, error) {
	if slices.ContainsFunc(args, IsUnstorable) {
		var none T
		return none, missing
	}
	record, err := One(q, scan, text, args...)
	if errors.Is(err, ErrNoRow) {
		err = missing
	}
	return record, err
}

// IsUnstorable reports whether arg is a text that some database cannot store: one with a NUL or invalid UTF-8.
func IsUnstorable(arg any) bool {
	text, ok := arg.(string)
	return ok && (!utf8.ValidString(text) || strings.ContainsRune(text, 0))
}

// ScanValue scans a row of one column.
func ScanValue[T any](r Scanner) (value T, err error) { return value, r.Scan(&value) }

// ScanAfter returns a row that scans its first columns into first, so that a shared function can scan the rest.
func ScanAfter(r Scanner, first ...any) Scanner {
	return scanner(func(into ...any) error { return r.Scan(append(first, into...)...) })
}

type scanner func(into ...any) error

func (s scanner) Scan(into ...any) error { return s(into...) }

// RetryRead calls read, and calls it again if it fails with an error that the driver says is worth a retry.
func RetryRead[T any](ctx context.Context, db Database, doing string, read func() (T, error)) (T, error) {
	result, err := read()
	if err != nil && db.Retry(err) && ctx.Err() == nil {
		result, err = read()
	}
	return result, db.Fault(doing, err)
}

// Read is RetryRead for a single query.
func Read[T any](ctx context.Context, db Database, doing string, work func(Querier) (T, error)) (T, error) {
	return RetryRead(ctx, db, doing, func() (T, error) { return work(db.Latest(ctx)) })
}

// stream yields the records of one query. It retries like RetryRead, but only before the first record.
func stream[T any](
	ctx context.Context, db Database, doing string, scan func(Scanner) (T, error), text string, args ...any,
) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		records := Each(db.Latest(ctx), scan, text, args...)
		yielded, err := forward(records, yield)
		if err != nil && db.Retry(err) && !yielded && ctx.Err() == nil {
			_, err = forward(records, yield)
		}
		if err != nil {
			var none T
			yield(none, db.Fault(doing, err))
		}
	}
}

// forward yields records up to the first error, which it returns. yielded tells whether there were any.
func forward[T any](records iter.Seq2[T, error], yield func(T, error) bool) (yielded bool, err error) {
	for record, err := range records {
		if err != nil {
			return yielded, err
		}
		yielded = true
		if !yield(record, nil) {
			return yielded, nil
		}
	}
	return yielded, nil
}

// Step is one statement of a transaction.
type Step struct {
	Text  string
	Args  []any
	Count *int64 // receives the number of changed rows, unless nil
}

// Run executes the steps until one fails.
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
	Version   int       // from 1, without gaps
	Name      string    // of its file, see Fits
	AppliedAt time.Time // zero while it is pending
	Script    string
}

// Migrations returns the migrations in a driver's directory "migrations", all as pending. File names sort by version.
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

// Fits returns the version that a program must know to use the database after the migration. The name says so with an
// ending such as .fits16, for a migration that only adds what older programs pass over; otherwise it is the migration's
// own version.
func (m Migration) Fits() int {
	_, ending, _ := strings.Cut(m.Name, ".fits")
	if version, err := strconv.Atoi(ending); err == nil && version > 0 {
		return version
	}
	return m.Version
}

// Applied returns the migrations with AppliedAt as a database has them. The query exists tells whether it has the table
// of migrations. Those of a newer program are added if they fit this one. Otherwise the database is refused, as is one
// whose migrations have other names.
func Applied(q Querier, known []Migration, exists string) ([]Migration, error) {
	hasTable, err := One(q, ScanValue[bool], exists)
	if err != nil || !hasTable {
		return known, err
	}
	applied := Each(q, func(r Scanner) (m Migration, err error) {
		return m, r.Scan(&m.Version, &m.Name, &m.AppliedAt)
	}, `SELECT version, name, applied_at FROM migrations ORDER BY version`)
	known, newest := slices.Clone(known), len(known)
	for m, err := range applied {
		if err != nil {
			return nil, err
		}
		switch {
		case m.Version <= newest && m.Name != known[m.Version-1].Name:
			return nil, fmt.Errorf("its migration %s is not one of this program, which has %s: it was made before the "+
				"first release. Export its records with the perksd that made it, and import them into a new database",
				m.Name, known[m.Version-1].Name)
		case m.Version <= newest:
			known[m.Version-1].AppliedAt = m.AppliedAt
		case m.Fits() <= newest:
			known = append(known, m)
		default:
			return nil, fmt.Errorf("it is at version %d, and this program knows versions up to %d: use a newer perksd",
				m.Version, newest)
		}
	}
	return known, nil
}

// Pending returns those that are not applied.
func Pending(migrations []Migration) []Migration {
	return slices.DeleteFunc(slices.Clone(migrations), func(m Migration) bool { return !m.AppliedAt.IsZero() })
}
