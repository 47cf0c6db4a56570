package output

import (
	"bufio"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

const gap = "  "

// sampled is how many rows decide the widths of a table's columns. Later rows are cut to fit, so that a list of any
// length needs constant memory.
const sampled = 200

// tableEncoder writes aligned columns with a heading on a terminal, and cells with tabs between and no heading
// elsewhere.
type tableEncoder struct {
	out     *bufio.Writer
	streams *command.Streams
	view    View            // without columns, those of the first record
	times   map[string]bool // the fields that are times
	now     time.Time
	marks   bool // leave space for the marks of Changes

	waiting [][]string
	begun   bool // the widths are chosen
	layout  layout
	bars    bars
}

func (e *tableEncoder) one(r record) error {
	var lines []string
	if e.streams.OutTTY {
		lines = e.details(r)
	} else {
		for _, field := range r.fields() {
			lines = append(lines, display.Line(field.Name)+"\t"+display.Line(e.text(field.Name, field.Value)))
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
		e.view.Columns = fields.Names()
	}
	cells := make([]string, len(e.view.Columns))
	for i, name := range e.view.Columns {
		cells[i] = e.cell(name, e.text(name, fields.Get(name)))
		if e.streams.OutTTY {
			cells[i] += r.remark(name)
		}
	}
	if e.marks {
		cells[0] = markSpace(r.mark) + cells[0]
	}
	switch {
	case !e.streams.OutTTY:
		_, err := e.out.WriteString(strings.Join(cells, "\t") + "\n")
		return err
	case e.begun:
		return e.row(cells)
	}
	e.waiting = append(e.waiting, cells)
	if len(e.waiting) < sampled {
		return nil
	}
	return e.begin()
}

func (e *tableEncoder) text(name string, value json.RawMessage) string {
	if write := e.view.Texts[name]; write != nil {
		return write(value)
	}
	return rows.TextOf(value)
}

// cell is a field in a list. People get a time as a distance, if it is near, or a date.
func (e *tableEncoder) cell(name, text string) string {
	if at, err := time.Parse(time.RFC3339, text); e.streams.OutTTY && e.times[name] && err == nil {
		if at.Sub(e.now).Abs() < 30*24*time.Hour {
			return display.Distance(at, e.now)
		}
		return at.Local().Format(time.DateOnly)
	}
	return display.Line(text)
}

func (e *tableEncoder) end(bool) error {
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

// begin chooses the widths, and writes the heading and the waiting rows.
func (e *tableEncoder) begin() error {
	heading := make([]string, len(e.view.Columns))
	for i, name := range e.view.Columns {
		heading[i] = strings.ToUpper(display.Line(name))
	}
	if e.marks {
		heading[0] = markSpace("") + heading[0]
	}
	if e.view.KeyName != "" && e.view.Columns[0] == e.view.ID {
		heading[0] = strings.ToUpper(e.view.KeyName)
	}
	e.begun, e.layout = true, newLayout(e.view, e.times, append([][]string{heading}, e.waiting...), e.streams.Width)
	e.bars = newBars(slices.Index(e.view.Columns, e.view.Bar), e.waiting,
		e.streams.Width-e.layout.width(math.MaxInt)-len(gap))
	cells := e.layout.pad(heading)
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

func (e *tableEncoder) row(cells []string) error {
	padded := e.layout.pad(cells)
	if bar := e.bars.of(cells); bar != "" {
		last := len(padded) - 1
		padded[last] = display.Pad(padded[last], e.layout.columns[last].width)
		padded = append(padded, bar)
	}
	return e.aligned(padded)
}

func (e *tableEncoder) aligned(cells []string) error {
	_, err := e.out.WriteString(strings.TrimRight(strings.Join(cells, gap), " ") + "\n")
	return err
}

// bars draw a number of each row behind it. The largest that is known when the table begins fills the space.
type bars struct {
	at      int // among the cells of a row; -1 draws none
	largest float64
	space   int
}

// longestBar keeps a table together on a wide screen.
const longestBar = 40

func newBars(at int, rows [][]string, space int) bars {
	b := bars{at: at, space: min(space, longestBar)}
	for _, cells := range rows {
		if at >= 0 {
			b.largest = max(b.largest, number(cells[at]))
		}
	}
	return b
}

// of returns the bar of a row, in eighths of a column. A number above 0 has at least one.
func (b bars) of(cells []string) string {
	if b.at < 0 || b.largest <= 0 || b.space < enough {
		return ""
	}
	n := min(number(cells[b.at]), b.largest)
	eighths := int(math.Ceil(n / b.largest * float64(8*b.space)))
	bar := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		bar += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return bar
}

// number returns 0 for a cell that is not a number.
func number(cell string) float64 {
	n, err := strconv.ParseFloat(cell, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// enough is the least width of a column that is useful: the beginning of a title. A table drops columns rather than
// make them narrower.
const enough = 10

type layout struct {
	columns []column
	dropped []string
}

type column struct {
	at    int // among the cells of a row
	width int
	whole bool // an id or a time: never cut, because people copy the one, and half of the other is wrong
}

// newLayout gives each column the width of its widest cell. If the screen (0 is unbounded) is too narrow, it drops
// columns until each of the others has enough, the least ones first and then from the right; then it narrows the
// widest. The first column names the row: it is never dropped, and is narrowed last. An id that is wider than the
// screen stays whole, and the terminal wraps it.
func newLayout(view View, times map[string]bool, rows [][]string, screen int) layout {
	var l layout
	for at, name := range view.Columns {
		c := column{at: at, whole: name == view.ID || times[name]}
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
	l.narrow(screen)
	return l
}

// narrow takes from the widest columns until the row fits, as long as they have enough, and then from the first.
func (l *layout) narrow(screen int) {
	others := l.columns[1:]
	for l.width(math.MaxInt) > screen && len(others) > 0 {
		widest := -1
		for i, c := range others {
			if !c.whole && c.width > enough && (widest < 0 || c.width > others[widest].width) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		others[widest].width--
	}
	if excess := l.width(math.MaxInt) - screen; excess > 0 && !l.columns[0].whole {
		l.columns[0].width = max(0, l.columns[0].width-excess)
	}
}

// width is that of a row whose columns are at most so wide, if they can be cut.
func (l layout) width(most int) int {
	sum := len(gap) * (len(l.columns) - 1)
	for _, c := range l.columns {
		if c.whole {
			sum += c.width
		} else {
			sum += min(c.width, most)
		}
	}
	return sum
}

// pad cuts and pads the cells of a row to their columns; it does not pad the last.
func (l layout) pad(cells []string) []string {
	padded := make([]string, len(l.columns))
	for i, c := range l.columns {
		padded[i] = cells[c.at]
		if !c.whole {
			padded[i] = cut(padded[i], c.width)
		}
		if i < len(l.columns)-1 {
			padded[i] = display.Pad(padded[i], c.width)
		}
	}
	return padded
}

// cut shortens a text to the width. In a single column, the first character says more than an ellipsis.
func cut(text string, columns int) string {
	if columns == 1 {
		return ansi.Truncate(text, columns, "")
	}
	return display.Cut(text, columns)
}

// legible is the least width of a text beside its name; on a narrower screen it goes below.
const legible = 20

// details returns the lines of one record for people: names on the left, and texts wrapped at the edge of the screen.
func (e *tableEncoder) details(r record) []string {
	fields := r.fields()
	names := 0
	for _, field := range fields {
		names = max(names, display.Width(display.Line(field.Name)))
	}
	if e.marks {
		names += len(markSpace(""))
	}
	screen := e.streams.Width
	beside := screen <= 0 || screen >= names+len(gap)+legible
	indent := strings.Repeat(" ", names) + gap
	if !beside {
		indent = strings.Repeat(" ", min(len(gap), screen/8))
	}
	space := screen - len(indent)
	if screen <= 0 {
		space = math.MaxInt
	}
	var lines []string
	for _, field := range fields {
		name := display.Line(field.Name)
		if e.marks {
			name = markSpace(r.markOf(field)) + name
		}
		text := e.text(field.Name, field.Value) + r.remark(field.Name)
		if at, err := time.Parse(time.RFC3339, text); e.times[field.Name] && err == nil {
			text = at.Local().Format("2006-01-02 15:04 MST") + ", " + display.Distance(at, e.now)
		}
		texts := display.Wrap(strings.TrimRight(display.Text(text), "\n"), space)
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
