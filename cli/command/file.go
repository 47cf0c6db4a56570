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

// NotWithFile refuses flags that are about one record.
func NotWithFile(cmd *cobra.Command, flags ...string) error {
	for _, flag := range flags {
		if cmd.Flags().Changed(flag) {
			return exit.Usagef("--%s is about one record; with --file the rows say it.", flag)
		}
	}
	return nil
}
