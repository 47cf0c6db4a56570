package api

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
)

// FieldKind is the kind of value of a field, and so how forms, tables and sheets write it.
type FieldKind int

// The kinds of fields.
const (
	LineField FieldKind = iota // a text of one line
	TextField                  // a text of several lines
	ListField
	PriceField
	NumberField
	TimeField
)

// Field is a field of a record that can be changed.
type Field struct {
	Name  string // on the wire
	Kind  FieldKind
	Label string // in front of the value
	Help  string // says to what a flag sets it
	Hint  string // an example for a form
	// MaxLength is that of a text, in characters; 0 is unlimited.
	MaxLength int
	Nullable  bool
}

// IsMultiline tells whether the field is edited as several lines.
func (f Field) IsMultiline() bool { return f.Kind == TextField || f.Kind == ListField }

// recordField is a field of records R that patches P change.
type recordField[R, P any] struct {
	Field
	access[R, P]
}

func text[R, P any](
	kind FieldKind, name, label, help, hint string, shortest, longest int, of func(*R) *string,
	in func(*P) *Optional[string],
) recordField[R, P] {
	rule := func(text string) string { return textRule(text, shortest, longest) }
	field := Field{Kind: kind, Name: name, Label: label, Help: help, Hint: hint, MaxLength: longest}
	return recordField[R, P]{field, accessTo[R, P, string]{of, in, Value.Text, must(rule)}}
}

func number[R, P, T any](
	name, label, help, hint string, parse func(Value, *T) string, rule func(FieldErrors, string, T),
	of func(*R) *T, in func(*P) *Optional[T],
) recordField[R, P] {
	return other(NumberField, name, label, help, hint, parse, rule, of, in)
}

func other[R, P, T any](
	kind FieldKind, name, label, help, hint string, parse func(Value, *T) string, rule func(FieldErrors, string, T),
	of func(*R) *T, in func(*P) *Optional[T],
) recordField[R, P] {
	isNullable := reflect.TypeFor[T]().Kind() == reflect.Pointer
	field := Field{Kind: kind, Name: name, Label: label, Help: help, Hint: hint, Nullable: isNullable}
	return recordField[R, P]{field, accessTo[R, P, T]{of, in, parse, rule}}
}

// recordFields is the table of a kind of record: all that can be changed of it, in its order.
type recordFields[R, P any] []recordField[R, P]

func (t recordFields[R, P]) fields() []Field {
	fields := make([]Field, len(t))
	for i, field := range t {
		fields[i] = field.Field
	}
	return fields
}

func (t recordFields[R, P]) names() []string {
	var names []string
	for _, field := range t {
		names = append(names, field.Name)
	}
	return names
}

// named returns a field by its name on the wire; nil if there is none.
func (t recordFields[R, P]) named(name string) *recordField[R, P] {
	for i := range t {
		if t[i].Name == name {
			return &t[i]
		}
	}
	return nil
}

// parse reads a patch of a noun, such as "a property", and checks the rules of its fields. own are fields that nobody
// can change.
func (t recordFields[R, P]) parse(members []Member, noun string, own ...string) (patch P, err error) {
	var probe R
	fields := FieldErrors{}
	for _, m := range members {
		field := t.named(m.Name)
		switch {
		case field != nil:
			fields.check(m.Name, field.read(m.Value, &patch))
		case slices.Contains(own, m.Name):
			fields.Add(m.Name, "cannot be changed")
		default:
			fields.Add(m.Name, "is not a field of %s; the fields are %s", noun, strings.Join(t.names(), ", "))
		}
		fields.checkRepeated(m)
	}
	for _, field := range t {
		if field.isIn(&patch) {
			field.apply(field.Name, &patch, &probe)
			field.check(fields, field.Name, &probe)
		}
	}
	return patch, fields.Err()
}

// check adds what is wrong with the fields of a record.
func (t recordFields[R, P]) check(fields FieldErrors, record *R) {
	for _, field := range t {
		field.check(fields, field.Name, record)
	}
}

// in returns the names of the fields in a patch.
func (t recordFields[R, P]) in(patch *P) []string {
	var names []string
	for _, field := range t {
		if field.isIn(patch) {
			names = append(names, field.Name)
		}
	}
	return names
}

// only returns the patch reduced to the named fields.
func (t recordFields[R, P]) only(patch *P, names []string) (only P) {
	for _, field := range t {
		if slices.Contains(names, field.Name) {
			field.carry(patch, &only)
		}
	}
	return only
}

func (t recordFields[R, P]) apply(patch *P, to *R) {
	for _, field := range t {
		field.apply(field.Name, patch, to)
	}
}

func (f *recordField[R, P]) isEqual(a, b *R) bool { return slices.Equal(f.texts(a), f.texts(b)) }

