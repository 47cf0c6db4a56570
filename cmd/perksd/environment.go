package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// variable is the environment variable that stands in for a flag.
func variable(flag string) string {
	return "PERKSD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasVariable holds for every flag but those that are for one command line alone. A yes that lies in the environment would
// agree to what nobody was asked.
func hasVariable(f *pflag.Flag) bool {
	return f.Name != "help" && f.Name != "version" && f.Name != "yes"
}

// nameVariables writes into every flag's help by which variable it can be given. It comes before cobra adds flags of its
// own, such as --help, so that those have none.
func nameVariables(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		if hasVariable(f) {
			f.Usage += " [" + variable(f.Name) + "]"
		}
	}
	cmd.PersistentFlags().VisitAll(name)
	cmd.LocalNonPersistentFlags().VisitAll(name)
	for _, child := range cmd.Commands() {
		nameVariables(child)
	}
}

// readVariables sets every flag that the command line left out and whose variable is not empty.
func readVariables(cmd *cobra.Command, getenv func(string) string) error {
	var problem error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := getenv(variable(f.Name))
		if problem != nil || f.Changed || value == "" || !hasVariable(f) {
			return
		}
		if err := cmd.Flags().Set(f.Name, value); err != nil {
			problem = usagef(cmd, "the environment variable %s is not valid: %w", variable(f.Name), whatFlagTakes(err))
		}
	})
	return problem
}
