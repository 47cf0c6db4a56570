package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Writer writes records in a form that a Reader of the same format reads back. The cells of its CSV are raw.
type Writer struct {
	write func(object []byte) error
	flush func() error
	text  bytes.Buffer // of the record being written
	enc   *json.Encoder
}

// NewWriter prepares to write CSV or JSONL; no other format can be written. The header names the columns of CSV, in
// their order, and is written first; JSONL takes every record and writes what escape returns for its JSON. Nothing is sure to
// be written before Flush.
func NewWriter(w io.Writer, format Format, header []string, escape func([]byte) []byte) (*Writer, error) {
	var out *Writer
	switch format {
	case CSV:
		cells := NewCellWriter(w, true)
		if err := cells.Write(header); err != nil {
			return nil, err
		}
		out = &Writer{
			write: func(object []byte) error { return writeCells(cells, header, object) },
			flush: cells.Flush,
		}
	case JSONL:
		lines := bufio.NewWriter(w)
		out = &Writer{
			write: func(object []byte) error { _, err := lines.Write(escape(object)); return err },
			flush: lines.Flush,
		}
	default:
		return nil, fmt.Errorf("cannot write the format %q", format)
	}
	out.enc = json.NewEncoder(&out.text)
	out.enc.SetEscapeHTML(false)
	return out, nil
}

// Write writes one record: anything that encoding/json writes as an object. In CSV a cell is the text of a string, empty
// for null, and JSON for anything else; a member that the header does not name is an error, because it would be lost.
func (w *Writer) Write(record any) error {
	w.text.Reset()
	if err := w.enc.Encode(record); err != nil {
		return err
	}
	return w.write(w.text.Bytes())
}

// Flush hands everything to the underlying writer and returns the first error of all writes.
func (w *Writer) Flush() error { return w.flush() }

func writeCells(out *CellWriter, header []string, object []byte) error {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(object, &members); err != nil {
		return fmt.Errorf("a record must be an object: %w", err)
	}
	cells := make([]string, len(header))
	for i, name := range header {
		cells[i] = cellText(members[name])
		delete(members, name)
	}
	for name := range members {
		return fmt.Errorf("the header has no column for %q", name)
	}
	return out.Write(cells)
}

func cellText(value json.RawMessage) string {
	var text string
	switch {
	case len(value) == 0 || string(value) == "null":
		return ""
	case json.Unmarshal(value, &text) == nil:
		return text
	}
	return string(value)
}
