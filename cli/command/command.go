// Package command is what every command of perksctl shares: arguments and suggestions beyond cobra, the standard streams,
// progress, private files, exit codes, and how an error is told.
//
// It knows nothing of what a command does, and ends no process.
package command

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/cli/usage"
)

// Group makes a command that only holds others. Alone it shows its help.
func Group(group cobra.Command, members ...*cobra.Command) *cobra.Command {
	group.Args = cobra.ArbitraryArgs
	group.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return Unknown(cmd, args[0])
	}
	group.AddCommand(members...)
	return &group
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Usagef("%s takes no argument, but got %q.", cmd.CommandPath(), args[0])
	}
	return nil
}

// Exactly asks for these arguments, each named as in the usage line.
func Exactly(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < len(names) {
			return missing(cmd, names[len(args)])
		}
		if len(args) > len(names) {
			return Usagef("%s takes %s and no more, but got %q.", cmd.CommandPath(), strings.Join(names, " "), args[len(names)])
		}
		return nil
	}
}

// AtLeastOne asks for one or more arguments of a kind.
func AtLeastOne(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return missing(cmd, name)
		}
		return nil
	}
}

func missing(cmd *cobra.Command, name string) error {
	return Usagef("%s is missing. Usage: %s", name, cmd.UseLine())
}

// FlagError makes a cobra.Command's flag error a wrong usage, with a suggestion for a flag that does not exist. Behind a
// misspelt command every flag is unknown, so that the command is named instead.
func FlagError(cmd *cobra.Command, err error) error {
	if word := cmd.Flags().Arg(0); word != "" && cmd.HasSubCommands() {
		return Unknown(cmd, word)
	}
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return Usagef("%s. Run %s --help for the flags.", capital(usage.WhatFlagTakes(err).Error()), cmd.CommandPath())
	}
	meant := usage.Flag(err, cmd.Flags())
	if meant != "" {
		meant = fmt.Sprintf(" Did you mean %s?", meant)
	}
	return Usagef("%s has no flag --%s.%s Run %s --help for the flags.", cmd.CommandPath(), unknown.GetSpecifiedName(), meant, cmd.CommandPath())
}

// DidYouMean returns a sentence, with a blank before it, that names the candidate closest to the word, or "" if none is
// close.
func DidYouMean(word string, candidates []string) string {
	if meant := usage.Closest(word, candidates); meant != "" {
		return fmt.Sprintf(" Did you mean %q?", meant)
	}
	return ""
}

// Swallowed refuses arguments in which a flag is the value of the flag before it. --flag=--other says that it is meant.
func Swallowed(cmd *cobra.Command, args []string) error {
	for i := 0; i+1 < len(args); i++ {
		flag := valueFlag(cmd, args[i])
		switch {
		case args[i] == "--":
			return nil
		case flag == nil:
			continue
		}
		i++
		name, _, _ := strings.Cut(args[i], "=")
		if name, isLong := strings.CutPrefix(name, "--"); isLong && name != "" && cmd.Flags().Lookup(name) != nil {
			return Usagef("--%s has no value: --%s follows. If that is the value, write --%s=%s", flag.Name, name, flag.Name, args[i])
		}
	}
	return nil
}

// valueFlag returns the flag that takes the argument behind this one for its value, nil if there is none.
func valueFlag(cmd *cobra.Command, arg string) *pflag.Flag {
	var flag *pflag.Flag
	if name, isLong := strings.CutPrefix(arg, "--"); isLong {
		flag = cmd.Flags().Lookup(name)
	} else if len(arg) == 2 && arg[0] == '-' && arg[1] != '-' {
		flag = cmd.Flags().ShorthandLookup(arg[1:])
	}
	if flag == nil || flag.NoOptDefVal != "" {
		return nil
	}
	return flag
}

// Among says which of several things an error is about. With only one there is no question.
func Among(count int, thing string, err error) error {
	if count == 1 {
		return err
	}
	return fmt.Errorf("%s: %w", thing, err)
}

func capital(sentence string) string {
	return strings.ToUpper(sentence[:1]) + sentence[1:]
}
