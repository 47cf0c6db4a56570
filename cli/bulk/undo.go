package bulk

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// Undo takes back what a run has done.
type Undo struct {
	Flags
	Check func(Actions) error                  // refuses a run before anything is asked or sent
	Task  func(Result) (operation.Task, error) // takes back a row, or only says why that cannot be
	Yes   bool                                 // do not ask
}

// Actions counts the rows of a run by what was done.
type Actions map[operation.Action]int64

// Bind declares the flags that undoing shares with runs.
func (u *Undo) Bind(cmd *cobra.Command) {
	u.bind(cmd, "job", "results", "concurrency", "rate", "max-errors")
}

// Run takes back each row that the run has done, as a run of its own: it resumes, and writes a result for each row.
// Rows that the run did not do are left out, except those of which nobody knows.
func (u Undo) Run(ctx context.Context, s *session.Session, cmd *cobra.Command, args []string) (err error) {
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
	if err := cmp.Or(u.Check(done.actions), u.checkAgain(s, path)); err != nil {
		return err
	}
	if !u.DryRun {
		question := fmt.Sprintf("Undo %s at %s?", display.Plural(len(done.order), "row", "rows")+" of "+path,
			connection.Target())
		if err := command.Confirm(ctx, s.Streams, u.Yes, question); err != nil {
			return err
		}
	}
	if run.leftover {
		s.Streams.Warn("The run was killed. Rows without a result may have been done, and this does not undo them. " +
			"Resume the run to find out.")
	}
	undo := u.Flags
	undo.File, undo.Job, undo.Results = path, "", undoPath(path)
	in := &input{name: path, format: rows.JSONL, allowEmpty: true, made: done.rows(), places: done.places()}
	err = runRows(ctx, s, undo, Work{Name: undoRun, Parse: func(row rows.Row) (operation.Task, error) {
		result, err := done.result(row.Object)
		if err != nil {
			return nil, err
		}
		return u.Task(result)
	}}, in)
	if err == nil && run.leftover && !u.DryRun {
		err = command.RowsFailed("The run was killed, so some of its changes may remain.")
	}
	return err
}

// checkAgain refuses to undo a run whose undo was undone: that has done its rows.
func (u Undo) checkAgain(s *session.Session, path string) error {
	undone, err := readUndone(undoPath(path))
	if err != nil || undone.count == 0 {
		return err
	}
	err = api.Errorf(api.CodeConflict, "The undo of this run was undone itself, at %s: %s.", moment(undone.at),
		display.Plural(undone.count, "row", "rows"))
	again := s.CommandLine("bulk", "undo", "--results", undoPath(undoPath(path)))
	return &command.Advised{Err: err, Advice: "To undo the rows once more, undo that:\n  " + command.Quote(again)}
}

// open reads the results of the run. It refuses those of another server.
func (u Undo) open(path string, connection session.Connection) (*doneRows, error) {
	known, err := readResults(path, nil)
	if err != nil {
		return nil, err
	}
	d := &doneRows{lines: make([]span, known.highest+1), actions: Actions{}}
	if known.rows > 0 {
		unnamed := u.Flags
		unnamed.Job = "" // an undo is named by the results that it undoes
		is := func(name string) bool { return known.batch.mark() == u.mark(name, connection) }
		isUndo := known.batch.mark() == unnamed.mark(undoRun, connection)
		if d.redeems = is(RedeemPerks); !isUndo && !slices.ContainsFunc(undoable, is) {
			return nil, command.Usagef("%s holds the results of another command, server, sandbox or job.", path)
		}
	}
	if d.file, err = os.Open(path); err != nil {
		return nil, command.BadFile("The results cannot be opened", err)
	}
	last, at := make([]operation.Action, len(d.lines)), int64(0)
	err = eachLine(d.file, func(_ int, line []byte) error {
		if result, err := d.result(line); err == nil && result.Row < len(d.lines) {
			d.lines[result.Row], last[result.Row] = span{at, int64(len(line))}, result.Action
			if result.Outcome == Failed {
				d.lines[result.Row] = span{}
			}
		}
		at += int64(len(line))
		return nil
	})
	for row, action := range last {
		if action != "" {
			d.actions[action]++
		}
		if d.lines[row].length > 0 {
			d.order = append(d.order, row)
		}
	}
	slices.SortFunc(d.order, func(a, b int) int { return cmp.Compare(d.lines[b].at, d.lines[a].at) })
	if isOlder := len(d.order) > 0 && len(d.actions) == 0 && !known.states.has(unknown); err == nil && isOlder {
		err = command.Usagef("The results of this run do not say what it has done, because an earlier version of " +
			"perksctl wrote them. So it cannot be undone.")
	}
	if err != nil {
		return nil, errors.Join(err, d.file.Close())
	}
	return d, nil
}

