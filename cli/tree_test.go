package cli_test

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"example.com/perks/api/webhook"
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
	login := "login --api-url " + facts["API_URL"] + " --client-id " + facts["CLIENT"]
	file := func(name, text string) string { return write(t, filepath.Join(t.TempDir(), name), text) }
	winners := file("winners.csv", "perk,user\nspa-day,alice\nspa-day,bob\n")
	closed := file("closed.csv", "id\n43\n")
	redeemed := func(user string) string {
		return strings.TrimSpace(x.must("perk", "redeem", "spa-day", "--user", user, "--output", "id").out)
	}
	alices, bobs := redeemed("alice"), redeemed("bob")
	const till = "webhook create --url https://till.example/perks"
	hook := strings.TrimSpace(x.must(append(strings.Fields(till), "--output", "id")...).out)
	signs, body := webhook.NewSecret(), []byte(`{"type":"webhook.test"}`)
	secret, err := webhook.ParseSecret(signs)
	if err != nil {
		t.Fatal(err)
	}
	x.stdin = signs + "\n" + string(body)
	var headers strings.Builder
	_ = webhook.Header("1", time.Now(), body, secret).Write(&headers) // to memory
	lines := []string{
		login, "auth " + login + " --profile second", "profile list", "profile use default", "profile show",
		"auth status", "whoami", "auth token",
		"perk list", "perk list --all", "perk list --query nothing-like-it", "perk get coffee",
		"perk get coffee museum", "perk categories",
		"perk create --title New --description New --city York --dry-run",
		"perk create --title New --description New --city York", "perk update coffee --title New --dry-run",
		"perk update coffee --title New", "perk edit coffee --yes", "perk history coffee", "perk stock coffee",
		"perk stock coffee --set 50", "perk stock coffee --add 5 --dry-run",
		"redemption list", "redemption list --status pending --all", "redemption get " + alices,
		"redemption get " + alices + " " + bobs, "redemption approve " + alices + " --dry-run",
		"redemption approve " + alices, "redemption wait " + alices,
		"redemption void " + alices + " --reason mistake --yes", "redemption reject " + bobs + " --reason full",
		"report redemptions", "report redemptions --by perk --own", "user list", "user list --prefix a --all",
		"user can alice museum", "events", "events --last 1 --type redemption.made",
		"events resend redemption/" + alices + " --exec true", till, till + " --dry-run", "webhook list",
		"webhook get " + hook, "webhook update " + hook + " --description Till", "webhook deliveries " + hook,
		"webhook test " + hook + " --dry-run", "webhook redeliver " + hook + " redemption/1 --dry-run",
		"webhook rotate-secret " + hook, "webhook delete " + hook + " --yes",
		"webhook verify --secret-stdin --headers " + file("headers.txt", headers.String()),
		"perk redeem coffee --user alice --dry-run", "perk redeem coffee --user alice",
		"perk redeem --file " + winners, "redeem coffee --user bob", "user perks alice",
		"user perks alice --type redeemed", "user perks bob --type redeemed",
		"bulk status " + winners, "bulk undo " + winners + " --reason mistake --yes",
		"property list", "property list --own --all", "property create --title New --price-pw 1 --dry-run",
		"property create --title New --price-pw 1", "property get 42", "property get 42 43",
		"property update 42 --title New --dry-run", "property update 42 --title New",
		"property update --file " + file("prices.csv", "id,price_pw\n42,1.10\n"),
		"property edit 42 --yes", "property edit 42 --yes", "property edit 42 --dry-run",
		"property history 42", "property history 42 --all",
		"property delete 42 43 --dry-run", "property delete 42 --yes", "property delete 43 99 --yes --dry-run",
		"property restore 42 --dry-run", "property restore 42",
		"property delete --file " + closed + " --yes", "property restore --job back --file " + closed + " --yes",
		"api health", "api partners/perks --paginate", "api HEAD health", "api openapi.yaml",
		"api POST partners/perks/museum/redeem --field user_id=bob", "explain", "explain perk",
		"explain perk.valid_to", "config list", "config get current", "config set tui.mouse true", "config path",
		"mcp config", "open docs --print", "open docs", "completion bash", "completion zsh", "completion fish",
		"completion powershell", "doctor", "tui --list-keys", "version",
		"profile set second --protected", "profile rename second third", "profile delete third --yes",
		"auth logout", "logout",
	}
	for path := range leaves(tree()) {
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line+" ", path+" ") }) {
			t.Errorf("add a line for perksctl %s", path)
		}
	}
	for _, line := range lines {
		r := x.must(append(strings.Fields(line), "--output", "json")...)
		dec := json.NewDecoder(strings.NewReader(r.out))
		var value any
		if err := dec.Decode(&value); err != nil {
			t.Errorf("perksctl %s: %v\n%s", line, err, r.out)
		}
		if _, err := dec.Token(); err != io.EOF {
			t.Errorf("perksctl %s writes more than one JSON value:\n%s", line, r.out)
		}
	}
}
