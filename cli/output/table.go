package output

import (
	"bufio"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

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
		return shortTime(moment, e.now)
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

// cut shortens a text to so many columns, and says so by an ellipsis where there is room for one.
func cut(text string, columns int) string {
	if runewidth.StringWidth(text) <= columns {
		return text
	}
	if runewidth.StringWidth("…") >= columns {
		return runewidth.Truncate(text, columns, "")
	}
	return runewidth.Truncate(text, columns, "…")
}
