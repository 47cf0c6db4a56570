package command

import (
	"github.com/spf13/cobra"

	"example.com/perks/cli/exit"
)

// OrFile lets --file, whose value file points to, stand in place of the arguments.
func OrFile(file *string, arguments cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if *file == "" {
			return arguments(cmd, args)
		}
		if len(args) > 0 {
			return exit.Usagef("%q does not go with --file, whose rows say what is meant.", args[0])
		}
		return nil
	}
}

// NotWithFile refuses flags that are about one record where there is a file of them.
func NotWithFile(cmd *cobra.Command, file string, flags ...string) error {
	for _, flag := range flags {
		if file != "" && cmd.Flags().Changed(flag) {
			return exit.Usagef("--%s is about one record; with --file the rows say it.", flag)
		}
	}
	return nil
}

// FileHelp says what holds for every command that takes --file.
const FileHelp = "The result of each row is written as it ends, by default to FILE.results.jsonl. Running the same command again\n" +
	"resumes, however the run before it ended: rows that are done are not sent again, and those that may be done are\n" +
	"looked up first. --failed keeps the rows that failed, as input for another run. Exit code 7 says that some rows\n" +
	"failed or are unknown, 8 that the server was not reached.\n\n" +
	"--dry-run reads what every row is about and says what would become of it, with --output json row by row. It sends no\n" +
	"change and writes no results. It cannot know what others do meanwhile, how much stock the rows above use up, or who\n" +
	"may change a record."
