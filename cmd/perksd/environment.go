package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/cli/usage"
)

// variable is the environment variable that stands in for a flag.
func variable(flag string) string {
	return "PERKSD_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasVariable reports whether the environment may set the flag: those of serve and those that choose the database. Other flags
// belong to one command, and a variable meant for it would change or break every command with a flag of that name.
func hasVariable(cmd *cobra.Command, f *pflag.Flag) bool {
	switch f.Name {
	case "help", "version":
		return false
	case "database", "sandbox-database", sandboxFlagName:
		return true
	}
	return cmd.CommandPath() == "perksd serve"
}

// nameVariables writes into a flag's help by which variable it can be given. It comes before cobra adds flags of its own, such
// as --help, so that those have none.
func nameVariables(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		if hasVariable(cmd, f) {
			f.Usage += " [" + variable(f.Name) + "]"
		}
	}
	cmd.PersistentFlags().VisitAll(name)
	cmd.LocalNonPersistentFlags().VisitAll(name)
	for _, child := range cmd.Commands() {
		nameVariables(child)
	}
}

// readVariables sets every flag that the command line left out and whose variable is not empty. It warns of a variable that it
// ignores, because somebody may rely on it.
func readVariables(cmd *cobra.Command, getenv func(string) string, warnings io.Writer) error {
	var problem error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value := getenv(variable(f.Name))
		switch {
		case problem != nil || f.Changed || value == "" || f.Name == "yes": // --yes never had a variable
		case !hasVariable(cmd, f):
			fmt.Fprintf(warnings, "perksd: %s is not read; give --%s on the command line\n", variable(f.Name), f.Name)
		default:
			if err := cmd.Flags().Set(f.Name, value); err != nil {
				problem = usagef(cmd, "the environment variable %s is not valid: %w", variable(f.Name), usage.WhatFlagTakes(err))
			}
		}
	})
	return problem
}