// doneRows are the rows that a run has done, or may have.
type doneRows struct {
	file    *os.File
	lines   []span // by the number of the row: its last result in the file; empty if the row failed
	order   []int  // the rows, the one that was done last first: a record that several changed goes back that way
	actions Actions
	redeems bool // the run redeems, so that this is what a row did whose result does not say it
}

type span struct{ at, length int64 }

// result reads a line of the results.
func (d *doneRows) result(line []byte) (Result, error) {
	result, _, _, err := parseResult(line)
	if d.redeems && result.Outcome == OK {
		result.Action = cmp.Or(result.Action, operation.Redeemed)
	}
	return result, err
}

// places returns the place of each row in the order, from 1, by the number of the row.
func (d *doneRows) places() []int {
	places := make([]int, len(d.lines))
	for i, row := range d.order {
		places[row] = i + 1
	}
	return places
}

// rows yields the result of each row as an object. A later run of the same rows may add results, so a row keeps its own
// line.
func (d *doneRows) rows() iter.Seq2[rows.Row, error] {
	return func(yield func(rows.Row, error) bool) {
		for _, row := range d.order {
			line := d.lines[row]
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

// undone says which rows of a run bulk undo has taken back, and when it last did.
type undone struct {
	rows  []bool // by their numbers
	count int64
	at    time.Time
}

func (u undone) has(row int) bool { return row < len(u.rows) && u.rows[row] }

// readUndone reads what became of the rows of a run. Rows that an undo of the undo has done again do not count. Nor
// does the undo of other results that had the same name: its rows are other lines than these.
func readUndone(results string) (u undone, err error) {
	path := undoPath(results)
	info, err := os.Stat(path)
	if err != nil {
		return u, nil // there is none
	}
	u.at = info.ModTime()
	undo, err := readResults(path, nil)
	if err != nil {
		return u, err
	}
	again, err := readUndone(path)
	if err != nil {
		return u, err
	}
	file, err := os.Open(results)
	if err != nil {
		return u, command.BadFile("The results cannot be opened", err)
	}
	defer file.Close()
	u.rows = make([]bool, undo.highest+1)
	err = eachLine(file, func(_ int, line []byte) error {
		if result, _, _, err := parseResult(line); err == nil && result.Row < len(u.rows) {
			state, content := undo.state(result.Row)
			isLine := content == contentOf(resultRow(result.Row, line))
			u.rows[result.Row] = state >= firstDone && isLine && !again.has(result.Row)
		}
		return nil
	})
	for _, isUndone := range u.rows {
		if isUndone {
			u.count++
		}
	}
	return u, err
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
	undone, err := readUndone(f.resultsPath())
	if err != nil || undone.count == 0 {
		return err
	}
	err = api.Errorf(api.CodeConflict, "%s Nothing was sent, because its rows count as done.",
		undoneSentence(undone.count, known.rows, undone.at))
	return &command.Advised{Err: err, Advice: f.anew(s)}
}

func undoneSentence[N int | int64](undone int64, of N, at time.Time) string {
	return fmt.Sprintf("This run was undone at %s: %s of its %s.", moment(at),
		display.Count(undone), display.Plural(of, "row", "rows"))
}
