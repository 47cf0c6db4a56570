package cli_test

import (
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/shlex"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/cli"
)

var update = flag.Bool("update", false, "update the golden files")

// everyCommand returns the root and all commands and groups, in the order of the help.
func everyCommand() []*cobra.Command {
	var all []*cobra.Command
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		all = append(all, cmd)
		for _, member := range cmd.Commands() {
			add(member)
		}
	}
	root := tree()
	root.InitDefaultHelpCmd()
	add(root)
	return all
}

// TestHelpOfEveryCommand compares the whole help with a golden file, so that changes show in reviews.
func TestHelpOfEveryCommand(t *testing.T) {
	x := newTerminal(t, nil)
	var text strings.Builder
	for _, cmd := range everyCommand() {
		line := cmd.CommandPath() + " --help"
		text.WriteString("$ " + line + "\n" + x.must(strings.Fields(line)[1:]...).out + "\n")
	}
	path := filepath.Join("testdata", "help.golden")
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text.String() != string(want) {
		t.Errorf("the help has changed; run go test ./cli -update and review the diff. First change: %s",
			firstDifference(text.String(), string(want)))
	}
}

// TestPlaceholdersAreUniform reads the help of flags: the name of a value is in capitals, and a number is N.
func TestPlaceholdersAreUniform(t *testing.T) {
	help, err := os.ReadFile(filepath.Join("testdata", "help.golden"))
	if err != nil {
		t.Fatal(err)
	}
	flags := regexp.MustCompile(`(?m)^ +(?:-\w, )?--[\w-]+ (\S.*?)(?:\[=\S+\])?   `)
	for _, flag := range flags.FindAllStringSubmatch(string(help), -1) {
		if flag[1] != strings.ToUpper(flag[1]) || flag[1] == "INT" || flag[1] == "STRING" {
			t.Errorf("the value %q in %q", flag[1], flag[0])
		}
	}
}

func firstDifference(got, want string) string {
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || line != wantLines[i] {
			return line
		}
	}
	return "lines are missing at the end"
}

// TestExamplesAreCommands parses every example as perksctl does: commands, flags and number of arguments.
func TestExamplesAreCommands(t *testing.T) {
	for _, cmd := range everyCommand() {
		for line := range strings.Lines(cmd.Example) {
			commands := commandsIn(line)
			if len(commands) == 0 {
				t.Errorf("%s: no perksctl command in %q", cmd.CommandPath(), line)
			}
			for _, words := range commands {
				if err := checkUsage(words); err != nil {
					t.Errorf("%s: %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
				}
			}
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example %q is not indented by two spaces", cmd.CommandPath(), line)
			}
		}
	}
}

var substitution = regexp.MustCompile(`\$\(([^()]*)\)`)

// commandsIn returns the words of each perksctl command in a shell line.
func commandsIn(line string) [][]string {
	var found [][]string
	for _, inner := range substitution.FindAllStringSubmatch(line, -1) {
		found = append(found, commandsIn(inner[1])...)
	}
	words, err := shlex.Split(strings.TrimSpace(substitution.ReplaceAllString(line, "value")))
	if err != nil {
		return nil
	}
	var current []string
	for _, word := range append(words, ";") {
		switch {
		case slices.Contains([]string{"|", "&&", ";", ">", ">>", "<"}, word):
			if current != nil {
				found = append(found, current)
			}
			current = nil
		case word == "perksctl" && current == nil:
			current = []string{}
		case current != nil:
			current = append(current, word)
		}
	}
	return found
}

func checkUsage(words []string) error {
	root := tree()
	root.InitDefaultHelpCmd()
	cmd, rest, err := root.Find(words)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	args := cmd.Flags().Args()
	if cmd.HasSubCommands() && len(args) > 0 {
		return cmd.RunE(cmd, args) // returns the error for an unknown command
	}
	return cmd.ValidateArgs(args)
}

