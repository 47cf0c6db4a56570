// Package rows reads and writes records in files: CSV with a header, JSON arrays and JSON lines. It streams in constant
// memory, and gives each record the number of its first line for messages. It knows nothing of what the records mean.
package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strings"
)

// Format is how a file writes its records.
type Format string

// The formats that can be read; the writer has CSV and JSONL.
const (
	CSV   Format = "csv"  // the header shows whether commas, semicolons or tabs separate the cells
	TSV   Format = "tsv"  // tabs do
	JSON  Format = "json" // one array of objects
	JSONL Format = "jsonl"
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch format := Format(name); format {
	case CSV, TSV, JSON, JSONL:
		return format, nil
	}
	return "", fmt.Errorf("%q is not a format that can be read: it must be csv, tsv, json or jsonl", name)
}

// FormatOf tells the format from a file's name.
func FormatOf(name string) (Format, error) {
	ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), "."))
	if ext == "ndjson" {
		return JSONL, nil
	}
	if format, err := ParseFormat(ext); err == nil {
		return format, nil
	}
	return "", fmt.Errorf("cannot tell the format of %q from its name: it must end in .csv, .tsv, .json or .jsonl",
		name)
}

// FoldName returns what names of columns have in common that people take for the same: "User ID", "user-id" and
// "user_id".
func FoldName(name string) string {
	return strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToLower(strings.TrimSpace(name)))
}

// MaxRecord is the longest record that is read, in bytes. It keeps an unclosed quote or an endless line from filling
// memory.
const MaxRecord = 16 << 20

// Row is one record: Object holds its JSON, or Header and Cells its CSV.
type Row struct {
	Line      int             // of the record's first character, from 1
	Object    json.RawMessage // one valid JSON object
	Header    []string        // shared by all rows of a file
	Cells     []string        // as many as Header
	Separator string          // between the cells
}

// RowError is an error of one record. Reading continues after it.
type RowError struct {
	Line      int
	Err       error
	Text      []byte   // of the record without its line end, in CSV and JSONL; nil if it is longer than MaxRecord
	Header    []string // of a CSV file
	Separator string   // of its cells
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns the cause.
func (e *RowError) Unwrap() error { return e.Err }

// FileError is an error of the file, after which no record can be read.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *FileError) Unwrap() error { return e.Err }

// ErrEmpty says that a CSV file has no header.
var ErrEmpty = errors.New("the file is empty: its first line must name the columns")

// Reader reads the records of one file.
type Reader struct {
	in     *bufio.Reader
	format Format
}

// NewReader returns a Reader of the given format. A byte order mark at the start is skipped.
func NewReader(r io.Reader, format Format) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), format: format}
}

// Rows yields every record in the order of the file. It can be iterated once.
//
// A *RowError stands for one record that cannot be read, and the next records follow it. Any other error is the last
// thing that is yielded: the file cannot be read, or it is so damaged that the next record cannot be found.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if err := skipByteOrderMark(r.in); err != nil {
			yield(Row{}, err)
			return
		}
		switch r.format {
		case CSV:
			readCSV(r.in, recognized, yield)
		case TSV:
			readCSV(r.in, tab, yield)
		case JSON:
			readJSON(r.in, yield)
		case JSONL:
			readJSONL(r.in, yield)
		default:
			yield(Row{}, fmt.Errorf("cannot read the format %q", r.format))
		}
	}
}

func skipByteOrderMark(in *bufio.Reader) error {
	start, err := in.Peek(3)
	if err != nil && err != io.EOF {
		return err
	}
	wide := errors.New("the file is UTF-16; save it as UTF-8 and try again")
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, err := in.Discard(3)
		return err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return &FileError{wide}
	case len(start) > 1 && (start[0] == 0) != (start[1] == 0): // without a mark, the halves of ASCII characters
		return &FileError{wide}
	}
	return nil
}

var (
	errTooLong   = fmt.Errorf("is longer than %d MiB", MaxRecord>>20)
	errNotObject = errors.New("is not a JSON object, in braces")
)

// Writer writes records that a Reader of the same format reads back. Its CSV is raw.
type Writer struct {
	write func(object []byte) error
	flush func() error
}

// NewWriter returns a Writer of CSV or JSONL. CSV has the columns of the header; JSONL ignores it, and writes what
// escape returns for each record's JSON. Nothing is certainly written before Flush.
func NewWriter(w io.Writer, format Format, header []string, escape func([]byte) []byte) (*Writer, error) {
	switch format {
	case CSV:
		cells := NewCellWriter(w, true)
		write := func(object []byte) error { return writeCells(cells, header, object) }
		return &Writer{write, cells.Flush}, cells.Write(header)
	case JSONL:
		lines := bufio.NewWriter(w)
		write := func(object []byte) error { _, err := lines.Write(escape(object)); return err }
		return &Writer{write, lines.Flush}, nil
	}
	return nil, fmt.Errorf("cannot write the format %q", format)
}

// Write writes one record, which encoding/json must write as an object. A CSV cell is the text of a string, empty for
// null, and JSON for anything else. A member without a column is an error, because it would be lost.
func (w *Writer) Write(record any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		return err
	}
	return w.write(text.Bytes())
}

// Flush writes the buffered records, and returns the first error of all writes.
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
