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

// Import is what records are imported, by whom and when.
type Import struct {
	Records string // such as "perks"
	By      Actor
	At      time.Time
}

// Audit adds the entry of the import, unless it brought nothing.
func (i Import) Audit(tx Tx, imported Imported) error {
	if imported.Count == 0 {
		return nil
	}
	return Audit(tx, i.At, i.By, i.Records+".import", i.Records, nil, imported)
}

// Imported counts the records of an import, each id once, by what happened to them. The audit log shows it too.
type Imported struct {
	Count     int64 `json:"count"`
	Created   int64 `json:"created"`
	Changed   int64 `json:"changed"`
	Unchanged int64 `json:"unchanged"` // known, and equal to the row
}

// Fields is a set of the fields of one kind of record, a bit for each in the order of its JSON.
type Fields uint32

func (f Fields) has(place int) bool { return f&(1<<place) != 0 }

// Row is the line of a record in its file, and the fields that the row lacks. The zero Row belongs to a whole record.
type Row struct {
	Line   int    // 0 without a file
	Absent Fields // a known record keeps its own; a new one takes the record's
}

// Kind is a kind of record whose rows may lack fields.
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

// OwnerField may be given once for an import, for all properties whose rows lack it. It is staged with them but absent from
// their rows, so that a known property keeps its owner and a new one gets this one.
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

// Needs returns the fields that a new record must have.
func (k Kind) Needs() Fields { return k.needs }

type scanner func(into ...any) error

func (s scanner) Scan(into ...any) error { return s(into...) }

// ScanMissing reads the line, the id and the lacking fields of a new record, and returns the refusal of its row.
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

// Partial is a staged record whose row lacks fields, and the known record with its id.
type Partial[R any] struct {
	Staged, Known R
	Place         int64 // of the staged record
	Row
}

// ScanPartial returns a function that reads Place, Line and Absent, and then Staged and Known, each with scan.
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

// MakeWhole fills the fields that rows lack from the known records, and passes each whole record to put. It fails with a
// *RowsRefused if a new record lacks a field that it needs, or if a whole one breaks a rule. It reads missing last: partials
// may lock the known records, and a record that was deleted before that is new.
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

// Over returns the record with its absent fields taken from the known one. The error names the rules that the result breaks.
func (p PerkRecord) Over(known PerkRecord, absent Fields) (PerkRecord, error) {
	PerkKind.keep(absent, &p, &known)
	return p, p.Validate()
}

// Over is PerkRecord.Over for properties.
func (p PropertyRecord) Over(known PropertyRecord, absent Fields) (PropertyRecord, error) {
	PropertyKind.keep(absent, &p, &known)
	return p, p.Validate()
}

// keep copies fields from known to record. Both are pointers.
func (k Kind) keep(fields Fields, record, known any) {
	to, from := reflect.ValueOf(record).Elem(), reflect.ValueOf(known).Elem()
	for i, index := range k.index {
		if fields.has(i) {
			to.FieldByIndex(index).Set(from.FieldByIndex(index))
		}
	}
}

// NoStranger returns ClientNotFound for the first owner that a query finds, which are those of properties and not clients.
func NoStranger(q Querier, text string) error {
	for owner, err := range Each(q, ScanValue[string], text) {
		return cmp.Or(err, ClientNotFound(owner))
	}
	return nil
}

// maxRefused limits the rows that a RowsRefused names, so that a file with millions of them does not exhaust the memory.
const maxRefused = 100

// RowsRefused is the error of an import whose rows are valid by themselves, but not together with what is in the database.
type RowsRefused struct {
	Rows  []RefusedRow // at most maxRefused of them
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
