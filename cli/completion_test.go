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
	noSpace = ":6"  // and no file
	noFile  = ":4"  //
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

func TestRunsAreCompleted(t *testing.T) {
	x, _ := loggedIn(t)
	dir := t.TempDir()
	file := write(t, filepath.Join(dir, "w.csv"), "perk,user\ncoffee,alice\n")
	x.must("perk", "redeem", "--file", file, "--job", "night-1")
	if err := os.WriteFile(filepath.Join(dir, "no-job.results.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, words := range [][]string{
		{"bulk", "status", "--results", dir, "--job", ""}, {"bulk", "undo", file, "--job", "ni"},
		{"perk", "redeem", "--file", file, "--job", ""},
	} {
		if got := x.complete(words...); !slices.Equal(got, []string{"night-1", inOrder}) {
			t.Errorf("%q: %q", words, got)
		}
	}
	if got := x.complete("bulk", "status", ""); got[len(got)-1] != byName {
		t.Errorf("bulk status completes %q", got)
	}
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

// redeemedBy is the beginning of a list of what a user has redeemed.
const redeemedBy = "user perks bob --type redeemed --sort "

func TestCompletions(t *testing.T) {
	x, facts := loggedIn(t)
	perks := []string{"coffee\tCoffee for two", "museum\t=Museum night", "sold-out\tLast ticket",
		"spa-day\tSpa [31mday"}
	redeem := func(perk, user string) string {
		return strings.TrimSpace(x.must("perk", "redeem", perk, "--user", user, "--output", "id").out)
	}
	approved, pending := redeem("coffee", "alice"), redeem("spa-day", "bob")
	listed := approved
	approved, pending = approved+"\tcoffee by alice, approved", pending+"\tspa-day by bob, pending"
	profile := "default\t" + facts["API_URL"] + " as " + facts["CLIENT"]
	for name, test := range map[string]struct {
		words string // "_" is an empty word
		want  []string
	}{
		"a command": {"pe", []string{"perk\tBrowse, read and redeem perks", noFile}},
		"a command of a group": {"perks cat",
			[]string{"categories\tList the categories of perks", noFile}},
		"after an unknown command": {"prek _", []string{noFile}},
		"help of a command": {"help profile us",
			[]string{"use\tMake a profile the current one", noFile}},
		"a flag": {"perk list --incl",
			[]string{"--include-expired\talso show expired perks", noFile}},
		"a flag's help without its quotes": {"perk list --prof",
			[]string{"--profile\tuse this profile (env PERKSCTL_PROFILE)", noFile}},
		"perks":                         {"perk get _", append(slices.Clone(perks), inOrder)},
		"a perk by its id":              {"perk get co", []string{perks[0], inOrder}},
		"a perk by words of its title":  {"perk get nig", []string{perks[1], inOrder}},
		"perks that are not listed yet": {"perk get coffee mus co", []string{inOrder}},
		"one perk to redeem":            {"perk redeem spa", []string{perks[3], inOrder}},
		"no second perk":                {"perk redeem spa-day _", []string{noFile}},
		"perks of the sandbox": {"--sandbox perk get _",
			[]string{"try-me\tOnly in the sandbox", inOrder}},
		"perks of an unknown profile": {"--profile nope perk get _", []string{inOrder}},
		"categories": {"perk list --category _",
			[]string{"arts\tArts", "food-drink\tFood & Drink", noFile}},
		"a category by a word of its name": {"perk list --category Drin",
			[]string{"food-drink\tFood & Drink", noFile}},
		"cities":                          {"perk list --city _", []string{"Berlin", "Paris", noFile}},
		"profiles":                        {"--profile _", []string{profile, noFile}},
		"a profile to use":                {"profile use def", []string{profile, noFile}},
		"formats":                         {"perk list -o js", []string{"json", "jsonl", inOrder}},
		"a format after an equals sign":   {"perk list --output=y", []string{"yaml", inOrder}},
		"fields of the command's records": {"perk list --fields t", []string{"title", "terms", inList}},
		"more fields": {"perk list --fields title,id,ter",
			[]string{"title,id,terms", inList}},
		"no duplicate field": {"perk list --fields title,t", []string{"title,terms", inList}},
		"fields of another record": {"user perks bob --type redeemed --fields perk",
			[]string{"perk_id", inList}},
		"sort keys":  {"perk list --sort t", []string{"title", "terms", inList}},
		"descending": {"perk list --sort=-ti", []string{"-title", inList}},
		"both directions of the next field": {"perk list --sort title,-c",
			[]string{"title,-category", "title,-city", "title,-created_at", inList}},
		"no duplicate in another direction": {"perk list --sort=-title,ti", []string{inList}},
		"sort keys of redemptions":          {redeemedBy + "re", []string{"redeemed_at", inList}},
		"sort keys of redeemed perks":       {redeemedBy + "ti", []string{"title", inList}},
		"sort keys of all redemptions": {"redemption list --sort _",
			[]string{"redeemed_at", "-redeemed_at", inList}},
		"types of events": {"events --type perk",
			[]string{"perk.changed", "perks.imported", inOrder}},
		"statuses":                      {"redemption list --status p", []string{"pending", inOrder}},
		"a perk of redemptions":         {"redemption list --perk co", []string{perks[0], inOrder}},
		"a perk that a user can redeem": {"user can alice co", []string{perks[0], inOrder}},
		"redemptions":                   {"redemption get _", []string{approved, pending, inOrder}},
		"redemptions to approve":        {"redemption approve _", []string{pending, inOrder}},
		"a redemption by its user":      {"redemption get ali", []string{approved, inOrder}},
		"redemptions to void":           {"redemption void _", []string{approved, inOrder}},
		"redemptions not listed yet":    {"redemption get APPROVED _", []string{pending, inOrder}},
		"types": {"user perks bob --type r",
			[]string{"redeemed\twhat the user has redeemed", inOrder}},
		"a kind to start with":  {"tui us", []string{"user", inOrder}},
		"no id to start with":   {"tui user _", []string{noFile}},
		"themes":                {"tui --theme h", []string{"high-contrast", inOrder}},
		"methods":               {"api P", []string{"POST", "PUT", "PATCH", inOrder}},
		"methods in lower case": {"api pa", []string{"patch", inOrder}},
		"a method of a flag":    {"api -X pu", []string{"put", inOrder}},
		"a path":                {"api GET _", []string{noFile}},
		"fields to set":         {"property update 1 --set ti", []string{"title=", noSpace}},
		"properties": {"property get _",
			[]string{"42\tFlat", "43\tHouse", "99\tCastle", inOrder}},
		"a property by a word of its title": {"property get cas", []string{"99\tCastle", inOrder}},
		"own properties":                    {"property delete 42 _", []string{"43\tHouse", inOrder}},
		"one property to edit":              {"property edit _", []string{"42\tFlat", "43\tHouse", inOrder}},
		"cities of properties":              {"property list --city L", []string{"Leeds", noFile}},
		"sort keys of properties": {"property list --sort=-p",
			[]string{"-propertyId", "-price_pw", inList}},
		"a number": {"perk list --page _", []string{noFile}},
		"rows": {"property update --file _",
			[]string{"csv", "tsv", "json", "jsonl", byName}},
		"a patch":            {"property update 1 --from-file _", []string{"json", byName}},
		"any file":           {"api --input _", []string{anyFile}},
		"a file to write":    {"property update --results _", []string{anyFile}},
		"records to explain": {"explain pe", []string{"perk", noSpace}},
		"fields to explain": {"explain property.ba",
			[]string{"property.bathrooms\twhole number, 0 to 2147483647", noFile}},
		"settings": {"config get tui.t", []string{"tui.theme", noFile}},
		"settings to change": {"config set profiles.default.c",
			[]string{"profiles.default.ca-cert", noFile}},
		"keys of an action": {"config set tui.keys.record.red",
			[]string{"tui.keys.record.redeem\tRedeem", noFile}},
		"values of a setting":                     {"config set tui.theme l", []string{"light", noFile}},
		"what to open":                            {"open co", []string{perks[0], inOrder}},
		"shells":                                  {"completion f", []string{"fish", noFile}},
		"nothing after --help":                    {"perk get --help _", []string{noFile}},
		"what reports count by":                   {"report redemptions --by p", []string{"perk", inOrder}},
		"users":                                   {"user perks _", []string{"alice", "bob", inOrder}},
		"a user to redeem for":                    {"perk redeem tea --user b", []string{"bob", inOrder}},
		"a user who can redeem":                   {"user can al", []string{"alice", inOrder}},
		"no second user":                          {"user perks alice _", []string{noFile}},
		"users of the sandbox":                    {"--sandbox redemption list --user b", []string{"bob", inOrder}},
		"nothing for a command without arguments": {"version _", []string{noFile}},
	} {
		words := strings.Fields(test.words)
		for i, word := range words {
			words[i] = strings.NewReplacer("_", "", "APPROVED", listed).Replace(word)
			if word != "_" && word != "APPROVED" {
				words[i] = word
			}
		}
		got := x.complete(words...)
		if !strings.HasPrefix(test.words, "perk list --sort") {
			slices.Sort(got[:len(got)-1])
			slices.Sort(test.want[:len(test.want)-1])
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s (%s):\n got %q\nwant %q", name, test.words, got, test.want)
		}
	}
}

func TestCompletedQueries(t *testing.T) {
	x, _ := loggedIn(t)
	for _, test := range []struct {
		command, query string
		want           []string
	}{
		{"perk list", "", []string{"city:", "category:", "near:", "radius:", "expired:", inList}},
		{"perk list", "coffee ci", []string{"coffee city:", inList}},
		{"perk list", "coffee -e", []string{"coffee -expired", inList}},
		{"perk list", "+expired city:B", []string{"+expired city:Berlin", inOrder}},
		{"user perks alice", "cat:dri", []string{"cat:food-drink\tFood & Drink", inOrder}},
		{"property list", `"a b" city:L`, []string{`"a b" city:Leeds`, inOrder}},
		{"property list", "own:", []string{"own:yes", "own:no", inOrder}},
		{"property list", "price:1", []string{inOrder}},
		{"redemption list", "user:al", []string{"user:alice", inOrder}},
		{"redemption list", "perk:spa", []string{"perk:spa-day\tSpa [31mday", inOrder}},
		{"redemption list", "status:re", []string{"status:rejected", inOrder}},
		{"redemption list", "pen", []string{"pending", inList}},
		{"perk list", "$(reboot) ci", []string{inList}}, // would be run if the shell put it back without its quotes
		{"perk list", "12:", []string{inList}},
	} {
		if got := x.complete(append(strings.Fields(test.command), "--query", test.query)...); !slices.Equal(got,
			test.want) {
			t.Errorf("perksctl %s --query %q: got %q, want %q", test.command, test.query, got, test.want)
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
		"bulk status": "x", "bulk undo": "x --reason y", "perk get": "x", "perk redeem": "x --user y",
		"redeem": "x --user y", "user perks": "x", "user can": "x y", "redemption get": "x", "redemption approve": "x",
		"redemption wait": "x", "redemption reject": "x --reason y", "redemption void": "x --reason y",
		"profile use": "x", "profile set": "x --protected", "profile rename": "x y", "config get": "x",
		"config set": "x y", "open": "x", "profile delete": "x --yes",
		"property get": "1", "property create": "--title x --price-pw 1", "property update": "1 --title x",
		"property edit": "1", "property delete": "1 --yes", "completion": "bash",
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
		if path == "api" && len(offered) == 0 {
			continue // a response may have any fields
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

func TestCachedValuesArePrivate(t *testing.T) {
	x, facts := loggedIn(t)
	x.complete("perk", "get", "")
	x.complete("--sandbox", "perk", "get", "")
	files, err := filepath.Glob(filepath.Join(x.env[session.EnvConfigDir], "cache", "completion-*", "*.json"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
		if text, _ := os.ReadFile(file); strings.Contains(string(text), facts["SECRET"]) ||
			strings.Contains(string(text), "eyJ") {
			t.Errorf("%s has a secret or a token:\n%s", file, text)
		}
	}
}

func TestNoCompletionsWithoutLogin(t *testing.T) {
	loggedOut := newTerminal(t, nil)
	if got := loggedOut.complete("perk", "get", ""); !slices.Equal(got, []string{inOrder}) {
		t.Errorf("without a login: %q", got)
	}
	x, _ := loggedIn(t)
	if got := x.complete("perk", "get", "cof"); len(got) != 2 {
		t.Errorf("with a login: %q", got)
	}
	x.must("auth", "logout")
	if got := x.complete("perk", "get", "cof"); !slices.Equal(got, []string{inOrder}) {
		t.Errorf("after a logout: %q", got)
	}
}

func TestCompletionIgnoresBrokenConfiguration(t *testing.T) {
	x := newTerminal(t, nil)
	write(t, filepath.Join(x.env[session.EnvConfigDir], "config.yaml"), "profilse: {}")
	for _, words := range [][]string{{"perk", "get", ""}, {"--profile", ""},
		{"--debug", "perk", "list", "--city", ""}} {
		if got := x.complete(words...); len(got) != 1 {
			t.Errorf("%q: %q", words, got)
		}
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
