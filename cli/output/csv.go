package output

import (
	"encoding/json"
	"io"
	"slices"
	"strings"

	"example.com/perks/api/rows"
)

// csvEncoder writes RFC 4180 with a header. Unless raw, its cells are safe to open in a spreadsheet.
type csvEncoder struct {
	out     *rows.CellWriter
	columns []string // nil until the first record where they are not known before
	begun   bool
}

func newCSVEncoder(out io.Writer, raw bool, columns []string) *csvEncoder {
	return &csvEncoder{out: rows.NewCellWriter(out, raw), columns: columns}
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
		cells[i] = cellOf(fields.get(name))
	}
	return e.out.Write(cells)
}

// cellOf is the text of a value. A list whose entries could not be told apart between commas is JSON, which readers take too.
func cellOf(value json.RawMessage) string {
	var list []string
	if json.Unmarshal(value, &list) == nil && len(list) > 0 && !slices.Equal(strings.Split(strings.Join(list, ","), ","), list) {
		return string(value)
	}
	return textOf(value)
}

// header goes the way of the cells, because the names can be a server's too.
func (e *csvEncoder) header() error {
	if e.begun || len(e.columns) == 0 {
		return nil
	}
	e.begun = true
	return e.out.Write(e.columns)
}

func (e *csvEncoder) end() error {
	if err := e.header(); err != nil {
		return err
	}
	return e.stop()
}

func (e *csvEncoder) stop() error { return e.out.Flush() }
