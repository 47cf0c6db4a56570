package command_test

import (
	"errors"
	"io"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/cli/command"
)

func TestDidYouMean(t *testing.T) {
	candidates := []string{"list", "get", "categories", "redeem", "insecure-http"}
	for word, want := range map[string]string{
		"lst": "list", "redem": "redeem", "cat": "categories", "insecure_http": "insecure-http", "LIST": "list",
		"xyzzy": "", "": "", "g": "", "list": "", "lots": "", "let": "get",
	} {
		if want != "" {
			want = ` Did you mean "` + want + `"?`
		}
		if got := command.DidYouMean(word, candidates); got != want {
			t.Errorf("DidYouMean(%q) = %q, want %q", word, got, want)
		}
	}
}

func tree() *cobra.Command {
	nothing := func(*cobra.Command, []string) error { return nil }
	get := &cobra.Command{Use: "get ID...", Args: command.AtLeastOne("ID"), RunE: nothing}
	use := &cobra.Command{Use: "use NAME", Args: command.Exactly("NAME"), RunE: nothing}
	use.Flags().Int("page", 0, "")
	use.Flags().Float64("rate", 0, "")
	use.Flags().Bool("all", false, "")
	use.Flags().Duration("timeout", 0, "")
	list := &cobra.Command{Use: "list", Args: command.NoArgs, RunE: nothing}
	noun := command.Group(cobra.Command{Use: "thing"}, get, use, list)
	root := command.Group(cobra.Command{Use: "prog", SilenceErrors: true, SilenceUsage: true}, noun)
	root.SetFlagErrorFunc(command.FlagError)
	root.SetOut(io.Discard)
	return root
}

func TestUsageErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`"thig" is not a command of prog. Did you mean "thing"? Run prog --help for the commands.`:                         {"thig"},
		`"lis" is not a command of prog thing. Did you mean "list"? Run prog thing --help for the commands.`:               {"thing", "lis"},
		`"lst" is not a command of prog thing. Did you mean "list"? Run prog thing --help for the commands.`:               {"thing", "lst", "--pge", "3"},
		`ID is missing. Usage: prog thing get ID... [flags]`:                                                               {"thing", "get"},
		`NAME is missing. Usage: prog thing use NAME [flags]`:                                                              {"thing", "use"},
		`prog thing use takes NAME and no more, but got "b".`:                                                              {"thing", "use", "a", "b"},
		`prog thing list takes no argument, but got "x".`:                                                                  {"thing", "list", "x"},
		`prog thing use has no flag --pge. Did you mean --page? Run prog thing use --help for the flags.`:                  {"thing", "use", "a", "--pge", "1"},
		`--page "x": it must be a whole number. Run prog thing use --help for the flags.`:                                  {"thing", "use", "--page", "x"},
		`--rate "x": it must be a number, such as 2.5. Run prog thing use --help for the flags.`:                           {"thing", "use", "--rate", "x"},
		`--all "x": it must be true or false. Run prog thing use --help for the flags.`:                                    {"thing", "use", "--all=x"},
		`--timeout "5": it must be a number with a unit, such as 90s, 15m or 1h. Run prog thing use --help for the flags.`: {"thing", "use", "--timeout", "5"},
		`--page "99999999999999999999": the number is too large or too small. Run prog thing use --help for the flags.`:    {"thing", "use", "--page", "99999999999999999999"},
		`prog thing list has no flag -z. Run prog thing list --help for the flags.`:                                        {"thing", "list", "-z"},
	} {
		root := tree()
		root.SetArgs(args)
		err := root.Execute()
		var usage *command.UsageError
		if !errors.As(err, &usage) || usage.Message != want {
			t.Errorf("%q:\n got %v\nwant %s", args, err, want)
		}
	}
	for _, args := range [][]string{{}, {"thing"}, {"thing", "get", "1", "2"}, {"thing", "use", "a", "--page", "3"}, {"thing", "--help"}} {
		root := tree()
		root.SetArgs(args)
		if err := root.Execute(); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestEntityTag(t *testing.T) {
	for tag, want := range map[string]string{"": "", "*": "*", "abc": `"abc"`, `"abc"`: `"abc"`, `W/"abc"`: `W/"abc"`} {
		if got := command.EntityTag(tag); got != want {
			t.Errorf("EntityTag(%q) = %q, want %q", tag, got, want)
		}
	}
}
