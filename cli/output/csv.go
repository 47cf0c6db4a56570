package output

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strings"

	"example.com/perks/cli/plain"
)

// csvEncoder writes RFC 4180 with a header. Unless raw, its cells are safe to open: a spreadsheet runs what begins with
// certain characters, and a terminal obeys control characters.
type csvEncoder struct {
	out     *csv.Writer
	raw     bool
	columns []string // nil until the first record where they are not known before
	begun   bool
}

func newCSVEncoder(out io.Writer, raw bool, columns []string) *csvEncoder {
	return &csvEncoder{out: csv.NewWriter(out), raw: raw, columns: columns}
}

func (e *csvEncoder) one(r record) error {
	if err := e.item(r); err != nil {
		return err
	}
	return e.end()
}

func (e *csvEncoder) item(r record) error {
	fields := r.fields()
	if e.columns == nil {
		e.columns = fields.names()
	}
	if err := e.header(); err != nil {
		return err
	}
	cells := make([]string, len(e.columns))
	for i, name := range e.columns {
		cells[i] = e.cell(fields.get(name))
	}
	return e.out.Write(cells)
}

func (e *csvEncoder) header() error {
	if e.begun || len(e.columns) == 0 {
		return nil
	}
	e.begun = true
	return e.out.Write(e.columns)
}

func (e *csvEncoder) cell(value json.RawMessage) string {
	text := textOf(value)
	if e.raw || isNumber(value) {
		return text
	}
	text = plain.Text(text)
	if text != "" && strings.Contains("=+-@\t\n", text[:1]) {
		return "'" + text
	}
	return text
}

func (e *csvEncoder) end() error {
	if err := e.header(); err != nil {
		return err
	}
	return e.stop()
}

func (e *csvEncoder) stop() error {
	e.out.Flush()
	return e.out.Error()
}
