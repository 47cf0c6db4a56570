package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
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

// commandLine is a command line, whether its output must contain hostile text, and the output after which it is
// interrupted. In it, V, U and ID stand for the texts above and the id of a pending redemption.
type commandLine struct {
	line  string
	holds bool
	until string
	input string
}

func data(base string, formats ...string) (list []commandLine) {
	for _, format := range formats {
		list = append(list, commandLine{line: base + " -o " + format, holds: true})
	}
	return list
}

func plain(lines ...string) (list []commandLine) {
	for _, line := range lines {
		list = append(list, commandLine{line: line})
	}
	return list
}

// commandsOfPerksd returns every command of perksd.
func commandsOfPerksd() map[string][]commandLine {
	lists := []string{"table", "json", "jsonl"}
	exports := []string{"csv", "jsonl"}
	return map[string][]commandLine{
		"audit": append(append(data("audit", lists[1:]...), plain("audit")...), []commandLine{
			{line: "audit --subject V"}, {line: "audit --follow", until: "import"},
			{line: "audit --follow -o jsonl", until: "import"},
		}...),
		"audit archive":        plain("audit archive --before 2020-01-01 U/a"),
		"backup":               plain("backup V/b", "backup U/b"),
		"client create":        plain("client create --name V", "client create --name N --id V"),
		"client disable":       plain("client disable V"),
		"client enable":        plain("client enable V"),
		"client list":          plain("client list", "client list -o json", "client list V"),
		"client rotate-secret": plain("client rotate-secret V"),
		"client update":        plain("client update V --name N", "client update acme --name V"),
		"completion":           plain("completion V", "completion bash"),
		"demo-data":            plain("demo-data --perks 1 --users 1 --properties 1 --redemptions 1 --owner V"),
		"dev":                  plain("dev V V", "dev bad.jsonl/V"),
		"export categories":    data("export categories", exports...),
		"export perks":         data("export perks", exports...),
		"export properties":    data("export properties", exports...),
		"export redemptions":   data("export redemptions", exports...),
		"export users":         data("export users", exports...),
		"health":               plain("health --addr V", "health V"),
		"import categories":    plain("import categories bad.jsonl", "import categories V.csv"),
		"import perks":         plain("import perks bad.jsonl", "import perks bad.csv"),
		"import properties":    plain("import properties bad.jsonl", "import properties bad.jsonl --owner V"),
		"import users":         plain("import users bad.jsonl", "import users bad.json"),
		"keys drop":            plain("keys drop V --yes"),
		"keys list":            plain("keys list", "keys list -o V"),
		"keys rotate":          plain("keys rotate"),
		"migrate":              plain("migrate", "migrate --database sqlite:V/d"),
		"property restore":     append(data("property restore 7", "json"), plain("property restore V")...),
		"redemption approve":   append(data("redemption approve ID", lists[:2]...), plain("redemption approve V")...),
		"redemption list":      data("redemption list", lists...),
		"redemption reject":    append(data("redemption reject ID", lists[:2]...), plain("redemption reject V")...),
		"redemption void":      plain("redemption void ID --reason V", "redemption void V"),
		"restore":              plain("restore V"),
		"sandbox reset":        plain("sandbox reset --yes", "sandbox reset --yes --sandbox-database sqlite:V"),
		"doctor":               plain("doctor", "doctor -o json", "doctor V"),
		"serve":                plain("serve --addr V", "serve --log-level V"), // and its logs, below
		"version":              plain("version", "version V"),
	}
}

