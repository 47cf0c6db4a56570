// Command hello is the baseline for the start time of perksctl: a minimal cobra program that prints one line.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

func main() {
	command := &cobra.Command{
		Use: "hello",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), "hello")
			return err
		},
	}
	if command.Execute() != nil {
		os.Exit(1)
	}
}
