package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/completion"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// Directives of cobra's completion protocol.
const (
	anyFile = ":0"
	noFile  = ":4"
	byName  = ":8"  // files with the listed extensions
	inOrder = ":36" // and no file
	inList  = ":38" // in order, without a space after it, and no file
)

// complete completes the last of the words, as a shell does.
func (x *terminal) complete(words ...string) []string {
	x.t.Helper()
	if x.env[completion.EnvTimeout] == "" {
		x.env[completion.EnvTimeout] = "30s" // the machine may be busy
	}
	r := x.must(append([]string{"__complete"}, words...)...)
	if rest, ok := strings.CutPrefix(r.err, "Completion ended with directive: "); !ok ||
		strings.Count(rest, "\n") != 1 {
		x.t.Errorf("%q: %s", words, r.err)
	}
	return strings.Split(strings.TrimSuffix(r.out, "\n"), "\n")
}

func TestCompletionScriptsAreUpToDate(t *testing.T) {
	x := newTerminal(t, nil)
	for shell, file := range map[string]string{
		"bash": "perksctl.bash", "zsh": "_perksctl", "fish": "perksctl.fish", "powershell": "perksctl.ps1",
	} {
		saved, err := os.ReadFile(filepath.Join("..", "completions", file))
		if err != nil || string(saved) != x.must("completion", shell).out {
			t.Errorf("completions/%s differs from perksctl completion %s; run make completions. %v", file, shell, err)
		}
	}
}

// TestFileFlagsCompleteFiles finds flags for files by their help.
func TestFileFlagsCompleteFiles(t *testing.T) {
	x := newTerminal(t, nil)
	for path, cmd := range leaves(tree()) {
		for line := range strings.Lines(cmd.LocalFlags().FlagUsages()) {
			flag, _, found := strings.Cut(strings.TrimSpace(line), " file ")
			if !found || !strings.HasPrefix(flag, "--") {
				continue
			}
			got := x.complete(append(strings.Fields(path), flag, "")...)
			if last := got[len(got)-1]; last != anyFile && last != byName {
				t.Errorf("perksctl %s %s completes %q", path, flag, got)
			}
		}
	}
}

// TestListedValuesMatchTheCommands reads the accepted values from the error for an invalid one.
func TestListedValuesMatchTheCommands(t *testing.T) {
	x, _ := loggedIn(t)
	arguments := map[string]string{
		"bulk status": "x", "bulk undo": "x --reason y", "perk get": "x", "perk update": "x --title x",
		"perk create": "--title x --description y --city z", "perk edit": "x", "perk history": "x", "perk stock": "x",
		"perk redeem": "x --user y",
		"redeem":      "x --user y", "user perks": "x", "user can": "x y", "redemption get": "x",
		"redemption approve": "x",
		"redemption wait":    "x", "redemption reject": "x --reason y", "redemption void": "x --reason y",
		"profile use": "x", "profile set": "x --protected", "profile rename": "x y", "config get": "x",
		"config set": "x y", "open": "x", "profile delete": "x --yes",
		"property get": "1", "property create": "--title x --price-pw 1", "property update": "1 --title x",
		"property edit": "1", "property delete": "1 --yes", "property history": "1", "property restore": "1",
		"completion": "bash", "events resend": "x --exec true", "webhook create": "--url https://x.example",
		"webhook get": "x", "webhook update": "x --enabled", "webhook delete": "x --yes", "webhook test": "x",
		"webhook deliveries": "x", "webhook redeliver": "x y", "webhook rotate-secret": "x",
	}
	listed := func(message, before string) []string {
		_, list, _ := strings.Cut(message, before)
		return strings.Split(strings.TrimSuffix(list, ".\n"), ", ")
	}
	for path := range leaves(tree()) {
		words := strings.Fields(path)
		offered := x.complete(append(words, "--fields", "")...)
		offered = offered[:len(offered)-1]
		r := x.run(append(words, strings.Fields(arguments[path]+" --fields no-such-field")...)...)
		if path == "api" && len(offered) == 0 || path == "mcp config" {
			continue // a response may have any fields, and settings have none to choose
		}
		if want := listed(r.err, "The fields are "); r.code != 2 || !slices.Equal(offered, want) {
			t.Errorf("perksctl %s completes the fields\n%q but says\n%q\nDeclare them with session.Writes.",
				path, offered, r.err)
		}
	}
	if got, want := x.complete("-o", ""), listed(x.run("version", "-o", "no-such").err,
		"The formats are "); !slices.Equal(got[:len(got)-1], want) {
		t.Errorf("formats: got %q, want %q", got, want)
	}
	if got, want := x.complete("api", ""), listed(x.run("api", "NONE", "x").err,
		"The methods are "); !slices.Equal(got[:len(got)-1], want) {
		t.Errorf("methods: got %q, want %q", got, want)
	}
}

