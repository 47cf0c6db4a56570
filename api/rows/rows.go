// Package rows reads and writes the files that carry records in bulk: CSV with a header, JSON arrays and JSON lines. It
// streams in constant memory and numbers each record by the line on which it starts, so that a message can point at it.
//
// It knows nothing of what the records mean and imports no other package of this module: import, export and the
// client's bulk commands give the records their meaning.
package rows

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Format is how a file writes its records.
type Format string

// The formats that can be read; the writer has CSV and JSONL.
const (
	CSV   Format = "csv"
	JSON  Format = "json" // one array of objects
	JSONL Format = "jsonl"
)

// ParseFormat reads the name of a format.
func ParseFormat(name string) (Format, error) {
	switch format := Format(name); format {
	case CSV, JSON, JSONL:
		return format, nil
	}
	return "", fmt.Errorf("%q is not a format that can be read: it must be csv, json or jsonl", name)
}

// FormatOf tells the format from a file's name.
func FormatOf(name string) (Format, error) {
	switch ext := strings.ToLower(strings.TrimPrefix(path.Ext(name), ".")); ext {
	case "csv", "json", "jsonl":
		return Format(ext), nil
	case "ndjson":
		return JSONL, nil
	}
	return "", fmt.Errorf("cannot tell the format of %q from its name: it must end in .csv, .json or .jsonl", name)
}

// MaxRecord is the longest record that is read, in bytes. It keeps a quote that is never closed, or a line without an
// end, from filling the memory.
const MaxRecord = 16 << 20

// Row is one record. Either Object holds its JSON text, or Header and Cells hold its CSV.
type Row struct {
	Line   int             // of the record's first character, from 1
	Object json.RawMessage // one valid JSON object
	Header []string        // shared by all rows of a file
	Cells  []string        // as many as Header
}

// RowError says that one record cannot be read at all. Reading goes on behind it.
type RowError struct {
	Line   int
	Err    error
	Text   []byte   // of the record without its line end, in CSV and JSONL; nil if it is longer than MaxRecord
	Header []string // of a CSV file
}

func (e *RowError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Err) }

// Unwrap returns what is wrong with the record.
func (e *RowError) Unwrap() error { return e.Err }

// FileError says that a file as a whole is not what its format asks for, so that no record behind that place can be read.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong with the file.
func (e *FileError) Unwrap() error { return e.Err }

// ErrEmpty says that a CSV file has not even a header.
var ErrEmpty = errors.New("the file is empty: its first line must name the columns")
