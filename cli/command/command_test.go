package command_test

import (
	"errors"
	"io"
	"strings"
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
	const ofProg, ofThing = " Run prog --help for the commands.", " Run prog thing --help for the commands."
	const ofUse = " Run prog thing use --help for the flags."
	zeros := strings.Repeat("0", 20)
	for args, want := range map[string]string{
		"thig":                       `"thig" is not a command of prog. Did you mean "thing"?` + ofProg,
		"thing lst --pge 3":          `"lst" is not a command of prog thing. Did you mean "list"?` + ofThing,
		"thing get":                  "ID is missing. Usage: prog thing get ID... [flags]",
		"thing use":                  "NAME is missing. Usage: prog thing use NAME [flags]",
		"thing use a b":              `prog thing use takes NAME and no more, but got "b".`,
		"thing list x":               `prog thing list takes no argument, but got "x".`,
		"thing use a --pge 1":        "prog thing use has no flag --pge. Did you mean --page?" + ofUse,
		"thing use --page x":         `--page "x": it must be a whole number.` + ofUse,
		"thing use --rate x":         `--rate "x": it must be a number, such as 2.5.` + ofUse,
		"thing use --all=x":          `--all "x": it must be true or false.` + ofUse,
		"thing use --timeout 5":      `--timeout "5": it must be a number with a unit, such as 90s, 15m or 1h.` + ofUse,
		"thing use --page 1" + zeros: `--page "1` + zeros + `": the number is too large or too small.` + ofUse,
		"thing list -z":              "prog thing list has no flag -z. Run prog thing list --help for the flags.",
	} {
		args := strings.Fields(args)
		root := tree()
		root.SetArgs(args)
		err := root.Execute()
		var usage *command.UsageError
		if !errors.As(err, &usage) || usage.Message != want {
			t.Errorf("%q:\n got %v\nwant %s", args, err, want)
		}
	}
	for _, args := range [][]string{{}, {"thing"}, {"thing", "get", "1", "2"}, {"thing", "use", "a", "--page", "3"},
		{"thing", "--help"}} {
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
