package bulk

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// results is the file with a line for each finished row. A retried row has several lines during a run; the last one
// counts, and compact removes the others.
type results struct {
	path           string
	skipUnreadable bool
	states         *rowStates
	batch          batch                    // of the lines, if there are any
	written        time.Time                // by earlier runs
	codes          map[int]string           // of rows that are not done, or are pending; nil if nobody asks
	actions        map[int]operation.Action // of rows that are done, if somebody asks for the codes

	mu      sync.Mutex
	out     io.Writer
	file    *os.File // nil for standard output
	broken  error    // of a write; no other may follow
	lines   int      // in the file
	rows    int      // with at least one line
	highest int      // the last row with a line
}

// openResults reads the results of earlier runs, and prepares to append. It cuts off a half-written last line.
//
// A power cut can leave unreadable lines. With skipUnreadable they are skipped, because the journal covers their rows.
func openResults(path string, skipUnreadable bool) (*results, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, command.BadFile("The results cannot be opened", err)
	}
	r := &results{path: path, skipUnreadable: skipUnreadable, states: newRowStates(), out: file, file: file}
	if info, err := file.Stat(); err == nil {
		r.written = info.ModTime()
	}
	end, err := r.read()
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	last := []byte{'\n'}
	if err == nil && end > 0 {
		_, err = file.ReadAt(last, end-1)
	}
	if err == nil && last[0] != '\n' {
		_, err = file.WriteString("\n")
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

// streamResults writes results to a stream, which no later run reads.
func streamResults(out io.Writer) *results {
	return &results{states: newRowStates(), out: out}
}

// read fills the states, and returns where the last whole line ends.
func (r *results) read() (end int64, err error) {
	err = eachLine(r.file, func(number int, line []byte) error {
		result, of, content, err := parseResult(line)
		if err == nil && r.rows > 0 && of != r.batch {
			err = errors.New("is of another run than the lines above")
		}
		switch {
		case err != nil && r.skipUnreadable && number > 1:
			r.lines++ // compact removes it
		case err != nil && r.rows > 0:
			return command.Usagef("Line %d of %s %s, unlike the lines above it. Correct that line. With another file, every row would be sent again", number, r.path, err)
		case err != nil:
			return command.Usagef("Line %d of %s %s. %s", number, r.path, err, otherName)
		default:
			r.batch = of
			r.note(result, content)
		}
		end += int64(len(line))
		return nil
	})
	return end, err
}

var resultStart = []byte(`{"row":`)

// eachLine calls f with each complete line, including its line end. A killed process can leave half a line at the end.
func eachLine(from io.Reader, f func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(from, 256<<10)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && number == 1 && !bytes.HasPrefix(resultStart, line) &&
			!bytes.HasPrefix(line, resultStart):
			return f(number, line) // not a file of ours, which must not be cut
		case errors.Is(err, io.EOF):
			if _, _, _, err := parseResult(line); err != nil {
				return nil // half a line is not valid JSON
			}
			return f(number, line) // an editor removed the line end
		case err != nil:
			return command.BadFile("The results cannot be read", err)
		}
		if err := f(number, line); err != nil {
			return err
		}
	}
}

// note updates the state of the line's row.
func (r *results) note(result Result, content uint32) {
	if before, _ := r.states.get(result.Row); before == untried {
		r.rows++
	}
	r.lines++
	r.highest = max(r.highest, result.Row)
	state := unknown
	switch result.Outcome {
	case OK:
		state = r.states.hash(result.ID)
	case Failed:
		state = failed
	}
	delete(r.codes, result.Row)
	delete(r.actions, result.Row)
	if result.Action == "" && result.RedemptionStatus != "" { // an earlier version wrote it
		result.Action = operation.Redeemed
	}
	if r.actions != nil && result.Action != "" {
		r.actions[result.Row] = result.Action
	}
	switch {
	case r.codes == nil:
	case result.Outcome != OK:
		r.codes[result.Row] = result.Code
	case result.RedemptionStatus == api.StatusPending:
		r.codes[result.Row] = string(result.RedemptionStatus)
	}
	r.states.set(result.Row, state, content)
}

// add appends a row's result, in one write.
func (r *results) add(result Result, content uint32) error {
	line, err := json.Marshal(result)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.note(result, content)
	if r.broken == nil {
		_, r.broken = r.out.Write(append(line, '\n'))
	}
	if r.broken != nil { // no line may follow half a line
		return fmt.Errorf("the results cannot be written: %w", r.broken)
	}
	return nil
}

