package command

import (
	"github.com/spf13/cobra"
)

// OrFile lets --file, whose value file points to, stand in place of the arguments.
func OrFile(file *string, arguments cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return arguments(cmd, args)
		}
		if len(args) > 0 {
			return Usagef("%q does not go with --file, whose rows say what is meant.", args[0])
		}
		return nil
	}
}

// NotWithFile refuses flags that are about one record where there is a file of them.
func NotWithFile(cmd *cobra.Command, file string, flags ...string) error {
	for _, flag := range flags {
		if file != "" && cmd.Flags().Changed(flag) {
			return Usagef("--%s is about one record; with --file the rows say it.", flag)
		}
	}
	return nil
}

// FileHelp says what holds for every command that takes --file.
const FileHelp = "The result of each row is written as it ends, by default to FILE.results.jsonl. Running the same command again\n" +
	"resumes, however the run before it ended: rows that are done are not sent again, and those that may be done are\n" +
	"looked up first. --failed keeps the rows that failed, as input for another run. Exit code 7 says that some rows\n" +
	"failed or are unknown, 8 that the server was not reached.\n\n" +
	"--dry-run predicts what each row would do, without changing anything or writing results; --output json lists every\n" +
	"row. It cannot foresee what others do meanwhile, whether the rows above use up the stock, or whether you may change\n" +
	"a record."
