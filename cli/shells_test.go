package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/cli/completion"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestShells presses TAB in real shells on a terminal, after installing the completion in an empty home as its help
// says.
func TestShells(t *testing.T) {
	for _, kind := range []shellKind{
		{name: "bash", args: []string{"--noprofile", "-i"}, rc: ".bashrc",
			prompt: "PS1='ready> '\nbind 'set show-all-if-ambiguous on'\n. " + bashCompletion + "\n", patch: "pat"},
		{name: "zsh", args: []string{"-i"}, rc: ".zshrc", prompt: "PS1='ready> '\n", patch: "pat"},
		// fish completes every file
		{name: "fish", rc: ".config/fish/config.fish", prompt: "function fish_prompt\n echo -n 'ready> '\nend\n",
			patch: "patch.j"},
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t, kind)
			first := home.open()
			first.send(installLine(t, kind.name) + " && echo all-''well\r")
			first.waitFor("all-well")
			first.exit()

			second := home.open()
			second.testCompletion()
			second.exit()
			if _, err := os.Stat(filepath.Join(home.dir, "pwned")); err == nil {
				t.Error("ran a city's name as a command")
			}
		})
	}
}

const bashCompletion = "/usr/share/bash-completion/bash_completion"

type shellKind struct {
	name       string
	args       []string
	rc, prompt string // the startup file
	patch      string // the typed prefix of patch.json; patch.md also exists
}

// testCompletion types lines with TABs and checks the results.
func (s *openShell) testCompletion() {
	const tab, clear, enter = "\t", "\x15", "\r" // an interrupt might reach the completion instead of the shell

	// A unique prefix is completed, and the line runs.
	s.send("perksctl perk get co" + tab + "--fields title" + enter)
	s.waitFor("Coffee for two")
	s.waitForPrompt()

	// A perk found by a word of its title replaces the word; fish completes only prefixes.
	if s.kind.name != "fish" {
		s.send("perksctl perk get nig" + tab + "--fields title" + enter)
		s.waitFor("Museum night")
		s.waitForPrompt()
		s.send("perksctl perk get host" + tab)
		s.waitFor("h-")
		s.send(clear + enter)
		s.waitForPrompt()
	}

	// Several matches are listed with their titles.
	s.send("perksctl perk get " + tab)
	s.waitFor("coffee", "Coffee for two", "odd", `Say "hi": it's 5 o'clock $(now)`, "museum")
	s.send(clear + enter)
	s.waitForPrompt()

	// Flags and their values, also after an equals sign.
	s.send("perksctl perk list --cit" + tab + "Pari" + tab + "--sort=-tit" + tab + " --output i" + tab + enter)
	s.waitFor("spa-day", "museum")
	s.waitForPrompt()
	s.send("perksctl perk list --category fo" + tab + "-o id" + enter)
	s.waitFor("coffee")
	s.waitForPrompt()
	s.send("perksctl perk list --query cat:fo" + tab + "-o id" + enter)
	s.waitFor("coffee")
	s.waitForPrompt()
	s.send("perksctl --profile st" + tab + "profile show --fields name,cli" + tab + ",cur" + tab + enter)
	s.waitFor("staging", "client-", "false")
	s.waitForPrompt()

	// Flags earlier in the line are respected.
	s.send("perksctl --sandbox perk get tr" + tab + "--fields title" + enter)
	s.waitFor("Only in the sandbox")
	s.waitForPrompt()

	// Files for file flags, nothing for unknown values.
	s.send("perksctl property update 42 --dry-run --output json --from-file " + s.kind.patch + tab + enter)
	s.waitFor("From the patch")
	s.waitForPrompt()
	s.send("perksctl property get no" + tab + enter)
	s.waitFor(`There is no property "no"`)
	s.waitForPrompt()

	// Unsafe names are not shown.
	s.send("perksctl perk list --city " + tab)
	if shown := s.waitFor("Berlin", "Paris"); strings.Contains(shown, "pwned") {
		s.t.Errorf("completed an unsafe city:\n%s", shown)
	}
	s.send(clear + enter)
	s.waitForPrompt()
}

// home is a home directory with a prompt and a login.
type home struct {
	t    *testing.T
	kind shellKind
	dir  string
	env  []string
}

func newHome(t *testing.T, kind shellKind) *home {
	if _, err := exec.LookPath(kind.name); err != nil {
		t.Fatalf("%s is not installed here: run 'make test-programs' as root, or install its package.", kind.name)
	}
	if _, err := os.Stat(bashCompletion); kind.name == "bash" && err != nil {
		t.Fatal("The package bash-completion is not installed here: run 'make test-programs' as root, or install its " +
			"package.")
	}
	server := servertest.Start(t)
	facts := seed(server)
	server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "odd", Title: "Say \"hi\":\tit's 5 o'clock $(now)\n"}},
		store.PerkRecord{Perk: api.Perk{ID: "h-1", Title: "Hostile", City: "$(touch ~/pwned)1"}},
		store.PerkRecord{Perk: api.Perk{ID: "h-2", Title: "Hostile", City: "$(touch ~/pwned)2"}},
	)
	x := newTerminal(t, map[string]string{"PERKSCTL_CLIENT_SECRET": facts["SECRET"]})
	for _, profile := range []string{"staging", "default"} {
		x.must("auth", "login", "--profile", profile, "--api-url", facts["API_URL"], "--client-id", facts["CLIENT"])
	}
	delete(x.env, "PERKSCTL_CLIENT_SECRET")

	h := &home{t: t, kind: kind, dir: t.TempDir()}
	h.write(kind.rc, kind.prompt)
	h.write("patch.json", `{"title": "From the patch"}`)
	h.write("patch.md", "not a patch")
	h.write("notes.txt", "")
	h.write(".local/share/fish/generated_completions/.keep", "") // so that fish does not parse all manual pages
	h.env = []string{
		"HOME=" + h.dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		completion.EnvTimeout + "=30s", // the machine may be busy
	}
	for name, value := range x.env {
		h.env = append(h.env, name+"="+value)
	}
	return h
}

func (h *home) write(name, text string) {
	path := filepath.Join(h.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	write(h.t, path, text)
}

// installLine returns the shell's install command from the help of the completion command.
func installLine(t *testing.T, shell string) string {
	for _, cmd := range tree().Commands() {
		for line := range strings.Lines(cmd.Example) {
			if strings.Contains(line, "perksctl completion "+shell+" ") {
				return strings.TrimSpace(line)
			}
		}
	}
	t.Fatalf("the help has no install command for %s", shell)
	return ""
}

// openShell is a shell on a terminal.
type openShell struct {
	*ttySession
	kind shellKind
}

// open starts the shell and waits until it is ready.
func (h *home) open() *openShell {
	h.t.Helper()
	cmd := exec.Command(h.kind.name, h.kind.args...)
	cmd.Env, cmd.Dir = h.env, h.dir
	s := &openShell{startOnTTY(h.t, cmd), h.kind}
	s.waitForPrompt()
	return s
}

// waitForPrompt waits for the next prompt.
func (s *openShell) waitForPrompt() {
	s.t.Helper()
	s.waitFor("ready> ")
}

// exit exits the shell and waits for it.
func (s *openShell) exit() {
	s.t.Helper()
	s.send("exit\r")
	timeout := time.AfterFunc(time.Minute, func() { _ = s.cmd.Process.Kill() })
	_ = s.cmd.Wait() // which has the exit code of the last command
	if !timeout.Stop() {
		s.t.Error("the shell does not exit")
	}
}
