package bulk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/perks/api"
	"example.com/perks/api/rows"
)

// rejects is the file of the rows that failed, as input for another run, each with the reason, which that run passes over. It
// appears whole, when the run ends. A row that cannot be read as one is written so that it cannot be read there either, until
// somebody has mended it.
type failedRows struct {
	path string

	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	cells  *rows.CellWriter
	format rows.Format
	begun  bool // the header is written
}

func openFailedRows(path string, format rows.Format) (*failedRows, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("open the file for the rows that fail: %w", err)
	}
	out := bufio.NewWriter(file)
	return &failedRows{path: path, file: file, out: out, cells: rows.NewCellWriter(out, true), format: format}, nil
}

// add writes a row as it was read, or the text of one that could not be read.
func (r *failedRows) add(j *job, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	write := r.row
	if r.format == rows.JSONL {
		write = r.object
	}
	if err := write(j, reason); err != nil {
		return fmt.Errorf("write the rows that failed: %w", err)
	}
	return nil
}

// object writes the object, or one with the line that is none, with the reason as its last member.
func (r *failedRows) object(j *job, reason string) error {
	r.begun = true
	r.out.WriteByte('{')
	member := func(name string, value json.RawMessage) {
		r.out.Write(quoted(name))
		r.out.WriteByte(':')
		r.out.Write(value)
	}
	dec := json.NewDecoder(bytes.NewReader(j.raw.Object))
	_, _ = dec.Token() // the brace
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break // not reached: it was read once already
		}
		if name != ReasonColumn {
			member(name.(string), value)
			r.out.WriteByte(',')
		}
	}
	if j.broken != nil {
		member(Unreadable, quoted(textOr(j.broken)))
		r.out.WriteByte(',')
	}
	member(ReasonColumn, quoted(reason))
	_, err := r.out.WriteString("}\n") // an earlier failure stays
	return err
}

func quoted(text string) json.RawMessage {
	quoted, _ := api.EncodeJSON(text) // a string always marshals
	return quoted
}

func textOr(broken *rows.RowError) string {
	if broken.Text == nil {
		return fmt.Sprintf("(line %d, which is too long to be kept)", broken.Line)
	}
	return string(broken.Text)
}

// row writes the cells, and the reason behind them. Of a row that could not be read it writes the text as it stands, with the
// reason as one more cell in quotes: cells that were too few or too many stay so, and a quote that was wrong before is wrong
// still, or ends at the reason's own, behind which text may not follow.
func (r *failedRows) row(j *job, reason string) error {
	header := j.raw.Header
	if j.broken != nil {
		header = j.broken.Header
	}
	if !r.begun {
		r.begun = true
		names := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return name == ReasonColumn })
		if err := r.cells.Write(append(names, ReasonColumn)); err != nil {
			return err
		}
	}
	if j.broken == nil {
		cells := slices.Clone(j.raw.Cells)
		if at := slices.Index(header, ReasonColumn); at >= 0 {
			cells = slices.Delete(cells, at, at+1)
		}
		return r.cells.Write(append(cells, reason))
	}
	if err := r.cells.Flush(); err != nil {
		return err
	}
	text := textOr(j.broken)
	last := len(header) - 1
	if at := strings.LastIndex(text, `,"`); at >= 0 && last >= 0 && header[last] == ReasonColumn {
		text = text[:at] // the reason of the run before
	}
	_, err := fmt.Fprintf(r.out, "%s,\"%s\"\n", text, strings.ReplaceAll(reason, `"`, `""`))
	return err
}

// finish puts the file in its place. A run that was cut off before a row failed leaves the file of the run before it.
func (r *failedRows) finish(partial bool) error {
	if partial && !r.begun {
		return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
	}
	err := errors.Join(r.cells.Flush(), r.out.Flush(), r.file.Sync(), r.file.Close())
	if err == nil {
		err = os.Rename(r.file.Name(), r.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the rows that failed: %w", err), os.Remove(r.file.Name()))
	}
	return syncFolder(r.path)
}
