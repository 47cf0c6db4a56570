package bulk

import (
	"strconv"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
)

const (
	defaultConcurrency = 8
	maxConcurrency     = 256
)

// Flags are the flags of a command that can work through a file.
type Flags struct {
	File        string // "" if the command is not to work through a file; "-" is standard input
	Format      string
	Results     string
	Failed      string
	Concurrency int
	Rate        float64
	MaxErrors   int
	AllowEmpty  bool

	cmd *cobra.Command
}

// Bind declares the flags.
func (f *Flags) Bind(cmd *cobra.Command) {
	f.cmd = cmd
	flags := cmd.Flags()
	flags.StringVar(&f.File, "file", "", "work through the rows of this `file`, - for standard input")
	flags.StringVar(&f.Format, "format", "", "what --file is: csv or jsonl (default by its name, or by how it begins)")
	flags.StringVar(&f.Results, "results", "", "write the result of each row to this `file`, - for standard output (default FILE.results.jsonl; for standard input, -)")
	flags.StringVar(&f.Failed, "failed", "", "write the rows that failed, each with the reason, to this `file`, as input for another run")
	flags.IntVar(&f.Concurrency, "concurrency", defaultConcurrency, "how many rows are under way at once, 1 to "+strconv.Itoa(maxConcurrency))
	flags.Float64Var(&f.Rate, "rate", 0, "begin at most this many rows per `second` (default as many as can be)")
	flags.BoolVar(&f.AllowEmpty, "allow-empty", false, "accept a file without rows")
	flags.IntVar(&f.MaxErrors, "max-errors", 0, "take no further rows when this `many` have failed (default go on)")
}

// Check refuses values that no run can have, and the flags of a run where there is no file.
func (f *Flags) Check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	if f.File == "" {
		for _, name := range []string{"file", "format", "results", "failed", "concurrency", "rate", "max-errors", "allow-empty"} {
			if changed(name) {
				return command.Usagef("--%s is for a run over many rows; name them with --file.", name)
			}
		}
		return nil
	}
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
