package rows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// readJSONL reads one object from each line that is not blank.
func readJSONL(in *bufio.Reader, yield func(Row, error) bool) {
	for line := 1; ; line++ {
		text, err := readLine(in)
		switch {
		case err == io.EOF:
			return
		case err == errTooLong:
			err = &RowError{Line: line, Err: err}
		case err != nil:
			yield(Row{}, err)
			return
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

// readLine returns the next line without looking at what is in it. A line that is longer than MaxRecord is consumed whole
// and is errTooLong; io.EOF says that there is no line.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	var size int
	for {
		part, err := in.ReadSlice('\n')
		size += len(part)
		if size <= MaxRecord {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
		case err == io.EOF && size == 0:
			return nil, io.EOF
		case err != nil && err != io.EOF:
			return nil, err
		case size > MaxRecord:
			return nil, errTooLong
		default:
			return line, nil
		}
	}
}

func parseObject(line int, text []byte) (json.RawMessage, error) {
	var object json.RawMessage
	if err := json.Unmarshal(text, &object); err != nil {
		return nil, &RowError{Line: line, Err: fmt.Errorf("is not valid JSON: %w", err), Text: bytes.TrimSpace(text)}
	}
	if object[0] != '{' {
		return nil, &RowError{Line: line, Err: errNotObject, Text: bytes.TrimSpace(text)}
	}
	return object, nil
}
