package rows

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// Field is a field of a record, with its value as JSON.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Fields are the fields of a record in their order.
type Fields []Field

// Encode writes a record as JSON on one line, with the characters escaped that would control a terminal.
func Encode(record any) (json.RawMessage, error) {
	text, err := api.EncodeJSON(record)
	return display.JSON(text), err
}

// IsObject tells whether JSON that Encode wrote is an object.
func IsObject(record json.RawMessage) bool { return bytes.HasPrefix(record, []byte("{")) }

// FieldsOf returns the members of an object that Encode wrote, in their order; anything else is one field named
// "value".
func FieldsOf(record json.RawMessage) Fields {
	if !IsObject(record) {
		return Fields{{"value", record}}
	}
	list := Fields{}
	for rest := record[1:]; len(rest) > 1; {
		end := endOfValue(rest)
		var name string
		_ = json.Unmarshal(rest[:end], &name) // Encode wrote it
		rest = rest[end+1:]
		end = endOfValue(rest)
		list = append(list, Field{name, rest[:end]})
		rest = rest[end+1:]
	}
	return list
}

// endOfValue returns the index of the mark after the first value of JSON without spaces. Reading a json.Decoder's
// tokens instead would take a fifteenth of the time of perk list.
func endOfValue(text []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch mark := text[i]; {
		case quoted && mark == '\\':
			i++
		case mark == '"':
			quoted = !quoted
		case quoted:
		case depth == 0 && (mark == ',' || mark == ':' || mark == '}'):
			return i
		case mark == '{' || mark == '[':
			depth++
		case mark == '}' || mark == ']':
			depth--
		}
	}
	return len(text)
}

// Get returns the value of a field; null if there is none of that name.
func (f Fields) Get(name string) json.RawMessage {
	if i := slices.IndexFunc(f, func(f Field) bool { return f.Name == name }); i >= 0 {
		return f[i].Value
	}
	return json.RawMessage("null")
}

// Names returns the names of the fields.
func (f Fields) Names() []string {
	names := make([]string, len(f))
	for i, field := range f {
		names[i] = field.Name
	}
	return names
}

// TextOf returns a value for people: strings without quotes, nothing for null, commas between the strings of a list.
func TextOf(value json.RawMessage) string {
	var text string
	var list []string
	switch {
	case string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	case json.Unmarshal(value, &list) == nil:
		return strings.Join(list, ",")
	}
	return string(value)
}

// cellOf is the text of a value. A list with commas in its strings is JSON, which our readers accept too.
func cellOf(value json.RawMessage) string {
	var list []string
	if json.Unmarshal(value, &list) == nil && len(list) > 0 &&
		!slices.Equal(strings.Split(strings.Join(list, ","), ","), list) {
		return string(value)
	}
	return TextOf(value)
}

// Times is the fields of a struct that are times.
type Times struct {
	Names map[string]bool
	index []int
}

// TimesOf returns the times of a type; none if it is not a struct.
func TimesOf(t reflect.Type) Times {
	m := Times{Names: map[string]bool{}}
	if t.Kind() != reflect.Struct {
		return m
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type == reflect.TypeFor[time.Time]() || field.Type == reflect.TypeFor[*time.Time]() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			m.index = append(m.index, i)
			m.Names[name] = true
		}
	}
	return m
}

// ToUTC converts the times of a record, given by its pointer, to UTC, for programs. It does not change what pointers in
// it point to.
func (m Times) ToUTC(record any) {
	if len(m.index) == 0 {
		return
	}
	value := reflect.ValueOf(record).Elem()
	for _, i := range m.index {
		switch field := value.Field(i); at := field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(at.UTC()))
		case *time.Time:
			if at != nil {
				utc := at.UTC()
				field.Set(reflect.ValueOf(&utc))
			}
		}
	}
}

// Encoder writes a list of records that Encode wrote. End says whether the list is complete: a JSON array is not closed
// otherwise, so that no program treats a part as the whole.
type Encoder interface {
	Write(record json.RawMessage) error
	End(complete bool) error
}

// NewEncoder returns an Encoder of CSV, JSON or, of any other format, JSON lines. CSV has a header with the columns, or
// with the fields of the first record if they are nil; its cells are safe to open in a spreadsheet unless they are raw.
func NewEncoder(out io.Writer, format Format, columns []string, raw bool) Encoder {
	switch format {
	case CSV:
		return &csvEncoder{out: NewCellWriter(out, raw), columns: columns}
	case JSON:
		return &jsonEncoder{out: out}
	}
	return lineEncoder{out}
}

// jsonEncoder writes an array with an indented object at a time.
type jsonEncoder struct {
	out   io.Writer
	begun bool
}

// Indent is what members of a JSON array are indented by.
const Indent = "  "

func (e *jsonEncoder) Write(record json.RawMessage) error {
	opening := "[\n" + Indent
	if e.begun {
		opening = ",\n" + Indent
	}
	e.begun = true
	text, err := display.IndentJSON(record, Indent)
	if err != nil {
		return err
	}
	_, err = e.out.Write(append([]byte(opening), text...))
	return err
}

func (e *jsonEncoder) End(complete bool) error {
	if !complete {
		return nil
	}
	closing := "\n]\n"
	if !e.begun {
		closing = "[]\n"
	}
	_, err := io.WriteString(e.out, closing)
	return err
}

type lineEncoder struct{ out io.Writer }

func (e lineEncoder) Write(record json.RawMessage) error {
	_, err := e.out.Write(append(record, '\n'))
	return err
}

func (e lineEncoder) End(bool) error { return nil }

// csvEncoder writes RFC 4180 with a header.
type csvEncoder struct {
	out     *CellWriter
	columns []string // nil until the first record where they are not known before
	begun   bool
}

func (e *csvEncoder) Write(record json.RawMessage) error {
	fields := FieldsOf(record)
	if e.columns == nil {
		e.columns = fields.Names()
	}
	if err := e.header(); err != nil {
		return err
	}
	cells := make([]string, len(e.columns))
	for i, name := range e.columns {
		cells[i] = cellOf(fields.Get(name))
	}
	return e.out.Write(cells)
}

// header writes the names as cells, because they can come from a server too.
func (e *csvEncoder) header() error {
	if e.begun || len(e.columns) == 0 {
		return nil
	}
	e.begun = true
	return e.out.Write(e.columns)
}

func (e *csvEncoder) End(complete bool) error {
	if complete {
		if err := e.header(); err != nil {
			return err
		}
	}
	return e.out.Flush()
}

// ListWriter writes records of one type, each with all its fields.
type ListWriter[T any] struct {
	Encoder
	times Times
}

// NewListWriter returns a ListWriter of CSV that is safe in a spreadsheet, of JSON, or of JSON lines.
func NewListWriter[T any](out io.Writer, format Format) (*ListWriter[T], error) {
	sample, err := Encode(*new(T))
	if err != nil {
		return nil, err
	}
	encoder := NewEncoder(out, format, FieldsOf(sample).Names(), false)
	return &ListWriter[T]{encoder, TimesOf(reflect.TypeFor[T]())}, nil
}

// Write writes one record.
func (w *ListWriter[T]) Write(record T) error {
	w.times.ToUTC(&record)
	text, err := Encode(record)
	if err != nil {
		return err
	}
	return w.Encoder.Write(text)
}
