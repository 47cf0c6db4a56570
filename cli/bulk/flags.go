package bulk

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/completion"
)

const (
	defaultConcurrency = 8
	maxConcurrency     = 256
)

// Flags are the flags of a command that can work through a file.
type Flags struct {
	File        string // "" for a command about one record; "-" is standard input
	Format      string
	Results     string
	Job         string // "" if the file names the run
	Failed      string
	Concurrency int
	Rate        float64
	MaxErrors   int
	AllowEmpty  bool
	DryRun      bool // check every row and send nothing
	Resends     bool // send rows again that may be done; see BindResends

	cmd   *cobra.Command
	flags *pflag.FlagSet
}

// Bind declares the flags, and --dry-run.
func (f *Flags) Bind(cmd *cobra.Command) {
	f.bind(cmd)
	cmd.Flags().BoolVar(&f.DryRun, "dry-run", false,
		"show the request and what it would do, or with --file what each row would do; change nothing")
}

// BindResends declares --resend-unknown, for a command whose rows must not be carried out twice.
func (f *Flags) BindResends(cmd *cobra.Command) {
	f.flags.BoolVar(&f.Resends, "resend-unknown", false,
		"with --file: after a lost reply, send the row again even if the service may carry it out twice")
	cmd.Flags().AddFlag(f.flags.Lookup("resend-unknown"))
}

// bind declares some of the flags.
func (f *Flags) bind(cmd *cobra.Command, names ...string) {
	f.cmd, f.flags = cmd, pflag.NewFlagSet("", pflag.ContinueOnError)
	f.flags.StringVar(&f.Format, "format", "",
		"the format of --file: csv, tsv (with tabs) or jsonl (default by its name, or by how it begins)")
	f.flags.StringVar(&f.Results, "results", "",
		"the `file` with the result of each row, - for standard output (default FILE.results.jsonl; for standard "+
			"input, -); with --job, its directory")
	f.flags.StringVar(&f.Job, "job", "",
		"the `NAME` of a run, for nightly jobs: its results are in NAME.results.jsonl beside the input, or in the "+
			"directory --results")
	f.flags.StringVar(&f.Failed, "failed", "",
		"write the rows that failed, each with the reason, to this `file`, as input for another run")
	f.flags.IntVar(&f.Concurrency, "concurrency", defaultConcurrency,
		"process this many rows at once, 1 to "+strconv.Itoa(maxConcurrency))
	f.flags.Float64Var(&f.Rate, "rate", 0, "start at most this many rows per `second` (default unlimited)")
	f.flags.BoolVar(&f.AllowEmpty, "allow-empty", false, "accept a file without rows")
	f.flags.IntVar(&f.MaxErrors, "max-errors", 0, "stop when this `many` rows have failed (default never)")
	f.flags.StringVar(&f.File, "file", "", "process each row of this `file`, - for standard input")
	for _, name := range names {
		cmd.Flags().AddFlag(f.flags.Lookup(name))
	}
	if len(names) == 0 {
		cmd.Flags().AddFlagSet(f.flags)
		completion.Flag(cmd, "file", completeInput)
	}
	completion.Flag(cmd, "format", completion.Fixed("csv", "tsv", "json", "jsonl"))
	completion.Flag(cmd, "job", f.completeJob)
}

// completeInput completes files with rows.
var completeInput = completion.Files("csv", "tsv", "json", "jsonl")

// CompleteRun completes the file of a run.
func CompleteRun() cobra.CompletionFunc { return completion.InOrder(completeInput) }

// completeJob completes the jobs beside the file with the rows, or in the directory of their results.
func (f *Flags) completeJob(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	dir := filepath.Dir(f.File)
	if len(args) > 0 && f.File == "" {
		dir = filepath.Dir(args[0])
	}
	if f.Results != "" {
		dir = f.Results
	}
	return completion.Fixed(jobs(dir)...)(cmd, args, typed)
}

