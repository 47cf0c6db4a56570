package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

func readJSON(in io.Reader, yield func(Row, error) bool) {
	source := &lineCounter{in: in, line: 1, budget: MaxRecord}
	dec := json.NewDecoder(source)
	if start, err := dec.Token(); err != nil || start != json.Delim('[') {
		if isAboutText(err) {
			err = fileErrorf("a JSON file must hold one array of objects, in brackets; with one object on each line " +
				"the format is jsonl")
		}
		yield(Row{}, err)
		return
	}
	for dec.More() {
		source.budget = MaxRecord
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			yield(Row{}, brokenArray(source.lineOfNext(dec.InputOffset()), err))
			return
		}
		row := Row{Line: source.lineAt(dec.InputOffset() - int64(len(value))), Object: value}
		var err error
		if value[0] != '{' {
			row, err = Row{}, &RowError{Line: row.Line, Err: errNotObject}
		}
		if !yield(row, err) {
			return
		}
	}
	if _, err := dec.Token(); err != nil {
		yield(Row{}, brokenArray(source.lineOfNext(dec.InputOffset()), err))
		return
	}
	switch _, err := dec.Token(); {
	case err == io.EOF:
	case isAboutText(err):
		yield(Row{}, fileErrorf("line %d: there is more text behind the array", source.lineOfNext(dec.InputOffset())))
	default:
		yield(Row{}, err)
	}
}

// isAboutText tells errors of a decoder about the text, and tokens it did not expect, from errors of its source.
func isAboutText(err error) bool {
	return err == nil || err == io.EOF || errors.As(err, new(*json.SyntaxError))
}

func fileErrorf(format string, args ...any) error { return &FileError{fmt.Errorf(format, args...)} }

func brokenArray(line int, err error) error {
	switch {
	case err == io.EOF || err == io.ErrUnexpectedEOF:
		return fileErrorf("the JSON array is not complete: the file ends before its closing bracket")
	case err == errTooLong:
		return fileErrorf("line %d: the record that starts here %w", line, err)
	case !isAboutText(err):
		return err
	}
	return fileErrorf("line %d: the record that starts here is not valid JSON, and what follows cannot be read", line)
}

// lineCounter finds the line of an offset. It keeps the bytes since the last offset, as the decoder does.
type lineCounter struct {
	in     io.Reader
	budget int    // bytes that can be read before errTooLong
	ahead  []byte // read, and not counted yet
	start  int64  // the offset of ahead
	line   int    // the line of ahead
}

func (c *lineCounter) Read(p []byte) (int, error) {
	if c.budget <= 0 {
		return 0, errTooLong
	}
	n, err := c.in.Read(p[:min(len(p), c.budget)])
	c.budget -= n
	c.ahead = append(c.ahead, p[:n]...)
	return n, err
}

// lineAt takes offsets in ascending order.
func (c *lineCounter) lineAt(offset int64) int {
	passed := c.ahead[:offset-c.start]
	c.line += bytes.Count(passed, []byte("\n"))
	c.ahead = c.ahead[len(passed):]
	c.start = offset
	return c.line
}

// lineOfNext is the line of the next character that is neither blank nor a comma.
func (c *lineCounter) lineOfNext(offset int64) int {
	line := c.lineAt(offset)
	rest := bytes.TrimLeft(c.ahead, ", \t\r\n")
	return line + bytes.Count(c.ahead[:len(c.ahead)-len(rest)], []byte("\n"))
}

func readJSONL(in *bufio.Reader, yield func(Row, error) bool) {
	for line := 1; ; line++ {
		text, err := readLine(in, nil)
		switch {
		case err == io.EOF:
			return
		case err != nil:
			yield(Row{}, err)
			return
		case len(text) > MaxRecord:
			err = &RowError{Line: line, Err: errTooLong}
		case len(bytes.TrimSpace(text)) == 0:
			continue
		}
		row := Row{Line: line}
		if err == nil {
			row.Object, err = parseObject(line, text)
		}
		if err != nil {
			row = Row{}
		}
		if !yield(row, err) {
			return
		}
	}
}

// readLine appends the next line with its end to a text, but keeps at most one byte more than MaxRecord. io.EOF means
// that there is no line.
func readLine(in *bufio.Reader, text []byte) ([]byte, error) {
	for begun := false; ; begun = true {
		part, err := in.ReadSlice('\n')
		text = append(text, part[:min(len(part), MaxRecord+1-len(text))]...)
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && (begun || len(part) > 0):
			return text, nil
		default:
			return text, err
		}
	}
}

// invalidJSON says where a text stops being JSON.
func invalidJSON(text []byte, err error) error {
	wrong, ok := errors.AsType[*json.SyntaxError](err)
	if !ok || wrong.Offset < 1 || len(bytes.TrimSpace(text[wrong.Offset-1:])) == 0 {
		return errors.New("is not valid JSON: it ends too early")
	}
	before, rest := text[:wrong.Offset-1], text[wrong.Offset-1:]
	character, _ := utf8.DecodeRune(rest)
	return fmt.Errorf("is not valid JSON: column %d has an unexpected %q", utf8.RuneCount(before)+1, string(character))
}

func parseObject(line int, text []byte) (json.RawMessage, error) {
	var object json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, &RowError{Line: line, Err: invalidJSON(text, err), Text: bytes.TrimSpace(text)}
	}
	if object[0] != '{' {
		return nil, &RowError{Line: line, Err: errNotObject, Text: bytes.TrimSpace(text)}
	}
	return object, nil
}
