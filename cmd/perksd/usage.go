package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"example.com/perks/cli/usage"
)

// usageError says that a command line asks for something that the program does not offer.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError that ends with where to read more.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+" (see '%s --help')", append(args, cmd.CommandPath())...)}
}

// misused says what is wrong with the flags and, if one is misspelt, which one was meant.
func misused(cmd *cobra.Command, err error) error {
	if meant := usage.Flag(err, cmd.Flags()); meant != "" {
		return usagef(cmd, "%w: did you mean %s?", err, meant)
	}
	return usagef(cmd, "%w", usage.WhatFlagTakes(err))
}

// group is a command that only holds others. Cobra would print help and succeed when the one that is named does not
// exist, which hides a misspelt line in a script.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef(cmd, "name one of the commands %s", strings.Join(childNames(cmd), ", "))
		}
		names := childNames(cmd)
		meant := "; the"
		if closest := usage.Closest(args[0], names); closest != "" {
			meant = fmt.Sprintf(": did you mean %q? The", closest)
		}
		return usagef(cmd, "there is no command %q%s commands are %s", args[0], meant, strings.Join(names, ", "))
	}
	cmd.AddCommand(commands...)
	return cmd
}

func childNames(cmd *cobra.Command) []string {
	var names []string
	for _, child := range cmd.Commands() {
		if child.IsAvailableCommand() {
			names = append(names, child.Name())
		}
	}
	return names
}

// arguments asks for exactly the arguments that are named.
func arguments(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usagef(cmd, "%s is missing", strings.Join(names[len(args):], " and "))
		case len(args) > len(names):
			return usagef(cmd, "the argument %q is one too many", args[len(names)])
		}
		return nil
	}
}
