package rows

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// Reader reads the records of one file.
type Reader struct {
	in     *bufio.Reader
	format Format
}

// NewReader prepares to read records in the given format. A byte order mark at the start is skipped.
func NewReader(r io.Reader, format Format) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10), format: format}
}

// Rows yields every record in the order of the file. It can be ranged over once.
//
// A *RowError stands for one record that cannot be read, and the next records follow it. Any other error is the last
// thing that is yielded: the file cannot be read, or it is broken in a way that hides where the next record begins.
func (r *Reader) Rows() iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		if err := skipByteOrderMark(r.in); err != nil {
			yield(Row{}, err)
			return
		}
		switch r.format {
		case CSV:
			readCSV(r.in, yield)
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
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, err := in.Discard(3)
		return err
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return &FileError{errors.New("the file is UTF-16; save it as UTF-8 and try again")}
	}
	return nil
}

var (
	errTooLong   = fmt.Errorf("is longer than %d MiB", MaxRecord>>20)
	errNotObject = errors.New("is not a JSON object, in braces")
)
