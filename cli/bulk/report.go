package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Summary is the outcome of a run, for programs. Each row that was read is ok, failed or unknown.
type Summary struct {
	Rows    int64     `json:"rows"`
	OK      int64     `json:"ok"`
	Failed  int64     `json:"failed"`
	Unknown int64     `json:"unknown"`
	Skipped int64     `json:"skipped"` // of the ok ones, those that an earlier run has done
	Pending int64     `json:"pending"` // of the ok ones, those that this run redeemed and somebody has yet to approve
	Began   time.Time `json:"began"`   // the first run, if this one resumes it
	Results string    `json:"results"` // the file with a line for each row; "" if they went to standard output
}

// printer prints the outcome for programs.
func printer(s *session.Session) (*output.Printer[Summary], error) {
	return output.New[Summary](s.Output, s.Streams, output.View{ID: "results"})
}

// checkOutput refuses fields that the outcome does not have, before anything is sent. A dry run has others.
func (f Flags) checkOutput(s *session.Session) error {
	if f.DryRun {
		return nil
	}
	_, err := printer(s)
	return err
}

// conclude closes the files, shows the outcome, and returns the error that the command ends with.
func (r *run) conclude(ctx context.Context, s *session.Session, cause error) error {
	err := r.runState.close()
	if r.failedRows != nil {
		err = errors.Join(err, r.failedRows.finish(r.partial))
	}
	r.mu.Lock()
	counts := r.counts
	r.mu.Unlock()
	summary := Summary{
		Rows: counts.Done, OK: counts.OK + counts.Skipped, Failed: counts.Failed, Unknown: counts.Unknown,
		Skipped: counts.Skipped, Pending: counts.Pending, Began: r.batchID.began(), Results: r.results.path,
	}
	r.show(summary, cause)
	didNothing := summary.Rows > 0 && summary.Skipped == summary.Rows && cause == nil
	if didNothing && r.input.made == nil && err == nil {
		r.streams.Note("Nothing was sent: the run of %s has done every row. %s", moment(summary.Began),
			r.options.anew(s))
	}
	if !errors.Is(cause, context.Canceled) && r.results.file != nil {
		outcome, printErr := printer(s)
		if printErr == nil {
			printErr = outcome.Done(ctx, summary)
		}
		err = errors.Join(err, printErr)
	}
	if err != nil {
		return errors.Join(err, cause)
	}
	return r.exitError(s, summary, cause)
}

// moment is when a run began or was undone, for people.
func moment(at time.Time) string { return at.Local().Format("2006-01-02 15:04 MST") }

// show writes the outcome, and the first rows that are not done.
func (r *run) show(s Summary, cause error) {
	for _, result := range r.shown {
		r.streams.Warn("line %d %s: %s", result.Row, outcomeWords[result.Outcome], result.Message)
	}
	if hidden := s.Failed + s.Unknown - int64(len(r.shown)); hidden > 0 {
		var byCode []string
		for _, code := range slices.SortedFunc(maps.Keys(r.codes), func(a, b string) int {
			return cmp.Or(cmp.Compare(r.codes[b], r.codes[a]), cmp.Compare(a, b))
		}) {
			byCode = append(byCode, display.Count(r.codes[code])+" "+code)
		}
		r.streams.Warn("%s more. All by code: %s.", display.Count(hidden), strings.Join(byCode, ", "))
	}
	if s.Rows == 0 && cause != nil {
		return
	}
	text := display.Plural(s.Rows, "row", "rows")
	if r.partial && r.total > s.Rows {
		text = display.Count(s.Rows) + " of " + display.Plural(r.total, "row", "rows")
	}
	text += ": " + display.Count(s.OK-s.Pending) + " done"
	if s.Skipped > 0 {
		text += fmt.Sprintf(" (%s of them by an earlier run)", display.Count(s.Skipped))
	}
	if s.Pending > 0 {
		text += ", " + display.Plural(s.Pending, "waits", "wait") + " for approval"
	}
	if s.Failed > 0 {
		text += ", " + display.Count(s.Failed) + " failed"
	}
	if s.Unknown > 0 {
		text += ", " + display.Count(s.Unknown) + " unknown"
	}
	r.streams.Note("%s.", text)
	if s.Results != "" && s.Rows > 0 {
		r.streams.Note("The result of each row is in %s.", s.Results)
	}
	if r.failedRows != nil && s.Failed > 0 {
		r.streams.Note("The rows that failed are in %s.", r.failedRows.path)
	}
}

var outcomeWords = map[string]string{Failed: "failed", Unknown: "may have been done"}

// exitError says why the run stopped, or that some rows are not done.
func (r *run) exitError(s *session.Session, summary Summary, cause error) error {
	resume := r.options.commandLine(s)
	again := "To resume, run the same command again; it skips the rows that are done:\n  " + resume
	if r.results.file == nil {
		resume, again = "", "The results went to standard output, so no run can resume. They say which rows are done."
	}
	left := display.Count(summary.Failed) + " failed, " + display.Count(summary.Unknown) + " unknown"
	var usage *command.UsageError
	switch {
	case errors.As(cause, &usage) && summary.Rows == summary.Skipped, client.IsUnsupported(cause):
		return cause
	case errors.Is(cause, errTooMany):
		cause = command.RowsFailed("Stopped, because too many rows are not done: " + left + ".")
	case operation.IsFailing(cause):
		cause = &command.Outage{Err: cause}
	case cause != nil:
	case summary.Failed+summary.Unknown > 0:
		cause = command.RowsFailed("Not every row is done: " + left + ".")
	default:
		return nil
	}
	return &command.Advised{Err: cause, Advice: again, Retry: resume}
}

// stats counts the outcomes of the rows, and shows progress.
type stats struct {
	streams  *command.Streams
	progress *command.Progress
	total    int64 // rows of the input, 0 if unknown

	mu     sync.Mutex
	counts command.Counts
	codes  map[string]int64 // of the rows that are not done
	shown  []Result         // the first of them
}

// maxShown is how many of the rows that are not done are shown.
const maxShown = 5

// count counts a row, nil for one that an earlier run has done, and returns how many have failed or are unknown so far.
func (t *stats) count(r *Result) (failures int64) {
	t.mu.Lock()
	t.counts.Done++
	switch {
	case r == nil:
		t.counts.Skipped++
	case r.Outcome == OK:
		t.counts.OK++
		if r.RedemptionStatus == api.StatusPending {
			t.counts.Pending++
		}
	case r.Outcome == Failed:
		t.counts.Failed++
	default:
		t.counts.Unknown++
	}
	if r != nil && r.Outcome != OK {
		t.codes[r.Code]++
		if len(t.shown) < maxShown {
			t.shown = append(t.shown, *r)
		}
	}
	counts := t.counts
	t.mu.Unlock()
	t.progress.Update(counts)
	return counts.Failed + counts.Unknown
}