// otherMeaning lists flags with another meaning in one command, and why that is fine.
var otherMeaning = map[string]string{
	"perksctl perk create --category":        "a field of a perk, a filter in lists",
	"perksctl perk create --city":            "a field of a perk, a filter in lists",
	"perksctl perk update --category":        "a field of a perk, a filter in lists",
	"perksctl perk update --city":            "a field of a perk, a filter in lists",
	"perksctl perk create --dry-run":         "also checks the rows of a file",
	"perksctl perk update --dry-run":         "also checks the rows of a file",
	"perksctl perk stock --dry-run":          "also predicts",
	"perksctl perk stock --set":              "of the stock alone",
	"perksctl perk update --query":           "changes what it finds",
	"perksctl perk update --if-match":        "explains the condition",
	"perksctl perk update --max":             "of other records",
	"perksctl perk get --as-of":              "of other records",
	"perksctl property update --city":        "a field of a property, a filter in lists",
	"perksctl property delete --dry-run":     "also checks the rows of a file",
	"perksctl property update --dry-run":     "also checks the rows of a file",
	"perksctl bulk undo --dry-run":           "checks the rows of a run",
	"perksctl perk redeem --dry-run":         "also checks the rows of a file",
	"perksctl redeem --dry-run":              "as perk redeem",
	"perksctl auth login --actor":            "who works here, a filter in lists",
	"perksctl login --actor":                 "who works here, a filter in lists",
	"perksctl property create --city":        "a field of a property, a filter in lists",
	"perksctl property list --own":           "of other records",
	"perksctl property list --query":         "of other records",
	"perksctl property list --sort":          "names other fields",
	"perksctl redemption list --query":       "of other records",
	"perksctl redemption list --metadata":    "finds by it",
	"perksctl redemption list --reason":      "of refusals",
	"perksctl redemption list --sort":        "names other fields",
	"perksctl events --limit":                "events have no pages",
	"perksctl events --type":                 "a type of events",
	"perksctl events --concurrency":          "delivers events",
	"perksctl events --secret-stdin":         "signs",
	"perksctl events resend --after":         "searches",
	"perksctl events resend --secret-stdin":  "signs",
	"perksctl webhook create --description":  "of a webhook",
	"perksctl webhook create --type":         "types of events",
	"perksctl webhook update --description":  "of a webhook",
	"perksctl webhook update --type":         "types of events",
	"perksctl webhook verify --secret-stdin": "verifies",
	"perksctl property delete --query":       "deletes what it finds",
	"perksctl property update --query":       "changes what it finds",
	"perksctl property delete --if-match":    "explains the condition",
	"perksctl property restore --if-match":   "explains the condition",
	"perksctl property restore --dry-run":    "also checks the rows of a file",
	"perksctl property update --if-match":    "explains the condition",
	"perksctl property create --dry-run":     "also checks the rows of a file",
}

// TestFlagMeansOneThing compares each flag with all flags of the same name or letter.
func TestFlagMeansOneThing(t *testing.T) {
	type meaning struct{ where, name, kind, usage string }
	byName, byLetter := map[string]meaning{}, map[string]meaning{}
	met := map[string]bool{}
	for _, cmd := range everyCommand() {
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			where := cmd.CommandPath() + " --" + f.Name
			this := meaning{where, f.Name, f.Value.Type(), f.Usage}
			if f.Shorthand != "" {
				if other, seen := byLetter[f.Shorthand]; seen && other.name != f.Name {
					t.Errorf("-%s is short for both %s and %s", f.Shorthand, other.where, where)
				}
				byLetter[f.Shorthand] = this
			}
			if otherMeaning[where] != "" {
				met[where] = true
				return
			}
			other, seen := byName[f.Name]
			if seen && (other.kind != this.kind || other.usage != this.usage) {
				t.Errorf("%s (%s: %s)\nand %s (%s: %s)\nmean different things", other.where, other.kind, other.usage,
					where, this.kind, this.usage)
			}
			byName[f.Name] = this
		})
	}
	for where := range otherMeaning {
		if !met[where] {
			t.Errorf("%s is an exception, but does not exist", where)
		}
	}
}

// TestEnvironmentIsExplained checks that the root's help explains each variable in the code.
func TestEnvironmentIsExplained(t *testing.T) {
	literal := regexp.MustCompile(`"(PERKSCTL_[A-Z_]+)"`)
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range literal.FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(cli.Reference, "\n  "+match[1]+" ") {
				t.Errorf("%s reads %s, which the help of the root does not explain", path, match[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
