package output

import (
	"encoding/csv"
	"io"
	"strings"

	"example.com/perks/api/plain"
)

// csvEncoder writes RFC 4180 with a header. Unless raw, its cells are safe to open: a spreadsheet runs what begins with
// certain characters, and a terminal obeys control characters.
type csvEncoder struct {
	out      *csv.Writer
	raw      bool
	terminal bool
	columns  []string // nil until the first record where they are not known before
	begun    bool
}

func newCSVEncoder(out io.Writer, raw, terminal bool, columns []string) *csvEncoder {
	return &csvEncoder{out: csv.NewWriter(out), raw: raw, terminal: terminal, columns: columns}
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
		value := fields.get(name)
		cells[i] = e.cell(textOf(value), isNumber(value))
	}
	return e.out.Write(cells)
}

// header goes the way of the cells, because the names can be a server's too.
func (e *csvEncoder) header() error {
	if e.begun || len(e.columns) == 0 {
		return nil
	}
	e.begun = true
	names := make([]string, len(e.columns))
	for i, name := range e.columns {
		names[i] = e.cell(name, false)
	}
	return e.out.Write(names)
}

func (e *csvEncoder) cell(text string, number bool) string {
	switch {
	case e.raw && !e.terminal:
		return text
	case e.raw || number || !couldRun(plain.Text(text)):
		return plain.Text(text)
	}
	return "'" + plain.Text(text)
}

// couldRun tells whether a spreadsheet might take the text for a formula. The characters are those that OWASP names in "CSV
// Injection", their wide forms among them, with blanks before them too. A negative number is one of them by its sign, but
// nothing to run.
func couldRun(text string) bool {
	start := strings.TrimLeft(text, " ")
	if start == "" || isDecimal(strings.TrimPrefix(start, "-")) {
		return false
	}
	for _, sign := range []string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"} {
		if strings.HasPrefix(start, sign) {
			return true
		}
	}
	return false
}

// isDecimal tells whether the text is digits with at most one point among them.
func isDecimal(text string) bool {
	whole, fraction, _ := strings.Cut(text, ".")
	digits := whole + fraction
	return whole != "" && strings.Trim(digits, "0123456789") == ""
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
