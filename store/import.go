package store

import (
	"cmp"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"
)

// Import says for the audit log what records are brought in, by whom and when.
type Import struct {
	Action, Subject string
	By              Actor
	At              time.Time
}

// Imported is how many records an import took, each id once, and what became of them. The audit log shows it too.
type Imported struct {
	Count     int64 `json:"count"`
	Created   int64 `json:"created"`
	Changed   int64 `json:"changed"`
	Unchanged int64 `json:"unchanged"` // there already, and as the file says
}

// Fields is a set of the fields of one kind of record, a bit for each in the order of its JSON.
type Fields uint32

func (f Fields) has(place int) bool { return f&(1<<place) != 0 }

// Row is where in a file a record was read, and what the file does not say about it. The zero Row is that of a whole record.
type Row struct {
	Line   int    // 0 without a file
	Absent Fields // a record that is known keeps them; a new one has them as the record says
}

// Kind is a kind of record of which an import can bring some fields alone.
type Kind struct {
	name  string
	names []string
	needs Fields
	index [][]int // of each field in the record
}

// The kinds whose records need not be whole.
var (
	PerkKind     = kindOf[PerkRecord]("perk", "title", "description", "city")
	PropertyKind = kindOf[PropertyRecord]("property", "title", "price_pw", "owner")
)

// OwnerField is what an import may give once for all the properties whose rows do not have it. It is staged with them and
// absent from their rows, so that a known property keeps its owner and a new one has this one.
var OwnerField = PropertyKind.fields("owner")

func kindOf[R any](name string, needs ...string) Kind {
	k := Kind{name: name}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if tag := field.Tag.Get("json"); !field.Anonymous && tag != "-" {
			k.names, k.index = append(k.names, tag), append(k.index, field.Index)
		}
	}
	k.needs = k.fields(needs...)
	return k
}

// fields is the set of the fields with these names.
func (k Kind) fields(names ...string) (set Fields) {
	for i, name := range k.names {
		if slices.Contains(names, name) {
			set |= 1 << i
		}
	}
	return set
}

// Needs is the fields without which there can be no new record.
func (k Kind) Needs() Fields { return k.needs }

// Scanner is one row of what a query found.
type Scanner interface{ Scan(into ...any) error }

type scanner func(into ...any) error

func (s scanner) Scan(into ...any) error { return s(into...) }

// ScanMissing reads the line and the id of a new record and the fields that it lacks, and refuses its row.
func (k Kind) ScanMissing(r Scanner) (RefusedRow, error) {
	var row RefusedRow
	var id string
	var lacks Fields
	err := r.Scan(&row.Line, &id, &lacks)
	var missing []string
	for i, name := range k.names {
		if (lacks & k.needs).has(i) {
			missing = append(missing, name)
		}
	}
	row.Err = fmt.Errorf("there is no %s %q yet, and a new one needs %s", k.name, id, strings.Join(missing, ", "))
	return row, err
}

// Partial is a staged record whose row leaves fields open, and the record that is known of its id.
type Partial[R any] struct {
	Staged, Known R
	Place         int64 // of the staged record
	Row
}

// ScanPartial returns what reads Place, Line and Absent, and then each of the two records by scan.
func ScanPartial[R any](scan func(Scanner) (R, error)) func(Scanner) (Partial[R], error) {
	return func(r Scanner) (p Partial[R], err error) {
		p.Staged, err = scan(scanner(func(staged ...any) (err error) {
			p.Known, err = scan(scanner(func(known ...any) error {
				return r.Scan(slices.Concat([]any{&p.Place, &p.Line, &p.Absent}, staged, known)...)
			}))
			return err
		}))
		return p, err
	}
}

// Overlay is a record that can take fields from the one that is known.
type Overlay[R any] interface {
	Over(known R, absent Fields) (R, error)
}

// MakeWhole gives staged records of known ids the fields that their rows leave open, and hands each to put. It fails with a
// *RowsRefused when rows are missing fields, or break a rule together with what they keep. Which are missing fields is read
// last: the query of partials may lock what it finds, and what was deleted until then is new.
func MakeWhole[R Overlay[R]](partials iter.Seq2[Partial[R], error], missing iter.Seq2[RefusedRow, error], put func(place int64, whole R) error) error {
	var refused RowsRefused
	for p, err := range partials {
		if err != nil {
			return err
		}
		whole, err := p.Staged.Over(p.Known, p.Absent)
		if err != nil {
			refused.add(p.Line, err)
		} else if err := put(p.Place, whole); err != nil {
			return err
		}
	}
	for row, err := range missing {
		if err != nil {
			return err
		}
		refused.add(row.Line, row.Err)
	}
	return refused.err()
}

// Over returns the record with the fields that are absent from its row as they are in the one that is known. The error
// says what the two together break.
func (p PerkRecord) Over(known PerkRecord, absent Fields) (PerkRecord, error) {
	PerkKind.keep(absent, &p, &known)
	return p, p.Validate()
}

// Over is PerkRecord.Over for properties.
func (p PropertyRecord) Over(known PropertyRecord, absent Fields) (PropertyRecord, error) {
	PropertyKind.keep(absent, &p, &known)
	return p, p.Validate()
}

// keep gives a record the fields of another. Both are pointers.
func (k Kind) keep(fields Fields, record, known any) {
	to, from := reflect.ValueOf(record).Elem(), reflect.ValueOf(known).Elem()
	for i, index := range k.index {
		if fields.has(i) {
			to.FieldByIndex(index).Set(from.FieldByIndex(index))
		}
	}
}

// maxRefused is how many rows a RowsRefused names, so that a file of millions of them fits into the memory.
const maxRefused = 100

// RowsRefused is an import that failed because some of its rows do not fit what is in the database. Each of them was valid as
// far as can be told without the database.
type RowsRefused struct {
	Rows  []RefusedRow // the first of them
	Count int64        // of all
}

// RefusedRow is why one row was refused.
type RefusedRow struct {
	Line int
	Err  error
}

func (r *RowsRefused) add(line int, err error) {
	if r.Count++; len(r.Rows) < maxRefused {
		r.Rows = append(r.Rows, RefusedRow{line, err})
	}
}

// err returns r, in the order of the lines, if there are any such rows.
func (r *RowsRefused) err() error {
	if r.Count == 0 {
		return nil
	}
	slices.SortStableFunc(r.Rows, func(a, b RefusedRow) int { return cmp.Compare(a.Line, b.Line) })
	return r
}

func (r *RowsRefused) Error() string {
	first := r.Rows[0]
	return fmt.Sprintf("%d of the rows cannot be imported; the first is line %d: %s", r.Count, first.Line, first.Err)
}
