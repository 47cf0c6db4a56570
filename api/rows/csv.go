package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// The separators of cells. Spreadsheets write semicolons where a comma is the decimal sign.
const (
	comma      = ","
	tab        = "\t"
	recognized = comma + ";" + tab
)

// readCSV reads a header and rows as in RFC 4180, with either line end. The first of the separators behind a name of
// the header separates all cells, so that the same file always has the same rows. A row with wrong quotes or another
// number of cells than the header is a RowError. Blank lines are skipped, and what Neutralise did is undone.
func readCSV(in *bufio.Reader, separators string, yield func(Row, error) bool) {
	s := csvScanner{in: in, separators: separators}
	_, header, err := s.record()
	if err == nil && len(header) == 2 && header[0] == "sep=" && header[1] == "" { // Excel's way to name the separator
		_, header, err = s.record()
	}
	switch _, isRow := err.(*RowError); {
	case err == io.EOF:
		err = &FileError{ErrEmpty}
	case isRow: // without its header no further row can be read
		err = &FileError{errors.New(err.Error())}
	case err == nil:
		err = checkHeader(header)
	}
	if err != nil {
		yield(Row{}, err)
		return
	}
	s.separators = s.separators[:1] // a header of one column has none
	for {
		line, cells, err := s.record()
		if err == io.EOF {
			return
		}
		if err == nil && len(cells) != len(header) {
			err = s.rowError(line, fmt.Errorf("has %d cells, but the header names %d columns", len(cells), len(header)))
		}
		row := Row{Line: line, Header: header, Cells: cells, Separator: s.separators}
		bad, isRow := err.(*RowError)
		if isRow {
			bad.Header, bad.Separator = header, s.separators
		}
		if err != nil {
			row = Row{}
		}
		if !yield(row, err) || err != nil && !isRow {
			return
		}
	}
}

// checkHeader trims the names in place. It refuses empty and repeated ones, and a file whose lines end with CR alone,
// which is one line for everybody else.
func checkHeader(names []string) error {
	seen := map[string]bool{}
	for i, name := range names {
		old := strings.Contains(strings.TrimRight(name, "\r"), "\r") || strings.Trim(name, "\r") == "" && name != ""
		name = strings.TrimSpace(name)
		switch {
		case old:
			return fileErrorf("its lines end with carriage returns alone; " +
				"save it with the line ends of Windows or Unix")
		case name == "":
			return fileErrorf("the header has no name for column %d", i+1)
		case seen[name]:
			return fileErrorf("the header names the column %q twice", name)
		}
		seen[name] = true
		names[i] = name
	}
	return nil
}

// csvScanner splits a file into records. encoding/csv does not do because it changes CR LF inside quotes to LF, so that
// a text would not survive an export, and because an open quote makes it read the rest of the file into memory.
type csvScanner struct {
	in         *bufio.Reader
	separators string // those that may be meant; one once it is known
	line       int    // that was read last
	raw        []byte // the record being read, as readLine leaves it; reused
}

var (
	errBareQuote = errors.New("has a quote inside a cell that does not begin with one; " +
		"put the cell in quotes and write the inner quote twice")
	errAfterQuote = errors.New(`has text behind a closing quote; to write a quote inside quotes, write it twice`)
	errOpenQuote  = errors.New(`has a quote that is never closed`)
)

// record returns the next record and its first line. The error is io.EOF at the end, a *RowError if the record's quotes
// are wrong and the next record can be read, and anything else if not.
func (s *csvScanner) record() (line int, cells []string, err error) {
	for s.raw = s.raw[:0]; len(s.text()) == 0; {
		s.raw = s.raw[:0] // a blank line
		if err := s.readLine(); err != nil {
			return 0, nil, err
		}
	}
	line = s.line
	for at := 0; at <= len(s.text()); {
		cell, end, err := s.cell(at)
		if err == nil && end == len(s.text()) && len(s.raw) > MaxRecord {
			err = errTooLong
		}
		switch err {
		case nil:
		case errBareQuote, errAfterQuote, errOpenQuote:
			if after := s.line - line - 1; err == errOpenQuote && after > 0 {
				err = fmt.Errorf("%w, so the lines up to %d belong to it", err, s.line-1)
			}
			return line, nil, s.rowError(line, err)
		case errTooLong:
			return line, nil, &FileError{fmt.Errorf("line %d: the record that starts here %w; is a quote not closed?",
				line, err)}
		default:
			return line, nil, err
		}
		cells = append(cells, Restore(string(cell)))
		if len(s.separators) > 1 && end < len(s.text()) {
			s.separators = string(s.raw[end])
		}
		at = end + 1
	}
	return line, cells, nil
}

func (s *csvScanner) rowError(line int, err error) *RowError {
	e := &RowError{Line: line, Err: err}
	if len(s.raw) <= MaxRecord {
		e.Text = bytes.Clone(bytes.TrimRight(s.raw, "\r\n"))
	}
	return e
}

// readLine adds the next line to the record.
func (s *csvScanner) readLine() (err error) {
	s.raw, err = readLine(s.in, s.raw)
	s.line++
	return err
}

// text is the record without its line end. A lone carriage return ends no line.
func (s *csvScanner) text() []byte {
	if line, hasEnded := bytes.CutSuffix(s.raw, []byte("\n")); hasEnded {
		return bytes.TrimSuffix(line, []byte("\r"))
	}
	return s.raw
}

