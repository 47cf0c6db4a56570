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
	view    View            // without columns, they are those of the first record
	times   map[string]bool // the fields that are moments
	now     time.Time       // from which people count

	waiting [][]string
	begun   bool // the widths are chosen
	layout  layout
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
	if e.view.Columns == nil {
		e.view.Columns = fields.names()
	}
	cells := make([]string, len(e.view.Columns))
	for i, name := range e.view.Columns {
		cells[i] = e.cell(name, textOf(fields.get(name)))
	}
	switch {
	case !e.streams.OutTTY:
		_, err := e.out.WriteString(strings.Join(cells, "\t") + "\n")
		return err
	case e.begun:
		return e.aligned(e.layout.pad(cells))
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
	if !e.begun && len(e.waiting) > 0 {
		if err := e.begin(); err != nil {
			return err
		}
	}
	if len(e.layout.dropped) > 0 {
		e.streams.Note("The screen is too narrow for %s.", strings.Join(e.layout.dropped, ", "))
	}
	return nil
}

func (e *tableEncoder) stop() error { return e.end() }

// begin chooses the widths and writes the heading and the rows that waited for it.
func (e *tableEncoder) begin() error {
	heading := make([]string, len(e.view.Columns))
	for i, name := range e.view.Columns {
		heading[i] = strings.ToUpper(display.Line(name))
	}
	e.begun, e.layout = true, newLayout(e.view, append([][]string{heading}, e.waiting...), e.streams.Width)
	cells := e.layout.pad(heading)
	for i := range cells {
		cells[i] = e.streams.Heading(cells[i])
	}
	if err := e.aligned(cells); err != nil {
		return err
	}
	for _, cells := range e.waiting {
		if err := e.aligned(e.layout.pad(cells)); err != nil {
			return err
		}
	}
	e.waiting = nil
	return nil
}

func (e *tableEncoder) aligned(cells []string) error {
	_, err := e.out.WriteString(strings.TrimRight(strings.Join(cells, gap), " ") + "\n")
	return err
}

// enough is how many columns of the screen let a cell still tell something: a date, or the beginning of a title. A table
// rather loses whole columns than has narrower ones.
const enough = 10

type layout struct {
	columns []column
	dropped []string
}

type column struct {
	at    int // among the cells of a row
	width int
}

// newLayout gives each column the width of its widest cell. Where the screen is too narrow for that, columns are dropped until
// each of the others has enough: first the least ones, then from the last one on. Then the widest are narrowed. The first
// column names the row: it stays, and stays whole as long as the others have enough. A screen of 0 has no edge.
func newLayout(view View, rows [][]string, screen int) layout {
	var l layout
	for at := range view.Columns {
		c := column{at: at}
		for _, cells := range rows {
			c.width = max(c.width, display.Width(cells[at]))
		}
		l.columns = append(l.columns, c)
	}
	if screen <= 0 || len(l.columns) == 0 {
		return l
	}
	last := slices.Clone(view.Columns[1:])
	slices.Reverse(last)
	for _, name := range slices.Concat(view.Least, last) {
		if l.width(enough) <= screen {
			break
		}
		at := slices.Index(view.Columns, name)
		if i := slices.IndexFunc(l.columns, func(c column) bool { return c.at == at }); at > 0 && i > 0 {
			l.columns = slices.Delete(l.columns, i, i+1)
			l.dropped = append(l.dropped, display.Line(name))
		}
	}
	others := l.columns[1:]
	for l.width(math.MaxInt) > screen && len(others) > 0 {
		widest := 0
		for i, c := range others {
			if c.width > others[widest].width {
				widest = i
			}
		}
		if others[widest].width <= enough {
			break
		}
		others[widest].width--
	}
	if over := l.width(math.MaxInt) - screen; over > 0 {
		l.columns[0].width = max(0, l.columns[0].width-over)
	}
	return l
}

// width is that of a row in which no column is wider than the most.
func (l layout) width(most int) int {
	sum := len(gap) * (len(l.columns) - 1)
	for _, c := range l.columns {
		sum += min(c.width, most)
	}
	return sum
}

// pad cuts or fills the cells of a row to their columns. The last one is not filled.
func (l layout) pad(cells []string) []string {
	padded := make([]string, len(l.columns))
	for i, c := range l.columns {
		padded[i] = cut(cells[c.at], c.width)
		if i < len(l.columns)-1 {
			padded[i] = display.Pad(padded[i], c.width)
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
