package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"example.com/perks/api"
	"example.com/perks/cli/completion"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// TestShells presses TAB in the shells themselves, on a terminal, after the completion was installed in an empty home as
// its help says.
func TestShells(t *testing.T) {
	for _, kind := range []shellKind{
		{name: "bash", args: []string{"--noprofile", "-i"}, rc: ".bashrc", prompt: "PS1='ready> '\nbind 'set show-all-if-ambiguous on'\n. " + bashCompletion + "\n", patch: "pat"},
		{name: "zsh", args: []string{"-i"}, rc: ".zshrc", prompt: "PS1='ready> '\n", patch: "pat"},
		{name: "fish", rc: ".config/fish/config.fish", prompt: "function fish_prompt\n echo -n 'ready> '\nend\n", patch: "patch.j"}, // it completes every file
	} {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			home := newHome(t, kind)
			first := home.open()
			first.types(installLine(t, kind.name) + " && echo all-''well\r")
			first.sees("all-well")
			first.leaves()

			second := home.open()
			second.completes()
			second.leaves()
			if _, err := os.Stat(filepath.Join(home.folder, "pwned")); err == nil {
				t.Error("a city's name was run as a command")
			}
		})
	}
}

const bashCompletion = "/usr/share/bash-completion/bash_completion"

type shellKind struct {
	name       string
	args       []string
	rc, prompt string // the file that is read at the start
	patch      string // what is typed of patch.json, beside patch.md
}

// completes types lines with TABs in them and looks at what comes of each.
func (s *openShell) completes() {
	const tab, clear, enter = "\t", "\x15", "\r" // an interrupt might reach the completion instead of the shell

	// The one perk that begins so is put onto the line, and the line runs.
	s.types("perksctl perk get co" + tab + "--fields title" + enter)
	s.sees("Coffee for two")
	s.isReady()

	// One that is found by a word of its title takes the place of the word; fish insists on beginnings.
	if s.kind.name != "fish" {
		s.types("perksctl perk get nig" + tab + "--fields title" + enter)
		s.sees("Museum night")
		s.isReady()
		s.types("perksctl perk get host" + tab)
		s.sees("h-")
		s.types(clear + enter)
		s.isReady()
	}

	// Several are listed, with their titles.
	s.types("perksctl perk get " + tab)
	s.sees("coffee", "Coffee for two", "odd", `Say "hi": it's 5 o'clock $(now)`, "museum")
	s.types(clear + enter)
	s.isReady()

	// Flags, and values of flags; also where the value is joined to the flag.
	s.types("perksctl perk list --cit" + tab + "Pari" + tab + "--sort=-tit" + tab + " --output i" + tab + enter)
	s.sees("spa-day", "museum")
	s.isReady()
	s.types("perksctl perk list --category fo" + tab + "-o id" + enter)
	s.sees("coffee")
	s.isReady()
	s.types("perksctl --profile st" + tab + "profile show --fields name,cli" + tab + ",cur" + tab + enter)
	s.sees("staging", "client-", "false")
	s.isReady()

	// What the line says already counts.
	s.types("perksctl --sandbox perk get tr" + tab + "--fields title" + enter)
	s.sees("Only in the sandbox")
	s.isReady()

	// Files where a file is meant, and nothing where nothing is known.
	s.types("perksctl property update 42 --dry-run --output json --from-file " + s.kind.patch + tab + enter)
	s.sees("From the patch")
	s.isReady()
	s.types("perksctl property get no" + tab + enter)
	s.sees(`"no" is not the id of a property`)
	s.isReady()

	// Hostile names are not even shown.
	s.types("perksctl perk list --city " + tab)
	s.sees("Berlin", "Paris")
	if strings.Contains(s.screen(), "pwned") {
		s.t.Errorf("a city that is a command is offered:\n%s", s.screen())
	}
	s.types(clear + enter)
	s.isReady()
}

// home is a person's home with nothing in it but a prompt, and a login.
type home struct {
	t      *testing.T
	kind   shellKind
	folder string
	env    []string
}