// state returns the state of a row and the hash of its content.
func (r *results) state(row int) (state uint64, content uint32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states.get(row)
}

// rowState returns what earlier runs know of a row.
func (r *results) rowState(row int) operation.RowState {
	switch state, _ := r.state(row); state {
	case untried:
		return operation.RowUntried
	case failed:
		return operation.RowFailed
	case unknown:
		return operation.RowUnknown
	}
	return operation.RowDone
}

// doneAfter returns a row behind a line that is done or may be, 0 if there is none.
func (r *results) doneAfter(line int) int {
	for row := line + 1; row <= r.highest; row++ {
		if state, _ := r.state(row); state >= unknown {
			return row
		}
	}
	return 0
}

// taken tells whether the id is the outcome of some row.
func (r *results) taken(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.states.hasID(id)
}

// finish flushes the file to disk, with one line for each row.
func (r *results) finish() error {
	if r.file == nil {
		return nil
	}
	if named, err := os.Stat(r.path); err != nil || !isFile(r.file, named) {
		return errors.Join(fmt.Errorf("%s was moved or replaced during the run. Run again: perksctl looks up which rows are done", r.path), r.file.Close())
	}
	if r.lines > r.rows {
		if err := r.compact(); err != nil {
			return fmt.Errorf("the results cannot be compacted: %w", err)
		}
	}
	if err := errors.Join(r.file.Sync(), r.file.Close()); err != nil {
		return fmt.Errorf("the results cannot be written: %w", err)
	}
	return nil
}

func isFile(file *os.File, named os.FileInfo) bool {
	opened, err := file.Stat()
	return err == nil && os.SameFile(opened, named)
}

// abandon closes the file as it is, and removes it if it is empty.
func (r *results) abandon() error {
	if r.file == nil {
		return nil
	}
	info, err := r.file.Stat()
	if err == nil && info.Size() == 0 {
		err = os.Remove(r.path)
	}
	return errors.Join(err, r.file.Close())
}

// compact replaces the file by one with only the last line of each row.
func (r *results) compact() (err error) {
	last := make([]uint32, r.highest+1)
	err = r.reread(func(number uint32, row int, _ []byte) error {
		last[row] = number
		return nil
	})
	if err != nil {
		return err
	}
	compacted, err := os.CreateTemp(filepath.Dir(r.path), "."+filepath.Base(r.path)+".*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, compacted.Close(), os.Remove(compacted.Name()))
		}
	}()
	out := bufio.NewWriterSize(compacted, 256<<10)
	err = r.reread(func(number uint32, row int, line []byte) error {
		if last[row] != number {
			return nil
		}
		_, err := out.Write(line)
		return err
	})
	if err := errors.Join(err, out.Flush(), compacted.Sync()); err != nil {
		return err
	}
	if info, err := r.file.Stat(); err == nil {
		_ = compacted.Chmod(info.Mode().Perm()) // the permissions stay where possible
	}
	if err := os.Rename(compacted.Name(), r.path); err != nil {
		return err
	}
	old := r.file
	r.file, r.lines = compacted, r.rows
	return errors.Join(old.Close(), command.SyncDir(r.path))
}

// reread reads the lines once more, and skips what was skipped when the file was opened.
func (r *results) reread(f func(number uint32, row int, line []byte) error) error {
	if _, err := r.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return eachLine(r.file, func(number int, line []byte) error {
		result, _, _, err := parseResult(line)
		if err != nil && r.skipUnreadable {
			return nil
		}
		if err != nil {
			return err
		}
		return f(uint32(number), result.Row, line) // #nosec G115 -- no results have four thousand million lines
	})
}

// peekResults reads the results of earlier runs without changing them.
func peekResults(f Flags, out io.Writer, mark uint32) (*results, error) {
	path, err := f.checkPaths(out)
	if err != nil {
		return nil, err
	}
	r, err := readResults(path, nil)
	if err == nil && r.rows > 0 {
		err = r.batch.checkMark(mark, path)
	}
	return r, err
}

// readResults reads results, even while a run adds to them, and the codes of their rows if codes is not nil. If there
// are none, the results have no file.
func readResults(path string, codes map[int]string) (*results, error) {
	file, err := os.Open(path)
	if path == "" || errors.Is(err, fs.ErrNotExist) {
		return streamResults(nil), nil
	}
	if err != nil {
		return nil, command.BadFile("The results cannot be opened", err)
	}
	defer file.Close()
	r := &results{path: path, states: newRowStates(), file: file, skipUnreadable: true, codes: codes}
	if codes != nil {
		r.actions = map[int]operation.Action{}
	}
	_, err = r.read()
	return r, err
}

