package bulk

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"example.com/perks/api/rows"
)

// rejects is the file of the rows that failed, as input for another run. It appears whole, when the run ends. A row that
// cannot be read as one is not in it; the results name its line.
type rejects struct {
	path string

	mu     sync.Mutex
	file   *os.File
	out    *bufio.Writer
	cells  *csv.Writer
	format rows.Format
	begun  bool // the header is written
}

func openRejects(path string, format rows.Format) (*rejects, error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("open the file for the rows that fail: %w", err)
	}
	out := bufio.NewWriter(file)
	return &rejects{path: path, file: file, out: out, cells: csv.NewWriter(out), format: format}, nil
}

// add writes a row as it was read.
func (r *rejects) add(row rows.Row) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.write(row); err != nil {
		return fmt.Errorf("write the rows that failed: %w", err)
	}
	return nil
}

func (r *rejects) write(row rows.Row) error {
	if r.format == rows.JSONL {
		r.begun = true
		_, err := r.out.Write(append(row.Object[:len(row.Object):len(row.Object)], '\n'))
		return err
	}
	if !r.begun {
		r.begun = true
		if err := r.cells.Write(row.Header); err != nil {
			return err
		}
	}
	return r.cells.Write(row.Cells)
}

// finish puts the file in its place. A run that was cut off before a row failed leaves the file of the run before it.
func (r *rejects) finish(partial bool) error {
	if partial && !r.begun {
		return errors.Join(r.file.Close(), os.Remove(r.file.Name()))
	}
	r.cells.Flush()
	err := errors.Join(r.cells.Error(), r.out.Flush(), r.file.Sync(), r.file.Close())
	if err == nil {
		err = os.Rename(r.file.Name(), r.path)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the rows that failed: %w", err), os.Remove(r.file.Name()))
	}
	return nil
}