func TestUnsafeNamesAreNotCompleted(t *testing.T) {
	server := servertest.Start(t)
	id, secret := server.Client()
	x := newTerminal(t, map[string]string{session.EnvAPIURL: server.URL, session.EnvClientID: id,
		session.EnvClientSecret: secret})
	var records []store.PerkRecord
	for i, city := range []string{
		"$(reboot)", "`reboot`", "a;reboot", "a|b", "a&b", "a>b", "a\\b", `a"b`, "a*", "-rf", "!1", "#a", "~", "a\tb",
		"a\nb", "_activeHelp_ a",
		"St. John's", "Köln", "Frankfurt am Main", "Aix-en-Provence", "東京",
	} {
		records = append(records, store.PerkRecord{Perk: api.Perk{ID: "perk-" + string(rune('a'+i)), City: city,
			Title: "One\ttwo\nthree\x1b[2J :4"}})
	}
	server.ImportPerks(records...)
	want := []string{"Aix-en-Provence", "Frankfurt am Main", "Köln", "St. John's", "東京", noFile}
	if got := x.complete("perk", "list", "--city", ""); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := x.complete("perk", "list", "--query", "city:Fr"); !slices.Equal(got,
		[]string{`city:"Frankfurt am Main"`, inOrder}) {
		t.Errorf("got %q", got)
	}
	if got := x.complete("perk", "get", "perk-a"); !slices.Equal(got,
		[]string{"perk-a\tOne two three[2J :4", inOrder}) {
		t.Errorf("a title breaks the protocol: %q", got)
	}
}

func TestUsersAreCompletedForThoseWhoMayListThem(t *testing.T) {
	server := servertest.Start(t)
	var users []string
	for i := range api.MaxPerPage {
		users = append(users, fmt.Sprintf("a%03d", i))
	}
	server.ImportUsers(append(users, "zoe@example.com", "zoe$(reboot)")...)
	for _, test := range []struct {
		scopes []api.Scope
		typed  string
		want   []string
	}{
		{nil, "zo", []string{"zoe@example.com", inOrder}},
		{nil, "a09", append(slices.Clone(users[90:]), inOrder)},
		{nil, "nobody", []string{inOrder}},
		{[]api.Scope{api.ScopePerksRead, api.ScopeRedemptionsRead}, "zo", []string{inOrder}},
	} {
		id, secret := server.Client(test.scopes...)
		x := newTerminal(t, map[string]string{session.EnvAPIURL: server.URL, session.EnvClientID: id,
			session.EnvClientSecret: secret})
		if got := x.complete("user", "perks", test.typed); !slices.Equal(got, test.want) {
			t.Errorf("%q with the scopes %v: got %q, want %q", test.typed, test.scopes, got, test.want)
		}
	}
}

func TestOlderPerksAreFoundByWords(t *testing.T) {
	server := servertest.Start(t)
	id, secret := server.Client()
	x := newTerminal(t, map[string]string{session.EnvAPIURL: server.URL, session.EnvClientID: id,
		session.EnvClientSecret: secret})
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "zebra-ride", Title: "Zebra ride"}})
	var many []store.PerkRecord
	for i := range api.MaxPerPage {
		many = append(many, store.PerkRecord{Perk: api.Perk{ID: "m-" + string(rune('a'+i/26)) +
			string(rune('a'+i%26))}})
	}
	server.ImportPerks(many...)
	if got := x.complete("perk", "get", "zebra-r"); !slices.Equal(got, []string{"zebra-ride\tZebra ride", inOrder}) {
		t.Errorf("got %q", got)
	}
}

func TestCompletionTimeout(t *testing.T) {
	release := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(silent.Close)
	t.Cleanup(func() { close(release) })
	x := newTerminal(t, map[string]string{session.EnvAPIURL: silent.URL, session.EnvToken: "t",
		completion.EnvTimeout: "40ms"})
	start := time.Now()
	if got := x.complete("perk", "get", ""); !slices.Equal(got, []string{inOrder}) {
		t.Errorf("got %q", got)
	}
	if took := time.Since(start); took < 40*time.Millisecond || took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}
