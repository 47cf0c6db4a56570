package cli_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// leaves returns every command that is not a group, by path.
func leaves(root *cobra.Command) map[string]*cobra.Command {
	found := map[string]*cobra.Command{}
	for _, cmd := range root.Commands() {
		switch {
		case cmd.Name() == "help":
		case cmd.HasSubCommands():
			for path, leaf := range leaves(cmd) {
				found[cmd.Name()+" "+path] = leaf
			}
		default:
			found[cmd.Name()] = cmd
		}
	}
	return found
}

func tree() *cobra.Command {
	s, _, _ := command.BufferedStreams("")
	return cli.NewRoot(session.New(s, os.Getenv, "test"))
}

func TestEveryCommandIsExplained(t *testing.T) {
	var check func(cmd *cobra.Command)
	check = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Example == "" && cmd.Long == "" {
			t.Errorf("%s lacks a Short, or both Long and Example", cmd.CommandPath())
		}
		if strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("%s: Short ends with a full stop", cmd.CommandPath())
		}
		for _, member := range cmd.Commands() {
			check(member)
		}
	}
	check(tree())
}

// TestEveryCommandWritesJSON also fails for a command that is not in its list.
func TestEveryCommandWritesJSON(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	x.env["EDITOR"] = `sh -c 'echo "title: Edited" > "$0"'`
	login := "--api-url " + facts["API_URL"] + " --client-id " + facts["CLIENT"]
	rows := func(name, text string) string {
		path := write(t, filepath.Join(t.TempDir(), name), text)
		return "--file " + path
	}
	winners := rows("winners.csv", "perk,user\nspa-day,alice\nspa-day,bob\n")
	redeemed := func(user string) string {
		return strings.TrimSpace(x.must("perk", "redeem", "spa-day", "--user", user, "--output", "id").out)
	}
	alices, bobs := redeemed("alice"), redeemed("bob")
	arguments := map[string][]string{
		"bulk status":        {strings.TrimPrefix(winners, "--file ")},
		"bulk undo":          {strings.TrimPrefix(winners, "--file ") + " --reason mistake --yes"},
		"redemption list":    {"", "--status pending --all"},
		"redemption get":     {alices, alices + " " + bobs},
		"redemption approve": {alices + " --dry-run", alices},
		"redemption wait":    {alices},
		"redemption void":    {alices + " --reason mistake --yes"},
		"redemption reject":  {bobs + " --reason full"},
		"report redemptions": {"", "--by perk --own"},
		"user list":          {"", "--prefix a --all"},
		"user can":           {"alice museum"},
		"events":             {"", "--last 1 --type redemption.made"},
		"login":              {login},
		"auth login":         {login + " --profile second"},
		"whoami":             {""},
		"logout":             {""},
		"auth status":        {""},
		"auth token":         {""},
		"auth logout":        {""},
		"profile list":       {""},
		"profile use":        {"default"},
		"profile show":       {""},
		"config list":        {""},
		"config get":         {"current"},
		"config set":         {"tui.mouse true"},
		"config path":        {""},
		"open":               {"docs --print", "docs"},
		"profile set":        {"second --protected"},
		"profile rename":     {"second third"},
		"profile delete":     {"third --yes"},
		"perk list":          {"", "--all", "--query nothing-like-it"},
		"perk get":           {"coffee", "coffee museum"},
		"perk categories":    {""},
		"perk redeem":        {"coffee --user alice --dry-run", "coffee --user alice", winners},
		"redeem":             {"coffee --user bob"},
		"user perks":         {"alice", "alice --type redeemed", "bob --type redeemed"},
		"property list":      {"", "--own --all"},
		"property create":    {"--title New --price-pw 1 --dry-run", "--title New --price-pw 1"},
		"property get":       {"42", "42 43"},
		"property update": {"42 --title New --dry-run", "42 --title New",
			rows("prices.csv", "id,price_pw\n42,1.10\n")},
		"property edit": {"42 --yes", "42 --yes", "42 --dry-run"},
		"property delete": {"42 43 --dry-run", "42 --yes", "43 99 --yes --dry-run", rows("closed.csv", "id\n43\n") +
			" --yes"},
		"api": {"health", "partners/perks --paginate", "HEAD health", "openapi.yaml",
			"POST partners/perks/museum/redeem --field user_id=bob"},
		"explain":    {"", "perk", "perk.valid_to"},
		"completion": {"bash", "zsh", "fish", "powershell"},
		"doctor":     {""},
		"tui":        {"--list-keys"},
		"version":    {""},
	}
	order := []string{
		"login", "auth login", "profile list", "profile use", "profile show", "auth status", "whoami", "auth token",
		"perk list", "perk get",
		"perk categories", "redemption list", "redemption get", "redemption approve", "redemption wait",
		"redemption void", "redemption reject", "report redemptions", "user list", "user can", "events", "perk redeem",
		"redeem", "user perks", "bulk status", "bulk undo", "property list", "property create", "property get",
		"property update", "property edit", "property delete", "api", "explain", "config list", "config get",
		"config set", "config path", "open", "completion", "doctor", "tui", "version",
		"profile set", "profile rename", "profile delete", "auth logout", "logout",
	}
	commands := leaves(tree())
	for path := range commands {
		if arguments[path] == nil {
			t.Errorf("add arguments for perksctl %s", path)
		}
	}
	if len(order) != len(commands) {
		t.Errorf("%d commands listed, want %d", len(order), len(commands))
	}
	for _, path := range order {
		for _, rest := range arguments[path] {
			args := append(strings.Fields(path+" "+rest), "--output", "json")
			r := x.must(args...)
			dec := json.NewDecoder(strings.NewReader(r.out))
			var value any
			if err := dec.Decode(&value); err != nil {
				t.Errorf("perksctl %s: %v\n%s", strings.Join(args, " "), err, r.out)
			}
			if _, err := dec.Token(); err != io.EOF {
				t.Errorf("perksctl %s writes more than one JSON value:\n%s", strings.Join(args, " "), r.out)
			}
		}
	}
}

func TestVersionNeedsNoFilesOrServer(t *testing.T) {
	x := newTerminal(t, map[string]string{session.EnvAPIURL: "http://127.0.0.1:1/v2"})
	x.env[session.EnvConfigDir] = filepath.Join(t.TempDir(), "missing")
	if r := x.must("version"); r.err != "" || !strings.HasPrefix(r.out, "perksctl ") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(x.env[session.EnvConfigDir]); !os.IsNotExist(err) {
		t.Errorf("version created the configuration directory: %v", err)
	}
}
