package bulk

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// Undoing takes back what a run has done.
type Undoing struct {
	Flags
	Of   string            // the Name of the run's Work
	Not  map[string]string // why the runs of other commands cannot be undone, by their names
	Work Work              // takes back one row; its rows are the run's results, as Result
	Yes  bool              // do not ask
}

// Bind declares the flags that undoing shares with runs.
func (u *Undoing) Bind(cmd *cobra.Command) {
	u.bind(cmd, "job", "results", "concurrency", "rate", "max-errors")
}

// Run takes back each row that the run has done, as a run of its own: it resumes, and writes a result for each row.
// Rows that the run did not do are left out, except those of which nobody knows.
func (u Undoing) Run(ctx context.Context, s *session.Session, cmd *cobra.Command, args []string) (err error) {
	if err := u.checkOutput(s); err != nil {
		return err
	}
	if err := u.takeRun(cmd, args); err != nil {
		return err
	}
	if err := u.checkValues(); err != nil {
		return err
	}
	path := u.resultsPath()
	if _, err := os.Stat(path); err != nil {
		return noRun(path)
	}
	connection, err := s.Connection()
	if err != nil {
		return err
	}
	run, err := openJournal(path) // so that the run cannot continue meanwhile
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, run.release()) }()
	if info, err := os.Stat(u.File); err == nil && info.Mode().IsRegular() {
		if err := u.checkSameFile(ctx, path, run); err != nil {
			return err
		}
	}
	done, err := u.open(path, connection)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done.file.Close()) }()
	if !u.DryRun {
		question := fmt.Sprintf("Undo %s at %s?", display.Plural(done.count, "row", "rows")+" of "+path,
			connection.Target())
		if err := command.Confirm(ctx, s.Streams, u.Yes, question); err != nil {
			return err
		}
	}
	if run.leftover {
		s.Streams.Warn("The run was killed. Rows up to line %d without a result may have been redeemed, and this does not undo them. Resume the run to find out.", run.sent)
	}
	undo := u.Flags
	undo.File, undo.Job, undo.Results = path, "", undoPath(path)
	in := &input{name: path, format: rows.JSONL, allowEmpty: true, made: done.rows()}
	err = runRows(ctx, s, undo, u.Work, in)
	if err == nil && run.leftover && !u.DryRun {
		err = command.RowsFailed("The run was killed, so some of its redemptions may remain.")
	}
	return err
}

// open reads the results of the run. It refuses those of another command or another server.
func (u Undoing) open(path string, connection session.Connection) (*doneRows, error) {
	known, err := readResults(path, nil)
	if err != nil {
		return nil, err
	}
	if known.rows > 0 {
		for name, why := range u.Not {
			if known.batch.mark() == u.mark(name, connection) {
				return nil, command.Usagef("%s", why)
			}
		}
		if err := known.batch.checkMark(u.mark(u.Of, connection), path); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, command.BadFile("The results cannot be opened", err)
	}
	d := &doneRows{file: file, lines: make([]span, known.highest+1)}
	at := int64(0)
	err = eachLine(file, func(_ int, line []byte) error {
		if result, _, _, err := parseResult(line); err == nil {
			d.note(result, span{at, int64(len(line))})
		}
		at += int64(len(line))
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return d, nil
}

// doneRows are the rows that a run has done, or may have, in their order.
type doneRows struct {
	file  *os.File
	lines []span // by the number of the row: its last result in the file; empty if the row failed
	count int64
}

type span struct{ at, length int64 }

func (d *doneRows) note(result Result, line span) {
	if result.Row >= len(d.lines) {
		return // not reached: the file is locked
	}
	if result.Outcome == Failed {
		line = span{}
	}
	if d.lines[result.Row].length > 0 {
		d.count--
	}
	if d.lines[result.Row] = line; line.length > 0 {
		d.count++
	}
}

// rows yields the result of each row as an object. A later run of the same rows may add results, so a row keeps its own
// line.
func (d *doneRows) rows() iter.Seq2[rows.Row, error] {
	return func(yield func(rows.Row, error) bool) {
		for row, line := range d.lines {
			if line.length == 0 {
				continue
			}
			text := make(json.RawMessage, line.length)
			if _, err := d.file.ReadAt(text, line.at); err != nil && !errors.Is(err, io.EOF) {
				yield(rows.Row{}, command.BadFile("The results cannot be read", err))
				return
			}
			if !yield(resultRow(row, text), nil) {
				return
			}
		}
	}
}

// undoPath is where the undo of a run has its results.
func undoPath(results string) string {
	return strings.TrimSuffix(results, resultsSuffix) + ".undo" + resultsSuffix
}

// countUndone counts the rows of a run that bulk undo has taken back, and tells when it last did. The undo of other
// results that had the same name does not count: its rows are other lines than these.
func countUndone(results string) (rows int64, at time.Time, err error) {
	info, err := os.Stat(undoPath(results))
	if err != nil {
		return 0, at, nil // there is none
	}
	undo, err := readResults(undoPath(results), nil)
	if err != nil {
		return 0, at, err
	}
	file, err := os.Open(results)
	if err != nil {
		return 0, at, command.BadFile("The results cannot be opened", err)
	}
	defer file.Close()
	undone := map[int]bool{}
	err = eachLine(file, func(_ int, line []byte) error {
		if result, _, _, err := parseResult(line); err == nil {
			state, content := undo.state(result.Row)
			if delete(undone, result.Row); state >= firstDone && content == contentOf(resultRow(result.Row, line)) {
				undone[result.Row] = true
			}
		}
		return nil
	})
	return int64(len(undone)), info.ModTime(), err
}

// resultRow is a line of results as a row to undo.
func resultRow(row int, line []byte) rows.Row {
	return rows.Row{Line: row, Object: bytes.TrimSpace(line)}
}

// checkUndone refuses to resume a run that was undone: its rows would count as done. While it is unknown what the
// run has made, it has to be resumed, so that the rest can be undone too.
func (f Flags) checkUndone(s *session.Session, known *results, j *journal) error {
	if known.file == nil || j.leftover || known.states.has(unknown) {
		return nil
	}
	count, at, err := countUndone(f.resultsPath())
	if err != nil || count == 0 {
		return err
	}
	err = api.Errorf(api.CodeConflict, "%s Nothing was sent, because its rows count as done.",
		undoneSentence(count, known.rows, at))
	return &command.Advised{Err: err, Advice: f.anew(s)}
}

func undoneSentence[N int | int64](undone int64, of N, at time.Time) string {
	return fmt.Sprintf("This run was undone at %s: %s of its %s.", moment(at),
		display.Count(undone), display.Plural(of, "row", "rows"))
}
