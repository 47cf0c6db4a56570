package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"example.com/perks/api/build"
)

func (p *program) versionCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version, and the commit that it was built from",
		Example: "  perksd version\n  perksd version -o json",
		Args:    arguments(),
	}
	output := outputFlag(cmd, "text", "json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if output.value == "json" {
			return printJSON(p.stdout, build.Read())
		}
		_, err := fmt.Fprintln(p.stdout, build.Read().Line("perksd"))
		return err
	}
	return cmd
}