// cell returns the cell at an offset of the record, and the offset of its end.
func (s *csvScanner) cell(start int) (cell []byte, end int, err error) {
	rest := s.text()[start:]
	if !bytes.HasPrefix(rest, []byte(`"`)) {
		cell = rest
		if end := bytes.IndexAny(rest, s.separators); end >= 0 {
			cell = rest[:end]
		}
		if bytes.IndexByte(cell, '"') >= 0 {
			err = errBareQuote
		}
		return cell, start + len(cell), err
	}
	for end = start + 1; ; end += len(`""`) {
		quote := bytes.IndexByte(s.raw[end:], '"')
		for quote < 0 {
			if len(s.raw) > MaxRecord {
				return nil, 0, errTooLong
			}
			end = len(s.raw)
			if err := s.readLine(); err == io.EOF {
				return nil, 0, errOpenQuote
			} else if err != nil {
				return nil, 0, err
			}
			quote = bytes.IndexByte(s.raw[end:], '"')
		}
		if end += quote; !bytes.HasPrefix(s.raw[end:], []byte(`""`)) {
			break
		}
	}
	cell = bytes.ReplaceAll(s.raw[start+1:end], []byte(`""`), []byte(`"`))
	if end++; end < len(s.text()) && !strings.Contains(s.separators, string(s.raw[end])) {
		err = errAfterQuote
	}
	return cell, end, err
}

// A spreadsheet runs a cell that begins with one of these signs (OWASP, "CSV Injection") or their wide forms. In many
// countries it also splits lines at semicolons, whatever the quotes, so that each part between separators may become a
// cell.
const (
	signs      = "=+-@＝＋－＠"
	separators = ";|\t\r\n"
)

// Neutralise puts an apostrophe before a cell, and before each further part of it, that a spreadsheet might take for a
// formula. A text that has these apostrophes already gets them again, so that Restore brings every text back.
func Neutralise(cell string) string {
	if !strings.ContainsAny(cell, signs) && !opensWithSeparator(cell) {
		return cell
	}
	parts := split(cell)
	if !slices.ContainsFunc(parts, couldRun) && !opensWithSeparator(cell) {
		return cell
	}
	for i, part := range parts {
		if i == 0 || couldRun(part) {
			parts[i] = "'" + part
		}
	}
	return strings.Join(parts, "")
}

// Restore undoes Neutralise. It returns any other cell as it is.
func Restore(cell string) string {
	if !strings.HasPrefix(cell, "'") {
		return cell
	}
	parts := split(cell)
	for i, part := range parts {
		if i == 0 || couldRun(part) {
			parts[i] = strings.Replace(part, "'", "", 1)
		}
	}
	if text := strings.Join(parts, ""); Neutralise(text) == cell {
		return text
	}
	return cell
}

// exact returns a cell that Restore converts back to the text: the text itself, unless it looks neutralised.
func exact(text string) string {
	if Restore(text) == text {
		return text
	}
	return Neutralise(text)
}

func split(text string) (parts []string) {
	for at := strings.IndexAny(text, separators); at >= 0; at = strings.IndexAny(text, separators) {
		parts, text = append(parts, text[:at+1]), text[at+1:]
	}
	return append(parts, text)
}

// couldRun tells whether a part may be taken for a formula: it begins with a sign, apart from what is trimmed,
// invisible, or a quote, and is not a negative number.
func couldRun(part string) bool {
	start := strings.TrimLeftFunc(part, func(r rune) bool {
		return unicode.IsSpace(r) || unicode.Is(unicode.C, r) || r == '\'' || r == '"'
	})
	if start == "" || !strings.ContainsRune(signs, firstRune(start)) {
		return false
	}
	return !numbers().MatchString(strings.Trim(part, " "+separators))
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// opensWithSeparator tells whether a text begins with a tab or a line end, which some programs skip.
func opensWithSeparator(text string) bool {
	text = strings.TrimLeft(text, " '\"")
	return text != "" && strings.IndexByte("\t\r\n", text[0]) >= 0
}

// numbers matches decimal numbers as JSON writes them.
var numbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]+)?$`)
})

// CellWriter writes CSV that a Reader reads back cell for cell. A cell that a program might split is quoted.
type CellWriter struct {
	Separator string // a comma, unless it is set to that of a Row

	out  *bufio.Writer
	cell func(string) string
}

// NewCellWriter returns a writer that neutralises cells or, if raw, writes them as they are, unless that would be read
// back as something else.
func NewCellWriter(w io.Writer, raw bool) *CellWriter {
	cell := Neutralise
	if raw {
		cell = exact
	}
	return &CellWriter{comma, bufio.NewWriter(w), cell}
}

// Write writes one row, perhaps only at the next Flush.
func (w *CellWriter) Write(cells []string) error {
	written := make([]string, len(cells))
	for i, cell := range cells {
		written[i] = w.cell(cell)
		if needsQuotes(written[i]) || cell == "" && len(cells) == 1 { // an empty line would not count as a row
			written[i] = `"` + strings.ReplaceAll(written[i], `"`, `""`) + `"`
		}
	}
	_, err := w.out.WriteString(strings.Join(written, w.Separator) + "\n")
	return err
}

// Flush writes the buffered rows, and returns the first error of all writes.
func (w *CellWriter) Flush() error { return w.out.Flush() }

// needsQuotes tells whether a cell must be quoted. PostgreSQL takes \. for the end of a file, and everybody a byte
// order mark at its start for no data.
func needsQuotes(cell string) bool {
	return strings.ContainsAny(cell, `,"`+separators) || cell == `\.` || unicode.IsSpace(firstRune(cell)) ||
		firstRune(cell) == '\uFEFF'
}
