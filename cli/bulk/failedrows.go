package bulk

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// failedRows writes the file of the rows that failed, each with the reason, as input for another run. The file appears
// as a whole when the run ends. An unreadable row stays unreadable there until somebody corrects it.
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
		var failed *fs.PathError
		if errors.As(err, &failed) {
			failed.Path = filepath.Dir(path) // in place of a name that nobody gave
		}
		return nil, command.FlagFile("failed", err)
	}
	out := bufio.NewWriter(file)
	return &failedRows{path: path, file: file, out: out, cells: rows.NewCellWriter(out, true), format: format}, nil
}

// add writes a row as it was read, or the text of an unreadable one.
func (r *failedRows) add(j *job, reason string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	write := r.row
	if r.format == rows.JSONL {
		write = r.object
	}
	if err := write(j, reason); err != nil {
		return fmt.Errorf("the rows that failed cannot be written: %w", err)
	}
	return nil
}

// object writes the object with the reason as its last member. An unreadable line becomes a member of an object.
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
			break // not reached: the object has been parsed before
		}
		if name != reasonColumn {
			member(name.(string), value)
			r.out.WriteByte(',')
		}
	}
	if j.broken != nil {
		member(unreadableMember, quoted(textOf(j.broken)))
		r.out.WriteByte(',')
	}
	member(reasonColumn, quoted(reason))
	_, err := r.out.WriteString("}\n") // bufio remembers an earlier failure
	return err
}

func quoted(text string) json.RawMessage {
	quoted, _ := api.EncodeJSON(text) // a string always marshals
	return quoted
}

func textOf(broken *rows.RowError) string {
	if broken.Text == nil {
		return fmt.Sprintf("(line %d is too long to keep)", broken.Line)
	}
	return string(broken.Text)
}

// row writes the cells and then the reason. It writes an unreadable row as text, with the reason as one more cell in
// quotes: the number of cells stays wrong, and so does a quote, because it stays misplaced or ends at the reason's own.
func (r *failedRows) row(j *job, reason string) error {
	header, separator := j.raw.Header, j.raw.Separator
	if j.broken != nil {
		header, separator = j.broken.Header, j.broken.Separator
	}
	if !r.begun {
		r.begun, r.cells.Separator = true, separator // another would give an unreadable row another number of cells
		names := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return name == reasonColumn })
		if err := r.cells.Write(append(names, reasonColumn)); err != nil {
			return err
		}
	}
	if j.broken == nil {
		cells := slices.Clone(j.raw.Cells)
		if at := slices.Index(header, reasonColumn); at >= 0 {
			cells = slices.Delete(cells, at, at+1)
		}
		return r.cells.Write(append(cells, reason))
	}
	if err := r.cells.Flush(); err != nil {
		return err
	}
	text := textOf(j.broken)
	last := len(header) - 1
	if at := strings.LastIndex(text, separator+`"`); at >= 0 && last >= 0 && header[last] == reasonColumn {
		text = text[:at] // the reason that an earlier run added
	}
	_, err := fmt.Fprintf(r.out, "%s%s\"%s\"\n", text, separator, strings.ReplaceAll(reason, `"`, `""`))
	return err
}

// finish moves the file to its path. A run that stopped before any row failed keeps the file of the run before it.
func (r *failedRows) finish(partial bool) error {
	if partial && !r.begun {
		return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
	}
	err := errors.Join(r.cells.Flush(), r.out.Flush(), r.file.Sync(), r.file.Close())
	if err == nil {
		err = os.Rename(r.file.Name(), r.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the rows that failed cannot be written: %w", err), os.Remove(r.file.Name()))
	}
	return command.SyncDir(r.path)
}
