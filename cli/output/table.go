package output

import (
	"bufio"
	"math"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

const gap = "  "

// sampled is how many rows decide the widths of a table's columns. The rows behind them are cut to fit, so that a list of
// any length is written in constant memory.
const sampled = 200

// tableEncoder writes aligned columns with a heading on a terminal, and off one cells with tabs between and no heading,
// for programs.
type tableEncoder struct {
	out     *bufio.Writer
	streams *command.Streams
	columns []string        // nil until the first record where they are not known before
	least   []string        // the columns that a narrow screen loses first
	times   map[string]bool // the fields that are moments
	now     time.Time       // from which people count

	waiting [][]string
	fit     *fit // nil until the widths are chosen
}

// one writes a field to a line, and on a terminal a long text to as many as it takes.
func (e *tableEncoder) one(r record) error {
	var lines []string
	if e.streams.OutTTY {
		lines = e.details(r)
	} else {
		for _, field := range r.fields() {
			lines = append(lines, display.Line(field.name)+"\t"+display.Line(textOf(field.value)))
		}
	}
	for _, line := range lines {
		if _, err := e.out.WriteString(strings.TrimRight(line, " ") + "\n"); err != nil {
			return err
		}
	}
	return nil
}

func (e *tableEncoder) item(r record) error {
	fields := r.fields()
	if e.columns == nil {
		e.columns = fields.names()
	}
	cells := make([]string, len(e.columns))
	for i, name := range e.columns {
		cells[i] = e.cell(name, textOf(fields.get(name)))
	}
	switch {
	case !e.streams.OutTTY:
		return e.tabbed(cells)
	case e.fit != nil:
		return e.row(cells)
	}
	e.waiting = append(e.waiting, cells)
	if len(e.waiting) < sampled {
		return nil
	}
	return e.begin()
}

// cell is what a field shows in a list. A program gets the moment itself.
func (e *tableEncoder) cell(name, text string) string {
	if moment, err := time.Parse(time.RFC3339, text); e.streams.OutTTY && e.times[name] && err == nil {
		if moment.Sub(e.now).Abs() < 30*24*time.Hour { // a distance is easier to grasp than a date
			return display.Distance(moment, e.now)
		}
		return moment.Local().Format(time.DateOnly)
	}
	return display.Line(text)
}

func (e *tableEncoder) end() error {
	if e.fit == nil && len(e.waiting) > 0 {
		if err := e.begin(); err != nil {
			return err
		}
	}
	if e.fit != nil && len(e.fit.dropped) > 0 {
		e.streams.Note("The screen is too narrow for %s.", strings.Join(e.fit.dropped, ", "))
	}
	return nil
}

func (e *tableEncoder) stop() error { return e.end() }

// begin chooses the widths and writes the heading and the rows that waited for it.
func (e *tableEncoder) begin() error {
	heading := make([]string, len(e.columns))
	for i, name := range e.columns {
		heading[i] = strings.ToUpper(display.Line(name))
	}
	e.fit = newFit(e.columns, e.least, append([][]string{heading}, e.waiting...), e.streams.Width)
	cells := e.fit.pad(heading)
	for i := range cells {
		cells[i] = e.streams.Heading(cells[i])
	}
	if err := e.aligned(cells); err != nil {
		return err
	}
	for _, cells := range e.waiting {
		if err := e.row(cells); err != nil {
			return err
		}
	}
	e.waiting = nil
	return nil
}

func (e *tableEncoder) row(cells []string) error { return e.aligned(e.fit.pad(cells)) }

func (e *tableEncoder) tabbed(cells []string) error {
	_, err := e.out.WriteString(strings.Join(cells, "\t") + "\n")
	return err
}

func (e *tableEncoder) aligned(cells []string) error {
	_, err := e.out.WriteString(strings.TrimRight(strings.Join(cells, gap), " ") + "\n")
	return err
}

// enough is how many columns of the screen let a cell still tell something: a date, or the beginning of a title. A table
// rather loses whole columns than has narrower ones.
const enough = 10

// fit is how a table is laid out on a screen.
type fit struct {
	kept    []int // the columns that are shown
	widths  []int // of those
	dropped []string
}

// newFit gives each column the width of its widest cell. Where the screen is too narrow for that, columns are dropped until
// each of the others has enough, and the widest of those are narrowed. The first column names the row: it stays, and stays
// whole as long as the others have enough. A screen of 0 has no edge.
func newFit(columns, least []string, rows [][]string, screen int) *fit {
	f := &fit{}
	for i := range columns {
		width := 0
		for _, cells := range rows {
			width = max(width, display.Width(cells[i]))
		}
		f.kept, f.widths = append(f.kept, i), append(f.widths, width)
	}
	if screen <= 0 || len(columns) == 0 {
		return f
	}
	for _, name := range dropOrder(columns, least) {
		if total(f.narrowest()) <= screen {
			break
		}
		f.drop(slices.Index(columns, name), name)
	}
	f.narrow(screen)
	return f
}

// dropOrder is the columns in the order in which they go: first the least ones, then from the last one on. The first column
// never goes.
func dropOrder(columns, least []string) []string {
	var order []string
	for _, name := range least {
		if slices.Contains(columns[1:], name) {
			order = append(order, name)
		}
	}
	for _, name := range slices.Backward(columns[1:]) {
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
	}
	return order
}

func (f *fit) drop(column int, name string) {
	at := slices.Index(f.kept, column)
	f.kept = slices.Delete(f.kept, at, at+1)
	f.widths = slices.Delete(f.widths, at, at+1)
	f.dropped = append(f.dropped, display.Line(name))
}

// narrowest is the widths below which columns are dropped instead.
func (f *fit) narrowest() []int {
	least := make([]int, len(f.widths))
	for i, width := range f.widths {
		least[i] = min(width, enough)
	}
	return least
}

// narrow takes from the widest columns, and from the first only what the others cannot give.
func (f *fit) narrow(screen int) {
	others := f.widths[1:]
	for total(f.widths) > screen && len(others) > 0 && slices.Max(others) > enough {
		others[slices.Index(others, slices.Max(others))]--
	}
	if over := total(f.widths) - screen; over > 0 {
		f.widths[0] = max(0, f.widths[0]-over)
	}
}

// pad cuts or fills the cells of a row to their columns. The last one is not filled.
func (f *fit) pad(cells []string) []string {
	padded := make([]string, len(f.kept))
	for i, column := range f.kept {
		padded[i] = cut(cells[column], f.widths[i])
		if i < len(f.kept)-1 {
			padded[i] = display.Pad(padded[i], f.widths[i])
		}
	}
	return padded
}

// cut shortens a text to so many columns. One column shows more by the first character than by an ellipsis.
func cut(text string, columns int) string {
	if columns == 1 {
		return ansi.Truncate(text, columns, "")
	}
	return display.Cut(text, columns)
}

func total(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}

// legible is how wide a text must be to be read beside its name; on a narrower screen it goes below.
const legible = 20

// details writes one record for people: names on the left, and texts that keep their lines and are wrapped at the right
// edge of the screen.
func (e *tableEncoder) details(r record) []string {
	fields := r.fields()
	names := 0
	for _, field := range fields {
		names = max(names, display.Width(display.Line(field.name)))
	}
	screen := e.streams.Width
	beside := screen <= 0 || screen >= names+len(gap)+legible
	indent := strings.Repeat(" ", names) + gap
	if !beside {
		indent = strings.Repeat(" ", min(len(gap), screen/8))
	}
	room := screen - len(indent)
	if screen <= 0 {
		room = math.MaxInt
	}
	var lines []string
	for _, field := range fields {
		name := display.Line(field.name)
		texts := display.Wrap(e.detail(field), room)
		if beside {
			lines = append(lines, e.streams.Heading(display.Pad(name, names))+gap+texts[0])
			texts = texts[1:]
		} else {
			lines = append(lines, e.streams.Heading(cut(name, screen)))
		}
		for _, text := range texts {
			lines = append(lines, indent+text)
		}
	}
	return lines
}

func (e *tableEncoder) detail(f field) string {
	text := textOf(f.value)
	if moment, err := time.Parse(time.RFC3339, text); e.times[f.name] && err == nil {
		return moment.Local().Format("2006-01-02 15:04 MST") + ", " + display.Distance(moment, e.now)
	}
	return strings.TrimRight(display.Text(text), "\n")
}

// moments are the fields of a type that hold a time.
type moments struct {
	index []int
	names map[string]bool
}

func momentsOf(t reflect.Type) moments {
	m := moments{names: map[string]bool{}}
	if t == nil || t.Kind() != reflect.Struct {
		return m
	}
	for i := range t.NumField() {
		field := t.Field(i)
		if field.Type == reflect.TypeFor[time.Time]() || field.Type == reflect.TypeFor[*time.Time]() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			m.index = append(m.index, i)
			m.names[name] = true
		}
	}
	return m
}

// toUTC turns the moments of a struct to UTC, which is how programs get them whatever the server wrote. What pointers point
// to is left as it is.
func (m moments) toUTC(value reflect.Value) {
	for _, i := range m.index {
		switch field := value.Field(i); moment := field.Interface().(type) {
		case time.Time:
			field.Set(reflect.ValueOf(moment.UTC()))
		case *time.Time:
			if moment != nil {
				utc := moment.UTC()
				field.Set(reflect.ValueOf(&utc))
			}
		}
	}
}