// Check refuses bad values, the flags of a run without a file, and with one the flags that are about one record.
func (f *Flags) Check(cmd *cobra.Command, aboutOne ...string) (err error) {
	if f.File == "" {
		f.flags.VisitAll(func(flag *pflag.Flag) {
			if flag.Changed {
				err = command.Usagef("--%s needs --file.", flag.Name)
			}
		})
		return err
	}
	if err := f.checkValues(); err != nil {
		return err
	}
	if err := f.checkJob(); err != nil {
		return err
	}
	if cmd.Flags().Changed(command.KeyFlag) {
		return command.Usagef("--%s is for one request. With --file each row has its own.", command.KeyFlag)
	}
	return command.NotWithFile(cmd, f.File, aboutOne...)
}

// checkValues refuses values that no run can have.
func (f *Flags) checkValues() error {
	changed := f.flags.Changed
	switch {
	case f.Concurrency < 1 || f.Concurrency > maxConcurrency:
		return command.Usagef("--concurrency must be between 1 and %d.", maxConcurrency)
	case changed("rate") && !(f.Rate > 0):
		return command.Usagef("--rate must be above 0.")
	case changed("max-errors") && f.MaxErrors < 1:
		return command.Usagef("--max-errors must be at least 1.")
	}
	return nil
}

const stdout = "-"

// checkPaths refuses results and failed rows that would not go to regular files of their own: no run can resume from a
// pipe. It returns the path of the results.
func (f Flags) checkPaths(out io.Writer) (results string, err error) {
	results = f.resultsPath()
	if strings.HasPrefix(results, "/dev/fd/") {
		return "", command.Usagef("No results can be beside %s, which the shell made for this command alone. "+
			"Name a file for them, --results FILE, or write them to standard output: --results -", f.File)
	}
	if info, err := os.Stat(results); err == nil && results != "" {
		if !info.Mode().IsRegular() {
			return "", command.Usagef("--results %s is not a regular file, so a later run could not resume from it. Name a file, or - for standard output.", results)
		}
		if file, ok := out.(*os.File); ok && isFile(file, info) {
			return "", command.Usagef("--results %s is standard output, where other data goes too. Name another file, or - for standard output alone.", results)
		}
	}
	if f.Failed == stdout {
		return "", command.Usagef("--failed needs a file, not standard output: it is written as a whole when the run ends.")
	}
	if info, err := os.Stat(f.Failed); err == nil && f.Failed != "" && !info.Mode().IsRegular() {
		return "", command.Usagef("--failed %s is not a regular file, so it would be replaced by one. Name a file.",
			f.Failed)
	}
	// a file has one journal whatever it is called, and a link stays a link
	if real, err := filepath.EvalSymlinks(results); err == nil && results != "" {
		results = real
	}
	return results, f.checkSame(results)
}

// checkFailed refuses a name from which another run would infer the wrong format.
func (f Flags) checkFailed(format rows.Format) error {
	is, err := rows.FormatOf(f.Failed)
	if err != nil || is == format {
		return nil // otherwise a run goes by how the file begins
	}
	name := strings.TrimSuffix(f.Failed, filepath.Ext(f.Failed)) + "." + string(format)
	return command.Usagef("--failed %s would hold %s rows, as --file does, but its name says %s. Name it %s.", f.Failed,
		format, is, name)
}

// checkSame refuses files that would overwrite each other.
func (f Flags) checkSame(results string) error {
	type file struct{ flag, path string }
	files := []file{{"--file", f.File}, {"--failed", f.Failed}}
	if results != "" {
		files = append(files, file{"--results", results}, file{"the journal of --results", results + ".journal"},
			file{"the record of --results", results + recordSuffix})
	}
	for i, a := range files {
		for _, b := range files[:i] {
			if a.path != "" && b.path != "" && b.path != stdin && isSameFile(a.path, b.path) {
				return command.Usagef("%s and %s are the same file, %s: one would overwrite the other.", b.flag, a.flag,
					a.path)
			}
		}
	}
	return nil
}

func isSameFile(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}
