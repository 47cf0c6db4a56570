package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// inEnvironment is a value that differs from the default, and how the flag shows it.
func inEnvironment(f *pflag.Flag) (given, shown string) {
	switch f.Value.Type() {
	case "bool":
		return "true", "true"
	case "int", "int64", "uint64":
		return "7", "7"
	case "duration":
		return "7m", "7m0s"
	case "N/s":
		return "7", "7/s"
	case "CIDR,...":
		return "10.0.0.7", "10.0.0.7/32"
	case "string":
		return "seven", "seven"
	}
	c := f.Value.(*choice)
	last := c.allowed[len(c.allowed)-1]
	return last, last
}

func TestEveryFlagHasAVariableThatItsHelpNames(t *testing.T) {
	eachFlag(t, func(cmd *cobra.Command, f *pflag.Flag) {
		given, shown := inEnvironment(f)
		if err := readVariables(cmd, only(variable(f.Name), given)); err != nil {
			t.Errorf("%s: %s=%s: %v", cmd.CommandPath(), variable(f.Name), given, err)
		}
		if got := f.Value.String(); got != shown || got == f.DefValue {
			t.Errorf("%s: %s=%s leaves --%s at %q", cmd.CommandPath(), variable(f.Name), given, f.Name, got)
		}
		if _, usage := pflag.UnquoteUsage(f); !strings.HasSuffix(usage, "["+variable(f.Name)+"]") {
			t.Errorf("%s: the help of --%s does not name %s: %q", cmd.CommandPath(), f.Name, variable(f.Name), usage)
		}
	})
}

func TestAFlagBeatsItsVariable(t *testing.T) {
	eachFlag(t, func(cmd *cobra.Command, f *pflag.Flag) {
		given, _ := inEnvironment(f)
		if f.DefValue == "" && f.Value.Type() != "string" {
			return // its default cannot be written on the command line
		}
		if err := cmd.Flags().Set(f.Name, f.DefValue); err != nil {
			t.Fatalf("%s --%s=%s: %v", cmd.CommandPath(), f.Name, f.DefValue, err)
		}
		if err := readVariables(cmd, only(variable(f.Name), given)); err != nil {
			t.Fatal(err)
		}
		if got := f.Value.String(); got != f.DefValue {
			t.Errorf("%s: %s changes --%s=%s to %q", cmd.CommandPath(), variable(f.Name), f.Name, f.DefValue, got)
		}
	})
}

func TestAValueThatIsNotValidIsNamed(t *testing.T) {
	o := newOperator(t)
	o.env["PERKSD_OUTPUT"] = "xml"
	o.refuses(exitUsage, `invalid argument "x" for "--rate-burst" flag: it must be a whole number (see 'perksd serve --help')`, "serve", "--rate-burst", "x")
	o.refuses(exitUsage, `invalid argument "5" for "--token-ttl" flag: it must be a number with a unit, such as 90s, 15m or 1h (see 'perksd serve --help')`,
		"serve", "--token-ttl", "5")
	o.env["PERKSD_HOURLY"] = "perhaps"
	o.refuses(exitUsage, `the environment variable PERKSD_HOURLY is not valid: invalid argument "perhaps" for "--hourly" flag: it must be true or false (see 'perksd serve --help')`,
		"serve")
	delete(o.env, "PERKSD_HOURLY")
	o.refuses(exitUsage, `the environment variable PERKSD_OUTPUT is not valid: invalid argument "xml" for "-o, --output" flag: `+
		"it must be one of table, json, jsonl (see 'perksd client list --help')", "client", "list")
}

func TestTheDatabaseCanBeGivenInTheEnvironmentOrByItsFlag(t *testing.T) {
	o := newOperator(t)
	o.must("client", "create", "--name", "In the environment", "--id", "environment")
	other := "sqlite:" + o.path("other.db")
	o.must("client", "create", "--name", "By flag", "--id", "flag", "--database", other)
	equal(t, "the database of the flag", `[
  {"client_id":"flag","name":"By flag","scope":"perks:read perks:redeem properties:read properties:write","sandbox_only":false,"disabled":false,"created_at":"2026-06-15T12:00:00Z"}
]
`, o.must("client", "list", "-o", "json", "--database", other))
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
			if hasVariable(cmd.Flags().Lookup(name)) {
				visit(cmd, cmd.Flags().Lookup(name))
				visited++
			}
		}
	}
	if visited < 30 {
		t.Fatalf("only %d flags were visited", visited)
	}
}

// flagsOf is a command with its own flags and those that it inherits.
func flagsOf(o *operator, index int) *cobra.Command {
	cmd := allCommands(o.program("", nil, nil).root())[index]
	if err := cmd.ParseFlags(nil); err != nil {
		o.t.Fatal(err)
	}
	return cmd
}
