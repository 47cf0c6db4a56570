package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// Status is the progress of a run, from its files.
type Status struct {
	Rows     int64            `json:"rows"` // of the input
	OK       int64            `json:"ok"`
	Failed   int64            `json:"failed"`
	Unknown  int64            `json:"unknown"`
	NotTried int64            `json:"not_tried"`
	Pending  int64            `json:"pending"` // of the ok ones, those that waited for approval when they were redeemed
	Undone   int64            `json:"undone"`  // of the ok ones, those that bulk undo has taken back
	Undo     Actions          `json:"undo"`    // of the ok ones, those that bulk undo would take back, by what was done
	Codes    map[string]int64 `json:"codes"`   // of the rows that failed or are unknown
	Running  bool             `json:"running"` // a run is in progress
	Began    *time.Time       `json:"began"`
	UndoneAt *time.Time       `json:"undone_at"`
	Results  string           `json:"results"`
	Resume   string           `json:"resume"` // the command that resumes the run; "" if nothing is left, or if it is not recorded
}

// interrupted is the code of rows that a killed run may have sent, and that have no result.
const interrupted = "interrupted"

// NewStatus makes the command.
func NewStatus(s *session.Session) *cobra.Command {
	f := &Flags{}
	cmd := session.Command(s, output.View{ID: "results"}, cobra.Command{
		Use:   "status {FILE | --job NAME}",
		Short: "Show the progress of a run with --file",
		Long: `Show the progress of a run with --file, from its results and its journal, without asking the service, and
what bulk undo would take back. The exit code is 0 if every row is done, 5 if the file was never run, 6 if it has
changed since or the run was undone, and 7 if rows failed, are unknown or were not tried.`,

		Example: "  perksctl bulk status winners.csv\n  perksctl bulk status --job winners-2026-01-31 --results /var/lib/perks -o json",

		ValidArgsFunction: CompleteRun(),
	}, func(cmd *cobra.Command, args []string, printer *output.Printer[Status]) error {
		if err := f.takeRun(cmd, args); err != nil {
			return err
		}
		status, err := f.status(cmd.Context(), s.Streams)
		if err != nil {
			return err
		}
		if err := printer.One(cmd.Context(), status); err != nil {
			return err
		}
		return status.exitError()
	})
	f.bind(cmd, "job", "results", "format")
	return cmd
}

// takeRun reads which run is meant: that of the file in the arguments, or that of --job or --results.
func (f *Flags) takeRun(cmd *cobra.Command, args []string) error {
	if len(args) == 0 && f.Job == "" && (f.Results == "" || f.Results == stdout) {
		return command.Usagef("FILE is missing. Name the file of the run, or the run: --job NAME. Usage: %s",
			cmd.UseLine())
	}
	if len(args) > 0 {
		f.File = args[0]
		if err := command.Exactly("FILE")(cmd, args); err != nil {
			return err
		}
		if info, err := os.Stat(f.File); err == nil && info.IsDir() {
			return command.Usagef("%s is a directory. Name the file of the run, or the run: --job NAME.", f.File)
		}
		if run, isResults := strings.CutSuffix(f.File, resultsSuffix); isResults {
			if _, err := os.Stat(f.File + resultsSuffix); err != nil {
				f.File = run
			}
		}
	}
	if err := f.checkName(); err != nil {
		return err
	}
	if f.resultsPath() == "" {
		return command.Usagef("The results went to standard output, so perksctl cannot tell about that run. Name a run with a results file.")
	}
	return nil
}

func (f Flags) status(ctx context.Context, s *command.Streams) (Status, error) {
	status := Status{Results: f.resultsPath(), Undo: Actions{}, Codes: map[string]int64{}}
	known, err := readResults(status.Results, map[int]string{})
	if err != nil {
		return status, err
	}
	made, err := readRecord(status.Results)
	if err != nil {
		return status, err
	}
	j, running, err := peekJournal(status.Results)
	if err != nil {
		return status, err
	}
	switch {
	case known.rows > 0:
		status.Began = new(known.batch.began())
	case j.leftover:
		status.Began = new(j.batch.began())
	case known.file == nil && !running:
		return status, noRun(status.Results)
	}
	status.Running = running
	count := func(row int) {
		status.Rows++
		switch state, _ := known.state(row); {
		case state >= firstDone:
			status.OK++
			if known.codes[row] == string(api.StatusPending) {
				status.Pending++
			}
		case state == failed:
			status.Failed++
			status.Codes[known.codes[row]]++
		case state == unknown:
			status.Unknown++
			status.Codes[known.codes[row]]++
		case j.leftover && !running && row <= j.sent:
			status.Unknown++
			status.Codes[interrupted]++
		default:
			status.NotTried++
		}
	}
	isNamed := f.File != ""
	f.File, f.Format = cmp.Or(f.File, made.File), cmp.Or(f.Format, made.Format)
	lost := "The input cannot be read again"
	info, err := os.Stat(f.File)
	isReadable := err == nil && info.Mode().IsRegular() // unlike standard input
	if isReadable {
		err := f.checkSameFile(ctx, status.Results, j)
		switch {
		case err == nil:
			err = f.eachRow(ctx, count)
		case errors.As(err, new(*command.Advised)) && !isNamed:
			isReadable, lost, err = false, f.File+" is not the file of this run any more", nil
		}
		if err != nil {
			return status, err
		}
	}
	if !isReadable {
		s.Warn("%s, so this counts only rows with a result.", lost)
		for row := 1; row <= known.highest; row++ {
			if state, _ := known.state(row); state != untried {
				count(row)
			}
		}
	}
	undone, err := readUndone(status.Results)
	if err != nil {
		return status, err
	}
	for row, action := range known.actions {
		if action.IsReversible() && !undone.has(row) {
			status.Undo[action]++
		}
	}
	if status.Undone = undone.count; undone.count > 0 {
		status.UndoneAt = &undone.at
		return status, nil
	}
	if status.OK < status.Rows && made.Command != "" {
		status.Resume = made.Command
		if dir, err := os.Getwd(); err == nil && dir != made.Dir {
			status.Resume = "cd " + command.Quote([]string{made.Dir}) + " && " + status.Resume
		}
	}
	return status, nil
}

// eachRow calls count with the line of each row of the file.
func (f Flags) eachRow(ctx context.Context, count func(row int)) error {
	in, err := openInput(f, nil)
	if err != nil {
		return err
	}
	defer in.close()
	for row, err := range in.rows() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		line, err := lineOf(row, err)
		if err != nil {
			return in.explain(err, 0)
		}
		count(line)
	}
	return nil
}

func noRun(results string) error {
	return api.Errorf(api.CodeNotFound, "There is no such run: %s does not exist.", results)
}

func (s Status) exitError() error {
	switch {
	case s.Running:
		return command.RowsFailed("A run is in progress.")
	case s.Undone > 0:
		return api.Errorf(api.CodeConflict, "%s", undoneSentence(s.Undone, s.Rows, *s.UndoneAt))
	case s.OK == s.Rows:
		return nil
	}
	advice := "To resume:\n  " + s.Resume
	if s.Resume == "" {
		advice = "To resume, run the command again."
	}
	message := fmt.Sprintf("Not every row is done: %s failed, %s unknown, %s not tried.",
		display.Count(s.Failed), display.Count(s.Unknown), display.Count(s.NotTried))
	return &command.Advised{Err: command.RowsFailed(message), Advice: advice, Retry: s.Resume}
}
