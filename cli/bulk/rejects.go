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
type rejects struct {
	path string

	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	cells  *rows.CellWriter
	format rows.Format
	begun  bool // the header is written
}

func openRejects(path string, format rows.Format) (*rejects, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("open the file for the rows that fail: %w", err)
	}
	out := bufio.NewWriter(file)
	return &rejects{path: path, file: file, out: out, cells: rows.NewCellWriter(out, true), format: format}, nil
}

// add writes a row as it was read, or the text of one that could not be read.
func (r *rejects) add(j *job, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var err error
	switch {
	case r.format == rows.JSONL && j.broken != nil:
		err = r.object(nil, Unreadable, textOr(j.broken), ReasonColumn, reason)
	case r.format == rows.JSONL:
		err = r.object(j.raw.Object, ReasonColumn, reason)
	case j.broken != nil:
		err = r.brokenRow(j.broken, reason)
	default:
		err = r.row(j.raw, reason)
	}
	if err != nil {
		return fmt.Errorf("write the rows that failed: %w", err)
	}
	return nil
}

// object writes an object with these texts as its last members, in place of any that are called so.
func (r *rejects) object(object json.RawMessage, texts ...string) error {
	r.begun = true
	r.out.WriteByte('{')
	dec := json.NewDecoder(bytes.NewReader(object))
	_, _ = dec.Token() // the brace
	for dec.More() {
		name, err := dec.Token()
		var value json.RawMessage
		if err != nil || dec.Decode(&value) != nil {
			break // not reached: it was read once already
		}
		if name != ReasonColumn {
			r.member(name.(string), value)
			r.out.WriteByte(',')
		}
	}
	for i := 0; i < len(texts); i += 2 {
		if i > 0 {
			r.out.WriteByte(',')
		}
		r.member(texts[i], quoted(texts[i+1]))
	}
	_, err := r.out.WriteString("}\n") // an earlier failure stays
	return err
}

func (r *rejects) member(name string, value json.RawMessage) {
	r.out.Write(quoted(name))
	r.out.WriteByte(':')
	r.out.Write(value)
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

// row writes the cells, and the reason behind them.
func (r *rejects) row(row rows.Row, reason string) error {
	if err := r.header(row.Header); err != nil {
		return err
	}
	cells := slices.Clone(row.Cells)
	if at := slices.Index(row.Header, ReasonColumn); at >= 0 {
		cells = slices.Delete(cells, at, at+1)
	}
	return r.cells.Write(append(cells, reason))
}

func (r *rejects) header(names []string) error {
	if r.begun {
		return nil
	}
	r.begun = true
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == ReasonColumn })
	return r.cells.Write(append(names, ReasonColumn))
}

// brokenRow writes the text as it stands, with the reason as one more cell in quotes: cells that were too few or too many stay
// so, and a quote that was wrong before is wrong still, or ends at the reason's own, behind which text may not follow.
func (r *rejects) brokenRow(broken *rows.RowError, reason string) error {
	if err := r.header(broken.Header); err != nil {
		return err
	}
	if err := r.cells.Flush(); err != nil {
		return err
	}
	text := textOr(broken)
	last := len(broken.Header) - 1
	if at := strings.LastIndex(text, `,"`); at >= 0 && last >= 0 && broken.Header[last] == ReasonColumn {
		text = text[:at] // the reason of the run before
	}
	_, err := fmt.Fprintf(r.out, "%s,\"%s\"\n", text, strings.ReplaceAll(reason, `"`, `""`))
	return err
}

// finish puts the file in its place. A run that was cut off before a row failed leaves the file of the run before it.
func (r *rejects) finish(partial bool) error {
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
