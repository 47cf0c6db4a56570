package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inEnvironment returns a value that differs from the default, and how the flag shows it.
func inEnvironment(f *pflag.Flag) (given, shown string) {
	switch f.Value.Type() {
	case "bool":
		return "true", "true"
	case "int", "int64", "uint64":
		return "7", "7"
	case "duration":
		return "7m", "7m0s"
	case "func": // such a flag does not show its value
		return map[string]string{
			"rate-limit": "7/s", "audit-rate": "7KiB/s", "trusted-proxies": "10.0.0.7",
			"public-url": "https://seven.example", "webhook-allow": "10.0.0.7",
		}[f.Name], ""
	case "string":
		return "seven", "seven"
	case "stringSlice":
		return "https://seven.example", "[https://seven.example]"
	}
	c := f.Value.(*enumFlag)
	last := c.allowed[len(c.allowed)-1]
	return last, last
}

func TestEveryFlagHasAVariableInItsHelp(t *testing.T) {
	eachFlag(t, func(cmd *cobra.Command, f *pflag.Flag) {
		given, shown := inEnvironment(f)
		if err := readVariables(cmd, only(variable(f.Name), given), t.Output()); err != nil {
			t.Errorf("%s: %s=%s: %v", cmd.CommandPath(), variable(f.Name), given, err)
		}
		if got := f.Value.String(); got != shown || got == f.DefValue && f.Value.Type() != "func" || !f.Changed {
			t.Errorf("%s: %s=%s leaves --%s at %q", cmd.CommandPath(), variable(f.Name), given, f.Name, got)
		}
		if _, usage := pflag.UnquoteUsage(f); !strings.HasSuffix(usage, "["+variable(f.Name)+"]") {
			t.Errorf("%s: the help of --%s does not name %s: %q", cmd.CommandPath(), f.Name, variable(f.Name), usage)
		}
	})
}

func TestAFlagOverridesItsVariable(t *testing.T) {
	eachFlag(t, func(cmd *cobra.Command, f *pflag.Flag) {
		given, _ := inEnvironment(f)
		if f.DefValue == "" && f.Value.Type() != "string" {
			return // its default cannot be written on the command line
		}
		if err := cmd.Flags().Set(f.Name, strings.Trim(f.DefValue, "[]")); err != nil { // lists are shown in brackets
			t.Fatalf("%s --%s=%s: %v", cmd.CommandPath(), f.Name, f.DefValue, err)
		}
		if err := readVariables(cmd, only(variable(f.Name), given), t.Output()); err != nil {
			t.Fatal(err)
		}
		if got := f.Value.String(); got != f.DefValue {
			t.Errorf("%s: %s changes --%s=%s to %q", cmd.CommandPath(), variable(f.Name), f.Name, f.DefValue, got)
		}
	})
}

// Flags of one command have no variables, which would change, narrow or break other commands.
func TestFlagsOfOneCommandHaveNoVariables(t *testing.T) {
	eachFlagOf(t, func(cmd *cobra.Command, f *pflag.Flag) {
		if _, usage := pflag.UnquoteUsage(f); cmd.CommandPath() != "perksd serve" &&
			strings.Contains(usage, "["+variable(f.Name)+"]") {
			isShared := slices.Contains([]string{"database", "sandbox-database", "sandbox"}, f.Name)
			if findsServe := cmd.Name() == "health"; !isShared && !findsServe {
				t.Errorf("%s --%s can be given in the environment", cmd.CommandPath(), f.Name)
			}
		}
	})
}

func only(name, value string) func(string) string {
	return func(asked string) string {
		if asked == name {
			return value
		}
		return ""
	}
}

// eachFlag visits every flag of every command, each in a fresh tree of commands.
func eachFlag(t *testing.T, visit func(*cobra.Command, *pflag.Flag)) {
	t.Helper()
	o := newOperator(t)
	visited := 0
	for i := range allCommands(o.program("", nil, nil).root()) {
		var names []string
		flagsOf(o, i).Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, name := range names {
			cmd := flagsOf(o, i)
			if hasVariable(cmd, cmd.Flags().Lookup(name)) {
				visit(cmd, cmd.Flags().Lookup(name))
				visited++
			}
		}
	}
	if visited < 30 {
		t.Fatalf("only %d flags were visited", visited)
	}
}

// eachFlagOf visits every flag, whether or not it has a variable.
func eachFlagOf(t *testing.T, visit func(*cobra.Command, *pflag.Flag)) {
	t.Helper()
	for _, cmd := range allCommands(newOperator(t).program("", nil, nil).root()) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { visit(cmd, f) })
	}
}

// flagsOf returns a command with its own and inherited flags.
func flagsOf(o *operator, index int) *cobra.Command {
	cmd := allCommands(o.program("", nil, nil).root())[index]
	if err := cmd.ParseFlags(nil); err != nil {
		o.t.Fatal(err)
	}
	return cmd
}
