package bulk

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

type input struct {
	name   string // for messages
	format rows.Format
	from   io.Reader
	file   *os.File // nil for standard input

	allowEmpty bool
}

const stdin = "-"

func openInput(f Flags, in io.Reader) (*input, error) {
	i := &input{name: f.File, from: in, allowEmpty: f.AllowEmpty}
	if f.File == stdin {
		i.name = "standard input"
	} else {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, command.Usagef("--file cannot be read: %s.", err)
		}
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, errors.Join(command.Usagef("--file %s is a folder.", f.File), file.Close())
		}
		i.file, i.from = file, file
	}
	if err := i.findFormat(f); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

// findFormat goes by the flag, then by the file's name, then by how the content begins: JSON lines begin with a brace.
func (i *input) findFormat(f Flags) error {
	name := f.Format
	if name == "" {
		name = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.File), "."))
	}
	switch name {
	case "csv":
		i.format = rows.CSV
	case "jsonl", "ndjson":
		i.format = rows.JSONL
	case "json":
		return command.Usagef("%s would be read whole before the first row is sent. Write one object on each line, as jq -c '.[]' does: --format jsonl", i.name)
	default:
		if f.Format != "" {
			return command.Usagef("--format is csv or jsonl, not %q.", f.Format)
		}
	}
	if i.format != "" {
		return nil
	}
	in := bufio.NewReader(i.from)
	start, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return fmt.Errorf("read %s: %w", i.name, err)
	}
	i.format = rows.CSV
	if bytes.HasPrefix(bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("{")) {
		i.format = rows.JSONL
	}
	i.from = in
	return nil
}

func (i *input) canRewind() bool {
	if i.file == nil {
		return false
	}
	info, err := i.file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// maxCounted is the longest file whose rows are counted for a question: it is read before anyone notices.
const maxCounted = 16 << 20

// CountRows counts what a run would find. It does not where that would take long or swallow the rows, and where the file does not
// say in its name how to read it.
func (f Flags) CountRows() (n int64, known bool, err error) {
	info, err := os.Stat(f.File)
	if err != nil {
		return 0, false, command.Usagef("--file cannot be read: %s.", err)
	}
	_, nameErr := rows.FormatOf(f.File)
	if !info.Mode().IsRegular() || info.Size() > maxCounted || f.Format == "" && nameErr != nil {
		return 0, false, nil
	}
	i, err := openInput(f, nil)
	if err != nil {
		return 0, false, nil // the run itself says why
	}
	defer i.close()
	for range rows.NewReader(i.from, i.format).Rows() {
		n++
	}
	return n, true, nil
}

// scan reads all rows once before any is sent. It counts them, and refuses a file that is not the one whose results are
// there: rows that were put in or taken out would let others be skipped, or sent twice.
func (i *input) scan(ctx context.Context, known *results, left *journal) (total int64, sum uint64, err error) {
	asWas := left.rows == 0
	for row, err := range rows.NewReader(i.from, i.format).Rows() {
		total++
		if total%1024 == 0 && ctx.Err() != nil {
			return total, sum, context.Cause(ctx)
		}
		var broken *rows.RowError
		if errors.As(err, &broken) {
			row.Line = broken.Line
		} else if err != nil {
			total--
			if err := i.explain(err, total); errors.As(err, new(*command.UsageError)) {
				return total, sum, err
			}
			break // the run itself comes to it, after the rows before it
		}
		if err := known.checkUnchanged(row, i.name); err != nil {
			return total, sum, err
		}
		sum = (sum^uint64(row.Line)<<32^uint64(contentOf(row)))*1099511628211 + 1 // #nosec G115 -- a sum may wrap
		asWas = asWas || total == left.rows && sum == left.sum
	}
	if !asWas {
		return total, sum, command.Usagef("%s is not what it was when a run over it was cut off, and which of its rows that run had sent is known by where they stood. "+
			"Put the file back as it was and run again; new rows may stand at the end", i.name)
	}
	if err := i.checkRows(total); err != nil {
		return total, sum, err
	}
	i.from = i.file
	_, err = i.file.Seek(0, io.SeekStart)
	return total, sum, err
}

// explain says that a file which cannot be read from its very beginning is a mistake of the command line: nothing was sent.
func (i *input) explain(err error, before int64) error {
	var file *rows.FileError
	if before > 0 || !errors.As(err, &file) || errors.Is(err, rows.ErrEmpty) {
		return err
	}
	return command.Usagef("%s cannot be read as %s: %s.", i.name, i.format, file)
}

// checkRows refuses an input without rows: what should have come before was lost, or its header.
func (i *input) checkRows(n int64) error {
	switch {
	case n > 0 || i.allowEmpty:
		return nil
	case i.format == rows.CSV:
		return command.Usagef("%s has no rows below its header, the first line. Add --allow-empty to accept that.", i.name)
	}
	return command.Usagef("%s has no rows. Add --allow-empty to accept that.", i.name)
}

// isSame refuses a row that is done but said something else then.
func (r *results) checkUnchanged(row rows.Row, input string) error {
	state, content := r.state(row.Line)
	if state == untried || state == failed || content == contentOf(row) {
		return nil
	}
	if state == unknown {
		return command.Usagef("Line %d of %s is not what it was when %s was written, and that row may have been done. Put it back as it was "+
			"and run again; when it is known to have failed, it may be corrected.", row.Line, input, r.path)
	}
	return command.Usagef("Line %d of %s is not what it was when %s was written: that row is done. Put the file back as it was; "+
		"only rows that failed may be corrected, and new ones stand at the end. A new job takes a new file: --results FILE", row.Line, input, r.path)
}

func (i *input) close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}