// commandsOfPerksctl returns every command of perksctl.
func commandsOfPerksctl() map[string][]commandLine {
	all := []string{"table", "json", "yaml", "csv", "csv --raw", "jsonl"}
	return map[string][]commandLine{
		"api": append(data("api partners/perks", all...),
			plain("api V", "api partners/perks --jq .data[].title", "api get-property/7 --debug")...),
		"auth login": {{line: "auth login --api-url API --client-id V --secret-stdin", input: "V"},
			{line: "auth login --api-url V --client-id c --secret-stdin", input: "s"}},
		"auth logout":           plain("auth logout --profile V"),
		"auth status":           plain("auth status", "auth status --profile V"),
		"auth token":            plain("auth token --profile V"),
		"completion bash":       plain("completion bash"),
		"completion fish":       plain("completion fish"),
		"completion powershell": plain("completion powershell"),
		"completion zsh":        plain("completion zsh"),
		"completion": plain("completion V", "__complete perk list --category ", "__complete perk get ",
			"__complete user perks U"),
		"doctor":          plain("doctor", "doctor --api-url V", "doctor -o json"),
		"bulk status":     plain("bulk status V", "bulk status V.csv -o json", "bulk status --job V"),
		"bulk undo":       plain("bulk undo V --reason V --yes", "bulk undo --job V --reason r"),
		"logout":          plain("logout --profile V"),
		"whoami":          plain("whoami", "whoami --profile V"),
		"login":           {{line: "login --api-url API --client-id V --secret-stdin", input: "V"}},
		"perk categories": data("perk categories", all...),
		"perk get": append(append(data("perk get p", all...), data("perk get p p", all...)...),
			plain("perk get V", "perk get p --debug")...),
		"perk list": append(data("perk list", all...), []commandLine{
			{line: "perk list --jq .[].title", holds: true}, {line: "perk list --template {{range.}}{{.title}}{{end}}",
				holds: true}, {line: "perk list --sort V"}, {line: "perk list -o V"},
			{line: "perk list --jq error(.[0].title)", holds: true},
		}...),
		"perk redeem": append(data("perk redeem q --user U --dry-run", "json"),
			plain("perk redeem q --user U", "perk redeem V --user V", "perk redeem --file V",
				"perk redeem --file bad.jsonl --quiet")...),
		"redeem":         plain("redeem V --user V --dry-run"),
		"profile delete": plain("profile delete V --yes"),
		"profile rename": plain("profile rename V other", "profile rename default V"),
		"profile list":   plain("profile list", "profile list -o json"),
		"config get":     plain("config get V", "config get profiles.default.api-url"),
		"config list":    plain("config list", "config list -o json"),
		"config path":    plain("config path"),
		"config set":     plain("config set V V", "config set tui.theme V"),
		"explain":        plain("explain", "explain V", "explain perk.V"),
		"open":           plain("open V --print", "open docs --print"),
		"profile set":    plain("profile set V --protected"),
		"profile show":   plain("profile show", "profile show --profile V"),
		"profile use":    plain("profile use V"),
		"property delete": plain("property delete V --yes", "property delete 9 --yes",
			"property delete --file bad.jsonl --yes --quiet"),
		"property edit": {{line: "property edit 7 --yes"}, {line: "property edit V"}},
		"property get":  append(data("property get 7", all...), data("property get 7 7", all...)...),
		"property list": append(data("property list", all...),
			plain("property list --city V", "property list --query V --min-price V", "property list --sort V")...),
		"property create": append(data("property create --title V --price-pw 1 --dry-run", "json"),
			plain("property create --title V --price-pw 1", "property create --set V=V",
				"property create --title V --price-pw 1 --idempotency-key V")...),
		"property update": append(data("property update 7 --title V --dry-run", "json"),
			plain("property update 7 --title V", "property update 7 --set V=V",
				"property update --file bad.jsonl --quiet")...),
		"events": append(append(data("events --last 100", "json", "jsonl", "csv"),
			plain("events", "events --after V", "events --type V")...),
			commandLine{line: "events --follow --last 100", until: "redemption.made"}),
		"redemption approve": append(data("redemption approve ID --reason V", "json", "csv"),
			plain("redemption approve V", "redemption approve ID --reason V")...),
		"redemption get": append(data("redemption get ID", all...),
			plain("redemption get V", "redemption get ID --debug")...),
		"redemption list": append(data("redemption list", all...),
			plain("redemption list --status V", "redemption list --perk V", "redemption list --since V")...),
		"redemption reject": plain("redemption reject ID --reason V", "redemption reject V --reason V"),
		"user list":         append(data("user list", all...), plain("user list --prefix V")...),
		"report redemptions": append(data("report redemptions --by perk", all...),
			plain("report redemptions --by V", "report redemptions --since V")...),
		"redemption wait": plain("redemption wait V", "redemption wait ID --timeout 1ms"),
		"redemption void": plain("redemption void ID --reason V --yes", "redemption void V --reason V --yes",
			"redemption void V --reason V"),
		"user can": append(data("user can U p", "json"), plain("user can U p", "user can V V")...),
		"tui":      plain("tui --profile V", "tui --theme V"), // its screens have their own tests
		"user perks": append(append(data("user perks U --type redeemed", all[1:]...),
			data("user perks U", all...)...), plain("user perks V", "user perks U --type redeemed")...),
		"version": plain("version", "version V"),
	}
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
	for program, tree := range map[string]struct {
		root     *cobra.Command
		commands map[string][]commandLine
	}{
		"perksd":   {newOperator(t).program("", nil, nil).root(), commandsOfPerksd()},
		"perksctl": {cli.NewRoot(session.New(s, os.Getenv, "test")), commandsOfPerksctl()},
	} {
		for _, path := range leavesOf(tree.root, "") {
			if len(tree.commands[path]) == 0 {
				t.Errorf("%s %s is not in the list of this test", program, path)
			}
		}
		for _, path := range slices.Sorted(maps.Keys(tree.commands)) {
			for _, line := range tree.commands[path] {
				for _, terminal := range []bool{true, false} {
					x.check(program, line, terminal)
				}
			}
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
func (x *hostileFixture) check(program string, line commandLine, terminal bool) {
	x.t.Helper()
	x.seed(line.line)
	stdout, stderr := x.run(program, line, terminal)
	where := map[bool]string{true: " on a terminal", false: ""}[terminal]
	name := program + " " + line.line + where
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