func newHome(t *testing.T, kind shellKind) *home {
	if _, err := exec.LookPath(kind.name); err != nil {
		t.Fatalf("%s is not installed here: run 'make test-programs' as root, or install it in your system's way.", kind.name)
	}
	if _, err := os.Stat(bashCompletion); kind.name == "bash" && err != nil {
		t.Fatal("The package bash-completion is not installed here: run 'make test-programs' as root, or install it in your system's way.")
	}
	server := servertest.Start(t)
	facts := shop(server)
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

	h := &home{t: t, kind: kind, folder: t.TempDir()}
	h.write(kind.rc, kind.prompt)
	h.write("patch.json", `{"title": "From the patch"}`)
	h.write("patch.md", "no patch")
	h.write("notes.txt", "")
	h.write(".local/share/fish/generated_completions/.keep", "") // or fish goes through all manual pages first
	h.env = []string{
		"HOME=" + h.folder, "PATH=" + os.Getenv("PATH"), "TERM=xterm", "LANG=C.UTF-8", "GORACE=atexit_sleep_ms=0",
		completion.EnvTimeout + "=30s", // the machine may have much else to do
	}
	for name, value := range x.env {
		h.env = append(h.env, name+"="+value)
	}
	return h
}

func (h *home) write(name, text string) {
	path := filepath.Join(h.folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// installLine is what the help of the completion command says for the shell.
func installLine(t *testing.T, shell string) string {
	for _, cmd := range tree().Commands() {
		for line := range strings.Lines(cmd.Example) {
			if strings.Contains(line, "perksctl completion "+shell+" ") {
				return strings.TrimSpace(line)
			}
		}
	}
	t.Fatalf("the help does not say how to install the completion for %s", shell)
	return ""
}

// openShell is a shell on a terminal.
type openShell struct {
	t    *testing.T
	kind shellKind
	cmd  *exec.Cmd
	tty  *os.File
	news chan struct{} // something was shown

	mu    sync.Mutex
	shown bytes.Buffer // since the last keys
	ended bool
}

// open starts the shell and waits until it is ready.
func (h *home) open() *openShell {
	h.t.Helper()
	cmd := exec.Command(h.kind.name, h.kind.args...)
	cmd.Env, cmd.Dir = h.env, h.folder
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 140})
	if err != nil {
		h.t.Fatal(err)
	}
	s := &openShell{t: h.t, kind: h.kind, cmd: cmd, tty: tty, news: make(chan struct{}, 1)}
	go s.watch()
	h.t.Cleanup(func() {
		_ = tty.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	s.isReady()
	return s
}

func (s *openShell) watch() {
	chunk := make([]byte, 4096)
	for {
		n, err := s.tty.Read(chunk)
		s.mu.Lock()
		s.shown.Write(chunk[:n])
		s.ended = err != nil
		s.mu.Unlock()
		select {
		case s.news <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// types sends keys and forgets what was on the screen before.
func (s *openShell) types(keys string) {
	s.mu.Lock()
	s.shown.Reset()
	s.mu.Unlock()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

var steering = regexp.MustCompile("\x1b\\[[0-9;?>=]*[ -/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[()][A-Z0-9]|\x1b[=>78M]|[\x00-\x08\x0d-\x1f]")

// screen is what was shown since the last keys, without what only steers the terminal.
func (s *openShell) screen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return steering.ReplaceAllString(s.shown.String(), "")
}

// sees waits until all the texts were shown.
func (s *openShell) sees(texts ...string) {
	s.t.Helper()
	tooLong := time.After(time.Minute)
	for {
		missing := ""
		for _, text := range texts {
			if !strings.Contains(s.screen(), text) {
				missing = text
			}
		}
		if missing == "" {
			return
		}
		s.mu.Lock()
		ended := s.ended
		s.mu.Unlock()
		if ended {
			s.t.Fatalf("the shell ended without showing %q:\n%s", missing, s.screen())
		}
		select {
		case <-s.news:
		case <-tooLong:
			s.t.Fatalf("%q was never shown:\n%s", missing, s.screen())
		}
	}
}

// isReady waits for the next prompt. Lines are told from prompts by what is typed behind one: nothing yet.
func (s *openShell) isReady() {
	s.t.Helper()
	s.sees("ready> ")
}

// leaves ends the shell and waits for that.
func (s *openShell) leaves() {
	s.t.Helper()
	s.types("exit\r")
	done := make(chan error, 1)
	go func() { done <- s.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(time.Minute):
		s.t.Fatalf("the shell does not end:\n%s", s.screen())
	}
}
