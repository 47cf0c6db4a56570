package output

import (
	"bufio"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"example.com/perks/cli/plain"
	"example.com/perks/cli/streams"
)

const (
	gap = "  "
	// sampled is how many rows decide the widths of a table's columns. The rows behind them are cut to fit, so that a list
	// of any length is written in constant memory.
	sampled   = 200
	minColumn = 8
)

// tableEncoder writes aligned columns with a heading on a terminal, and off one cells with tabs between and no heading,
// for programs.
type tableEncoder struct {
	out     *bufio.Writer
	streams *streams.Streams
	columns []string // nil until the first record where they are not known before
	waiting [][]string
	widths  []int // nil until they are chosen
}

func newTableEncoder(out *bufio.Writer, s *streams.Streams, columns []string) *tableEncoder {
	return &tableEncoder{out: out, streams: s, columns: columns}
}

// one writes a field to a line.
func (e *tableEncoder) one(r record) error {
	fields := r.fields()
	widest := 0
	for _, name := range fields.names() {
		widest = max(widest, runewidth.StringWidth(plain.Line(name)))
	}
	for _, field := range fields {
		name, text := plain.Line(field.name), plain.Line(textOf(field.value))
		line := name + "\t" + text
		if e.streams.OutTTY {
			line = e.streams.Heading(runewidth.FillRight(name, widest)) + gap + text
		}
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
		cells[i] = plain.Line(textOf(fields.get(name)))
	}
	switch {
	case !e.streams.OutTTY:
		return e.tabbed(cells)
	case e.widths != nil:
		return e.row(cells)
	}
	e.waiting = append(e.waiting, cells)
	if len(e.waiting) < sampled {
		return nil
	}
	return e.begin()
}

func (e *tableEncoder) end() error {
	if e.widths != nil || len(e.waiting) == 0 {
		return nil
	}
	return e.begin()
}

func (e *tableEncoder) stop() error { return e.end() }

// begin chooses the widths and writes the heading and the rows that waited for it.
func (e *tableEncoder) begin() error {
	heading := make([]string, len(e.columns))
	for i, name := range e.columns {
		heading[i] = strings.ToUpper(plain.Line(name))
	}
	e.widths = fit(append([][]string{heading}, e.waiting...), e.streams.Width)
	for i := range heading {
		heading[i] = e.streams.Heading(e.pad(heading, i))
	}
	if err := e.aligned(heading); err != nil {
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
	padded := make([]string, len(cells))
	for i := range cells {
		padded[i] = e.pad(cells, i)
	}
	return e.aligned(padded)
}

// pad cuts or fills a cell to its column's width. The last column is not filled.
func (e *tableEncoder) pad(cells []string, i int) string {
	text := runewidth.Truncate(cells[i], e.widths[i], "…")
	if i == len(cells)-1 {
		return text
	}
	return runewidth.FillRight(text, e.widths[i])
}

func (e *tableEncoder) tabbed(cells []string) error {
	_, err := e.out.WriteString(strings.Join(cells, "\t") + "\n")
	return err
}

func (e *tableEncoder) aligned(cells []string) error {
	_, err := e.out.WriteString(strings.TrimRight(strings.Join(cells, gap), " ") + "\n")
	return err
}

// fit gives each column the width of its widest cell, and then narrows the widest ones until a row fits the screen. A
// width of 0 is a screen without an edge.
func fit(rows [][]string, screen int) []int {
	widths := make([]int, len(rows[0]))
	for _, cells := range rows {
		for i, cell := range cells {
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	for screen > 0 && total(widths) > screen {
		widest := slices.Index(widths, slices.Max(widths))
		if widths[widest] <= minColumn {
			break
		}
		widths[widest]--
	}
	return widths
}

func total(widths []int) int {
	sum := len(gap) * (len(widths) - 1)
	for _, width := range widths {
		sum += width
	}
	return sum
}
