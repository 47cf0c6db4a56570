package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usageError says that a command line asks for something that the program does not offer.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

// usagef makes a usageError that ends with where to read more.
func usagef(cmd *cobra.Command, format string, args ...any) error {
	return usageError{fmt.Errorf(format+" (see '%s --help')", append(args, cmd.CommandPath())...)}
}

// whatFlagTakes says of a value that a flag does not take what it does take, where the library names its own functions.
func whatFlagTakes(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	wanted := ""
	switch kind := invalid.GetFlag().Value.Type(); {
	case kind == "bool":
		wanted = "it must be true or false"
	case kind == "duration":
		wanted = "it must be a number with a unit, such as 90s, 15m or 1h"
	case (kind == "int" || kind == "uint64") && errors.Is(err, strconv.ErrSyntax):
		wanted = "it must be a whole number"
	default:
		return err
	}
	return errors.New(strings.TrimSuffix(invalid.Error(), invalid.Unwrap().Error()) + wanted)
}

// group is a command that only holds others. Cobra would print help and succeed when the one that is named does not
// exist, which hides a misspelt line in a script.
func group(name, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: name, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usagef(cmd, "name one of the commands %s", strings.Join(childNames(cmd), ", "))
		}
		return usagef(cmd, "there is no command %q; the commands are %s", args[0], strings.Join(childNames(cmd), ", "))
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
