package rows

import (
	"bufio"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A spreadsheet runs a cell that begins with one of the signs: those that OWASP names in "CSV Injection", and their wide
// forms. In many countries it splits lines at semicolons and ignores quotes that do not open what it takes for a cell, so
// that each part of a text between separators may become a cell of its own.
const (
	signs      = "=+-@＝＋－＠"
	separators = ";|\t\r\n"
)

// Neutralise returns the cell with an apostrophe before it, and before each further part of it that a spreadsheet might
// take for a formula; a cell with no such part stays as it is. A text that has the apostrophes already gets them once more,
// so that Restore brings every text back.
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

// exact returns a cell that Restore turns into the text: the text itself, unless it looks as if it had been neutralised.
func exact(text string) string {
	if Restore(text) == text {
		return text
	}
	return Neutralise(text)
}

// split cuts a text behind each separator.
func split(text string) (parts []string) {
	for {
		at := strings.IndexAny(text, separators)
		if at < 0 {
			return append(parts, text)
		}
		parts = append(parts, text[:at+1])
		text = text[at+1:]
	}
}

// couldRun tells whether a part of a text might be taken for a formula: a sign comes first, behind nothing but what is
// trimmed, invisible, or a quote. A negative number has such a sign, and nothing to run.
func couldRun(part string) bool {
	start := strings.TrimLeftFunc(part, isBefore)
	if start == "" || !strings.ContainsRune(signs, firstRune(start)) {
		return false
	}
	return !isNumber(strings.TrimSpace(strings.TrimRight(part, separators)))
}

func isBefore(r rune) bool {
	return unicode.IsSpace(r) || unicode.Is(unicode.C, r) || r == '\'' || r == '"'
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

// isNumber tells whether the text is a decimal with digits before its point, as JSON writes them.
func isNumber(text string) bool {
	mantissa, exponent, scientific := strings.Cut(strings.TrimPrefix(text, "-"), "e")
	if exponent != "" && strings.ContainsRune("+-", firstRune(exponent)) {
		exponent = exponent[1:]
	}
	if scientific && !isDigits(exponent) {
		return false
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	return isDigits(whole) && (fraction == "" || isDigits(fraction))
}

func isDigits(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// CellWriter writes CSV that a Reader reads back cell for cell. A cell that programs might split is in quotes.
type CellWriter struct {
	out  *bufio.Writer
	cell func(string) string
}

// NewCellWriter prepares to write CSV whose cells are neutralised or, if raw, as they are but for one that would be read
// back as something else.
func NewCellWriter(w io.Writer, raw bool) *CellWriter {
	if raw {
		return &CellWriter{bufio.NewWriter(w), exact}
	}
	return &CellWriter{bufio.NewWriter(w), Neutralise}
}

// Write writes one row. Nothing is sure to be written before Flush.
func (w *CellWriter) Write(cells []string) error {
	var line []byte
	for i, cell := range cells {
		if i > 0 {
			line = append(line, ',')
		}
		cell = w.cell(cell)
		// An empty line would not count as a row.
		if !needsQuotes(cell) && (cell != "" || len(cells) > 1) {
			line = append(line, cell...)
			continue
		}
		line = append(line, '"')
		line = append(line, strings.ReplaceAll(cell, `"`, `""`)...)
		line = append(line, '"')
	}
	_, err := w.out.Write(append(line, '\n'))
	return err
}

// Flush hands everything to the underlying writer and returns the first error of all writes.
func (w *CellWriter) Flush() error { return w.out.Flush() }

// needsQuotes tells what must not stand bare. PostgreSQL takes \. for the end of a file; a mark of the byte order at the
// start of a file is not data.
func needsQuotes(cell string) bool {
	return strings.ContainsAny(cell, `,"`+separators) || cell == `\.` || unicode.IsSpace(firstRune(cell)) || firstRune(cell) == '\uFEFF'
}