// changes returns the patch that changes before to after.
func (t recordFields[R, P]) changes(before, after *R, isSame func(f *recordField[R, P], a, b *R) bool) (changes P) {
	for i := range t {
		if field := &t[i]; !isSame(field, before, after) {
			field.take(field.Name, after, &changes)
		}
	}
	return changes
}

// access reads and writes a field in records and patches.
type access[R, P any] interface {
	read(v Value, into *P) (problem string)
	isIn(p *P) bool
	carry(from, to *P)
	take(name string, from *R, into *P)
	apply(name string, from *P, to *R)
	check(fields FieldErrors, name string, p *R)
	texts(p *R) []string
	lacksNumber(p *R) bool
	double(p *R) *float64
	isWhole() bool
}

// accessTo is the access to a field of type T.
type accessTo[R, P, T any] struct {
	of    func(*R) *T
	in    func(*P) *Optional[T]
	parse func(Value, *T) string
	rule  func(fields FieldErrors, name string, value T) // nil where every T is right
}

func (a accessTo[R, P, T]) read(v Value, into *P) string {
	var value T
	problem := a.parse(v, &value)
	switch {
	case problem == "":
		*a.in(into) = Some(value)
	case v.IsNull():
		return "must not be null"
	}
	return problem
}

func (a accessTo[R, P, T]) isIn(p *P) bool { return a.in(p).Set }

func (a accessTo[R, P, T]) carry(from, to *P) { *a.in(to) = *a.in(from) }

// oddRecord is a record with what a service wrote instead of values.
type oddRecord interface {
	oddOf(name string) (odd json.RawMessage, isOdd bool)
	setOdd(name, odd string)
}

func (a accessTo[R, P, T]) take(name string, from *R, into *P) {
	value := *a.of(from)
	if list, isList := any(&value).(*[]string); isList {
		*list = append([]string{}, *list...) // never nil: a patch with null for images would be refused
	}
	taken := Some(value)
	if record, canBeOdd := any(from).(oddRecord); canBeOdd {
		if odd, isOdd := record.oddOf(name); isOdd {
			taken.odd = cmp.Or(string(odd), "null")
		}
	}
	*a.in(into) = taken
}

func (a accessTo[R, P, T]) apply(name string, from *P, to *R) {
	if value := *a.in(from); value.Set {
		*a.of(to) = value.Value
		if record, canBeOdd := any(to).(oddRecord); canBeOdd {
			record.setOdd(name, value.odd)
		}
	}
}

func (a accessTo[R, P, T]) check(fields FieldErrors, name string, p *R) {
	if a.rule != nil {
		a.rule(fields, name, *a.of(p))
	}
}

func (a accessTo[R, P, T]) texts(p *R) []string {
	var number any
	switch value := any(*a.of(p)).(type) {
	case string:
		return []string{value}
	case *string:
		if value == nil {
			return nil
		}
		return []string{*value}
	case Approval:
		return []string{string(value)}
	case *Hold:
		if value == nil {
			return nil
		}
		return []string{value.String()}
	case []string:
		return value
	case Price:
		return []string{value.String()}
	case *time.Time:
		if value == nil {
			return nil
		}
		return []string{value.UTC().Format(time.RFC3339Nano)}
	case float64:
		number = value + 0 // -0 is 0
	case *float64:
		if value == nil {
			return nil
		}
		number = *value + 0
	case *int64:
		if value == nil {
			return nil
		}
		number = *value
	default:
		number = value
	}
	digits, _ := json.Marshal(number) // an infinite number has no digits, and breaks its field's rule
	return []string{string(digits)}
}

// lacksNumber tells whether the value is 0, so that the number may have been missing.
func (a accessTo[R, P, T]) lacksNumber(p *R) bool {
	switch value := any(a.of(p)).(type) {
	case *Price:
		return value.digits == ""
	case *int:
		return *value == 0
	case *float64:
		return *value == 0
	}
	return false
}

// double returns a number that is held as the nearest double; nil for other fields, and without a value.
func (a accessTo[R, P, T]) double(p *R) *float64 {
	switch value := any(a.of(p)).(type) {
	case *float64:
		return value
	case **float64:
		return *value
	}
	return nil
}

// isWhole tells whether the field takes whole numbers only.
func (a accessTo[R, P, T]) isWhole() bool {
	switch any(*new(T)).(type) {
	case int, *int64:
		return true
	}
	return false
}

// must makes a check of a rule.
func must[T any](rule func(T) string) func(FieldErrors, string, T) {
	return func(fields FieldErrors, name string, value T) { fields.check(name, rule(value)) }
}

func orNull[T any](rule func(T) string) func(FieldErrors, string, *T) {
	return func(fields FieldErrors, name string, value *T) {
		if value != nil {
			fields.check(name, rule(*value))
		}
	}
}