// Result is a line of the results: the outcome of one row.
type Result struct {
	Row     int    `json:"row"` // the line of the input on which the row begins
	Key     string `json:"key"` // the idempotency key of the row's request
	Outcome string `json:"outcome"`
	Status  int    `json:"status"`         // of the HTTP response; 0 if there was none
	Code    string `json:"code"`           // of the error; "" if the row is done
	Message string `json:"message"`        // for people; "" if the row is done
	ID      string `json:"id"`             // of the redemption, the property or the perk; "" if there is none
	Kind    string `json:"kind,omitempty"` // "perk", or "" for a redemption and a property

	RedemptionStatus api.RedemptionStatus `json:"redemption_status,omitempty"` // when the row was redeemed

	// What was done if the row is done, as in operation.Outcome. Earlier versions did not note it.
	Action     operation.Action `json:"action,omitempty"`
	ETag       string           `json:"etag,omitempty"`
	ETagBefore string           `json:"etag_before,omitempty"`
	Before     json.RawMessage  `json:"before,omitempty"`
	After      json.RawMessage  `json:"after,omitempty"`
}

// ChangedNothing tells whether the record was already as the row wants it.
func (r Result) ChangedNothing() bool {
	return r.ETag != "" && client.SameVersion(r.ETag, r.ETagBefore) || r.Before != nil && bytes.Equal(r.Before, r.After)
}

// The outcomes of a row.
const (
	OK      = "ok"
	Failed  = "failed"  // the change was not made
	Unknown = "unknown" // the change may have been made; the next run finds out
)

// The codes of rows that the service did not decide.
const (
	invalidRow     = "invalid_row"     // unreadable
	heldBack       = "held_back"       // an earlier row changes the same record, and its outcome is unknown
	ambiguous      = "ambiguous"       // the reply was lost, and what was found may belong to another request
	outcomeUnknown = "outcome_unknown" // the reply was lost, and nothing was found
)

// newResult describes what became of a row. The row and the key are left out.
func newResult(of operation.RowResult) *Result {
	made := of.Outcome
	r := &Result{
		Outcome: OK, Status: made.Status, ID: made.ID, Kind: made.Kind, RedemptionStatus: made.RedemptionStatus,
	}
	if of.State == operation.RowDone {
		r.Action, r.ETag, r.ETagBefore = made.Action, made.ETag, made.ETagBefore
		r.Before, r.After = made.Before, made.After
		return r
	}
	r.Outcome = Failed
	if of.State == operation.RowUnknown {
		r.Outcome = Unknown
	}
	err, code := of.Err, ""
	switch of.Why {
	case operation.Invalid:
		code = invalidRow
	case operation.HeldBack:
		err = fmt.Errorf("held back: line %d changes the same record and its outcome is unknown", of.Behind)
		code = heldBack
	case operation.Ambiguous:
		r.ID, r.RedemptionStatus, made.Status = "", "", 0
		err, code = fmt.Errorf("the reply was lost, and %s may belong to this row or to another request. If nobody "+
			"else redeems for these users, run again with --assume-mine", made.ID), ambiguous
	case operation.NotResent:
		code = outcomeUnknown
	}
	report := output.NewReport(err)
	r.Status, r.Code, r.Message = cmp.Or(made.Status, report.Status), cmp.Or(code, report.Code), report.Sentence()
	if of.Why == operation.NotResent {
		r.Message = strings.TrimSuffix(r.Message, ".") + ". It was not sent again, because this service has " +
			"not shown that it would not be done twice. Check it, or run again with --resend-unknown."
	}
	return r
}

var errNoResult = errors.New("is not a result of perksctl")

// parseResult reads a line of the results, and the batch and the row's content that its key names.
func parseResult(line []byte) (r Result, b batch, content uint32, err error) {
	if err := json.Unmarshal(line, &r); err != nil {
		return r, b, 0, errNoResult
	}
	b, row, content, ok := parseKey(r.Key)
	if !ok || row != r.Row {
		return r, b, 0, errNoResult
	}
	switch r.Outcome {
	case OK, Failed, Unknown:
		return r, b, content, nil
	}
	return r, b, 0, fmt.Errorf("%w: %q is not an outcome", errNoResult, r.Outcome)
}
