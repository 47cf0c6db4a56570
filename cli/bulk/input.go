package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// input is the file or stream of the rows.
type input struct {
	name   string // for messages
	format rows.Format
	from   io.Reader
	file   *os.File // nil for standard input

	allowEmpty bool
	isEmpty    bool // there is not even a header

	// Instead of a file, the rows themselves, and the place of each in their order, by its line.
	made   iter.Seq2[rows.Row, error]
	places []int
}

// place is how far the rows have come with a line.
func (i *input) place(line int) int {
	if i.made != nil {
		return i.places[line]
	}
	return line
}

const stdin = "-"

func openInput(f Flags, in io.Reader) (*input, error) {
	i := &input{name: f.File, from: in, allowEmpty: f.AllowEmpty}
	if f.File == stdin {
		i.name = "standard input"
	} else {
		file, err := os.Open(f.File)
		if err != nil {
			return nil, command.FlagFile("file", err)
		}
		if info, err := file.Stat(); err == nil && info.IsDir() {
			return nil, errors.Join(command.Usagef("--file %s is a directory.", f.File), file.Close())
		}
		i.file, i.from = file, file
	}
	if err := i.findFormat(f); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

// findFormat takes the format from the flag, the file's name or the start of the content: JSON lines start with a
// brace.
func (i *input) findFormat(f Flags) error {
	name := f.Format
	if name == "" {
		name = strings.ToLower(strings.TrimPrefix(filepath.Ext(f.File), "."))
	}
	switch name {
	case "csv", "tsv":
		i.format = rows.Format(name)
	case "jsonl", "ndjson":
		i.format = rows.JSONL
	case "json":
		return i.isArray()
	default:
		if f.Format != "" {
			return command.Usagef("--format is csv, tsv or jsonl, not %q.", f.Format)
		}
	}
	if i.format != "" {
		return nil
	}
	in := bufio.NewReader(i.from)
	start, err := in.Peek(512)
	if err != nil && err != io.EOF {
		return fmt.Errorf("%s cannot be read: %w", i.name, err)
	}
	i.format = rows.CSV
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\xef\xbb\xbf")), " \t\r\n")
	switch {
	case bytes.HasPrefix(start, []byte("{")):
		i.format = rows.JSONL
	case bytes.HasPrefix(start, []byte("[")):
		return i.isArray()
	}
	i.from = in
	return nil
}

// isArray refuses a JSON array: a run knows each row by its line, and many objects of an array can be on one.
func (i *input) isArray() error {
	return command.Usagef("%s holds a JSON array, whose rows need not have lines of their own. "+
		"Write one object on each line, as jq -c '.[]' does: --format jsonl", i.name)
}

// rows yields the rows. It can be iterated once, or again after a rewind.
func (i *input) rows() iter.Seq2[rows.Row, error] {
	if i.made != nil {
		return i.made
	}
	return rows.NewReader(i.from, i.format).Rows()
}

// lineOf returns the line of a row, even of one that cannot be read. Any other error is returned.
func lineOf(row rows.Row, err error) (int, error) {
	if broken, isRow := errors.AsType[*rows.RowError](err); isRow {
		return broken.Line, nil
	}
	return row.Line, err
}

func (i *input) canRewind() bool {
	if i.file == nil {
		return i.made != nil
	}
	info, err := i.file.Stat()
	return err == nil && info.Mode().IsRegular()
}

// maxCounted is the size of the largest file whose rows are counted: reading it takes no noticeable time.
const maxCounted = 16 << 20

// CountRows counts the rows of the file. It leaves out files that are large, cannot be read twice, or have no known
// format.
func (f Flags) CountRows() (n int64, known bool, err error) {
	info, err := os.Stat(f.File)
	if err != nil {
		return 0, false, command.FlagFile("file", err)
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
	for range i.rows() {
		n++
	}
	return n, true, nil
}

// scan reads and counts all rows before any is sent. It refuses a file that does not match the results: after inserted
// or deleted rows, others would be skipped or sent twice.
func (i *input) scan(ctx context.Context, known *results, j *journal) (total int64, sum uint64, err error) {
	unchanged := j.rows == 0
	last := 0
	for row, err := range i.rows() {
		total++
		if total%1024 == 0 && ctx.Err() != nil {
			return total, sum, context.Cause(ctx)
		}
		if row.Line, err = lineOf(row, err); err != nil {
			total--
			if err := i.explain(err, total); errors.As(err, new(*command.UsageError)) {
				return total, sum, err
			}
			i.isEmpty = errors.Is(err, rows.ErrEmpty)
			last = known.highest // it is not known where the file ends
			break                // the run reports it when it gets there
		}
		if err := known.checkUnchanged(row, i.name); err != nil {
			return total, sum, err
		}
		last = max(last, row.Line)
		sum = (sum^uint64(row.Line)<<32^uint64(contentOf(row)))*1099511628211 + 1 // #nosec G115 -- a sum may wrap
		unchanged = unchanged || total == j.rows && sum == j.sum
	}
	if !unchanged && i.made != nil { // the run that is being undone has resumed meanwhile
		j.sent, unchanged = math.MaxInt, true
	}
	if !unchanged {
		return total, sum,
			anotherFile("%s changed since an interrupted run. perksctl matches rows to earlier requests "+
				"by line number, so it cannot tell which rows were sent. "+
				"Restore the file and run again; you may add rows at the end", i.name)
	}
	if row := known.doneAfter(last); row > 0 {
		return total, sum, anotherFile("%s ends before line %d, and %s says that this row is done, or may be. "+
			"Restore the file. %s", i.name, row, known.path, otherName)
	}
	if err := i.checkRows(total); err != nil {
		return total, sum, err
	}
	return total, sum, i.rewind()
}

// rewind makes rows begin anew, if there is a file.
func (i *input) rewind() error {
	if i.file == nil {
		return nil
	}
	i.from = i.file
	_, err := i.file.Seek(0, io.SeekStart)
	return err
}

// explain makes a usage error of a file that cannot be read at all: nothing was sent.
func (i *input) explain(err error, before int64) error {
	var file *rows.FileError
	if before > 0 || !errors.As(err, &file) || errors.Is(err, rows.ErrEmpty) {
		return err
	}
	return command.Usagef("%s cannot be read as %s: %s.", i.name, i.format, file)
}

// checkRows refuses an input without rows, which may have lost its header or come from a failed command.
func (i *input) checkRows(n int64) error {
	switch {
	case n > 0 || i.allowEmpty:
		return nil
	case i.isEmpty:
		return command.Usagef("%s is empty: its first line must name the columns. "+
			"Add --allow-empty to accept that.", i.name)
	case i.format != rows.JSONL:
		return command.Usagef("%s has no rows below its header, the first line. Add --allow-empty to accept that.",
			i.name)
	}
	return command.Usagef("%s has no rows. Add --allow-empty to accept that.", i.name)
}

// otherFile says that the file is not the one of the run.
type otherFile struct{ error }

func (o otherFile) Unwrap() error { return o.error }

func anotherFile(format string, args ...any) error { return otherFile{command.Usagef(format, args...)} }

// checkSameFile refuses a file that is not the one of the run with these results and this journal, for a command
// that only reads it.
func (f Flags) checkSameFile(ctx context.Context, results string, j *journal) error {
	known, err := readResults(results, nil)
	if err != nil {
		return err
	}
	made, err := readRecord(results)
	if err != nil {
		return err
	}
	f.Format = cmp.Or(f.Format, made.Format)
	in, err := openInput(f, nil)
	if err != nil {
		return err
	}
	in.allowEmpty = true
	_, _, err = in.scan(ctx, known, j)
	if errors.As(err, new(otherFile)) {
		err = &command.Advised{
			Err:    api.Errorf(api.CodeConflict, "%s is not the file of this run any more. %s", f.File, err),
			Advice: "To name the run without the file: --results " + command.Quote([]string{results}),
		}
	}
	return errors.Join(err, in.close())
}

// checkUnchanged refuses a row that has changed since it was done, or may have been done.
func (r *results) checkUnchanged(row rows.Row, input string) error {
	state, content := r.state(row.Line)
	if state == untried || state == failed || content == contentOf(row) {
		return nil
	}
	if state == unknown {
		return anotherFile("Line %d of %s has changed since %s was written, and that row may have been done. "+
			"Restore it and run again; you may correct it once it is known to have failed.", row.Line, input, r.path)
	}
	return anotherFile("Line %d of %s has changed since %s was written, and that row is done. "+
		"Restore the file: you may only correct rows that failed, and add rows at the end. %s",
		row.Line, input, r.path, otherName)
}

func (i *input) close() error {
	if i.file == nil {
		return nil
	}
	return i.file.Close()
}
