package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// completionCommand takes the place of cobra's, which prints help and succeeds where no shell is named.
func (p *program) completionCommand() *cobra.Command {
	shells := []string{"bash", "zsh", "fish"}
	cmd := &cobra.Command{
		Use:       "completion " + strings.Join(shells, "|"),
		Short:     "Print the script with which a shell completes perksd's commands",
		Example:   "  perksd completion bash > /etc/bash_completion.d/perksd",
		Args:      arguments("SHELL"),
		ValidArgs: shells,
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !slices.Contains(shells, args[0]) {
			return usagef(cmd, "there is no script for %q; the shells are %s", args[0], strings.Join(shells, ", "))
		}
		return writeCompletion(cmd.Root(), args[0], p.stdout)
	}
	return cmd
}

func writeCompletion(root *cobra.Command, shell string, out io.Writer) error {
	switch shell {
	case "zsh":
		return root.GenZshCompletion(out)
	case "fish":
		return root.GenFishCompletion(out, true)
	}
	return root.GenBashCompletionV2(out, true)
}
