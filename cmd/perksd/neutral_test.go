package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/store"
)

// hostileText recolours, renames and clears a terminal, reverses text and forges a line. hostileID is the part of it
// that is allowed in the id of a user.
const (
	hostileText = "=owned()\x1b]0;owned\a\x1b[31m\u009b2J\u0090q\u202egnp\u2066\u200f\x7f\b\r\nforged: line"
	hostileID   = "owned\u202egnp.exe\u2066"
)

// commandLine is a command line, whether its output must contain hostile text, the output after which it is
// interrupted, and its input.
type commandLine struct {
	program, line string
	holds         bool
	until, input  string
}

// commandLines are those of testdata/neutral.txt, with every command of both programs. There, * marks one that holds,
// -o a|b stands for two, ^ comes before until and < before the input. V, U and ID stand for the texts above and the id
// of a pending redemption.
func commandLines(t *testing.T) (list []commandLine) {
	t.Helper()
	text, err := os.ReadFile("testdata/neutral.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		c := commandLine{holds: line[0] == '*'}
		c.program, line, _ = strings.Cut(strings.TrimSpace(line[1:]), " ")
		line, c.input, _ = strings.Cut(line, " <")
		line, c.until, _ = strings.Cut(line, " ^")
		base, formats, _ := strings.Cut(line, " -o ")
		for format := range strings.SplitSeq(formats, "|") {
			c.line = base
			if format != "" {
				c.line += " -o " + format
			}
			list = append(list, c)
		}
	}
	return list
}

// leavesOf returns the path of every command that does something.
func leavesOf(cmd *cobra.Command, above string) (paths []string) {
	for _, child := range cmd.Commands() {
		if path := strings.TrimSpace(above + " " + child.Name()); child.HasSubCommands() {
			paths = append(paths, leavesOf(child, path)...)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

// TestOutputHasNoControlCharacters runs every command of both programs as a process, with a real server and database,
// on records with hostile text in every field that allows it. The output goes to a terminal and to a pipe.
func TestOutputHasNoControlCharacters(t *testing.T) {
	x := newHostileFixture(t)
	s, _, _ := command.BufferedStreams("")
	lines := commandLines(t)
	for program, root := range map[string]*cobra.Command{
		"perksd":   newOperator(t).program("", nil, nil).root(),
		"perksctl": cli.NewRoot(session.New(s, os.Getenv, "test")),
	} {
		for _, path := range leavesOf(root, "") {
			if !slices.ContainsFunc(lines, func(c commandLine) bool {
				return c.program == program && strings.HasPrefix(c.line+" ", path+" ")
			}) {
				t.Errorf("%s %s is not in the list of this test", program, path)
			}
		}
	}
	for _, line := range lines {
		for _, terminal := range []bool{true, false} {
			x.check(line, terminal)
		}
	}
	for _, stop := range x.stops {
		stop()
	}
	for name, log := range x.logs {
		log := log.Rest()
		if !strings.Contains(log, "owned") {
			t.Errorf("the log in %s lacks the hostile text: %s", name, log)
		}
		requireNeutral(t, "the log on "+name, strings.ReplaceAll(log, "\r\n", "\n"))
	}
}

// check runs a line and checks its output.
func (x *hostileFixture) check(line commandLine, terminal bool) {
	x.t.Helper()
	x.seed(line.line)
	stdout, stderr := x.run(line, terminal)
	where := map[bool]string{true: " on a terminal", false: ""}[terminal]
	name := line.program + " " + line.line + where
	if line.holds && !strings.Contains(stdout+stderr, "owned") {
		x.t.Errorf("%s does not show the hostile text:\n%s%s", name, stdout, stderr)
	}
	requireNeutral(x.t, name+", stderr", stderr)
	if terminal || !asItIs(line.line) {
		requireNeutral(x.t, name+", stdout", stdout)
	}
	if !terminal && line.holds {
		x.requireWhole(name, line.line, stdout)
	}
}

// asItIs reports whether a format writes texts unchanged, for programs.
func asItIs(line string) bool {
	return regexp.MustCompile(`-o csv|export \w+$|--jq|--template`).MatchString(line)
}

// requireNeutral fails if the text contains control characters.
func requireNeutral(t *testing.T, name, text string) {
	t.Helper()
	for i, r := range text {
		if display.IsControl(r) && r != '\n' && r != '\t' {
			t.Errorf("%s: %U in %q", name, r, text[max(0, i-60):min(len(text), i+20)])
			return
		}
	}
}

// requireWhole fails if a format for programs has lost any of the hostile text.
func (x *hostileFixture) requireWhole(name, line, stdout string) {
	x.t.Helper()
	var texts []string
	switch _, format, _ := strings.Cut(line, "-o "); format {
	case "json", "jsonl":
		for dec := json.NewDecoder(strings.NewReader(stdout)); dec.More(); {
			var value any
			if err := dec.Decode(&value); err != nil {
				x.t.Errorf("%s: %v in %q", name, err, stdout)
				return
			}
			texts = append(texts, textsIn(value)...)
		}
	case "csv", "csv --raw":
		// encoding/csv drops one
		cells, err := csv.NewReader(strings.NewReader(strings.ReplaceAll(stdout, "\r\n", "\r\r\n"))).ReadAll()
		if err != nil {
			x.t.Errorf("%s: %v in %q", name, err, stdout)
		}
		for _, row := range cells {
			texts = append(texts, row...)
		}
	default:
		return
	}
	for _, text := range texts {
		if strings.Contains(text, hostileText) || strings.Contains(text, hostileID) ||
			strings.Contains(text, `=owned()\u001b]0;`) {
			return
		}
	}
	x.t.Errorf("%s: the hostile text is not complete in %q", name, stdout)
}

// textsIn returns all texts in a value of JSON.
func textsIn(value any) (texts []string) {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		for _, entry := range value {
			texts = append(texts, textsIn(entry)...)
		}
	case map[string]any:
		for name, entry := range value {
			texts = append(append(texts, name), textsIn(entry)...)
		}
	}
	return texts
}

// seed prepares the records that a line consumes.
func (x *hostileFixture) seed(line string) {
	x.t.Helper()
	switch {
	case strings.HasPrefix(line, "redemption "):
		x.ids++
		x.redemption = fmt.Sprintf("00000000-0000-7000-8000-%012d", x.ids)
		user := hostileID + fmt.Sprint(x.ids)
		x.must("import", "users", x.file("user.jsonl", `{"id":`+quoted(x.t, user)+`}`))
		x.redeems(x.redemption, "p", user)
	case strings.HasPrefix(line, "property restore 7"):
		db := x.store()
		defer db.Close()
		if err := db.DeleteProperty(x.t.Context(), 7, store.Operator, x.now,
			func(store.PropertyRecord) error { return nil }); err != nil && api.CodeOf(err) != api.CodeNotFound {
			x.t.Fatal(err)
		}
	}
}

// redeems makes a redemption like the server.
func (x *hostileFixture) redeems(id, perk, user string) {
	x.t.Helper()
	db := x.store()
	defer db.Close()
	metadata := json.RawMessage(`{` + quoted(x.t, hostileText) + `:` + quoted(x.t, hostileText) + `}`)
	if _, err := db.Redeem(x.t.Context(), store.RedeemAttempt{ID: id, PerkID: perk, UserID: user, ClientID: "till",
		Metadata: metadata, At: x.now}); err != nil {
		x.t.Fatal(err)
	}
}
