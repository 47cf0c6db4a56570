package tuitest

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/display"
	"example.com/perks/cmd/dev/programs"
)

// fixture is a computer on which perksctl is installed, and a service that it can reach.
type fixture struct {
	programs.Workspace
	t       *testing.T
	address string // of the API
	id      string
	secret  string
}

// loggedIn is a fixture whose user has logged in. The flags are those of perksd serve.
func loggedIn(t *testing.T, flags ...string) *fixture {
	t.Helper()
	d := newFixture(t, flags...)
	d.logIn()
	return d
}

func newFixture(t *testing.T, flags ...string) *fixture {
	t.Helper()
	d := &fixture{Workspace: programs.Workspace{Programs: binaries(t), Dir: t.TempDir()}, t: t, id: "demo"}
	created, err := d.NewClient(t.Context(), d.id)
	if err != nil {
		t.Fatal(err)
	}
	d.secret = created.Secret
	d.must("perksd", "demo-data", "--perks", "60", "--users", "10", "--properties", "3", "--redemptions", "0",
		"--owner", d.id)
	d.serve(flags...)
	return d
}

// serve starts the service.
func (d *fixture) serve(flags ...string) {
	d.t.Helper()
	server, err := d.Serve(flags...)
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			d.t.Error(err)
		}
	})
	d.address = server.URL + "/v2"
}

// must runs a command, and fails the test if it fails.
func (d *fixture) must(words ...string) string {
	d.t.Helper()
	output, err := d.Run(d.t.Context(), words...)
	if err != nil {
		d.t.Fatal(err)
	}
	return output
}

// imports imports lines of CSV as perks or users.
func (d *fixture) imports(kind, lines string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.Dir, kind+".csv"), []byte(lines), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.must("perksd", "import", kind, kind+".csv")
}

// logIn logs in with perksctl auth login.
func (d *fixture) logIn(flags ...string) {
	d.t.Helper()
	cmd := d.Command(d.t.Context(), append([]string{"perksctl", "auth", "login", "--api-url", d.address, "--client-id",
		d.id, "--secret-stdin"}, flags...)...)
	cmd.Stdin = strings.NewReader(d.secret)
	if output, err := cmd.CombinedOutput(); err != nil {
		d.t.Fatalf("logging in: %v\n%s", err, output)
	}
}

// window is a terminal in which a shell waits for commands.
type window struct {
	t        *testing.T
	ctx      context.Context
	terminal *Terminal
	dir      string
	commands map[string]func(argument string) // the test's own, in scenarios
}

const prompt = "ready>"

// exitTimeout is how long a program may take to exit, even on a busy machine.
const exitTimeout = 20 * time.Second

func (d *fixture) window(t *testing.T, width, height int) *window {
	t.Helper()
	w := &window{t: t, ctx: t.Context(), dir: t.TempDir()}
	env := append(d.Env(), "PATH="+d.Programs+":"+os.Getenv("PATH"), "PS1="+prompt+" ", "COLORTERM=truecolor")
	terminal, err := StartTerminal(t.Context(), width, height, w.dir, env)
	if err != nil {
		t.Fatal(err)
	}
	w.terminal = terminal
	t.Cleanup(func() {
		if err := terminal.Close(); err != nil {
			t.Error(err)
		}
	})
	w.see(prompt)
	return w
}

// see waits until the terminal shows all texts, and returns what it shows.
func (w *window) see(texts ...string) string {
	w.t.Helper()
	screen, err := w.terminal.AwaitText(w.ctx, texts...)
	if err != nil {
		w.t.Fatal(err)
	}
	return screen
}

// gone waits until the terminal no longer shows a text.
func (w *window) gone(text string) {
	w.t.Helper()
	if _, err := w.terminal.Await(w.ctx, "no "+text,
		func(screen string) bool { return !strings.Contains(screen, text) }); err != nil {
		w.t.Fatal(err)
	}
}

// press presses keys by the names that bubbletea has for them.
func (w *window) press(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		switch rest, isControl := strings.CutPrefix(key, "ctrl+"); {
		case isControl:
			key = "C-" + rest
		case len(key) > 1:
			names := map[string]string{"esc": "Escape", "backspace": "BSpace", "pgdown": "PageDown"}
			key = cmp.Or(names[key], display.Capital(key))
		}
		w.do(w.terminal.Press(w.ctx, key))
	}
}

// play plays a scenario, as Driver.Play does. The command run runs a command, and shows its exit code.
func (w *window) play(scenario string, replacements ...string) {
	w.t.Helper()
	command := func(name string) func(string) {
		if run := w.commands[name]; run != nil {
			return run
		}
		return map[string]func(string){
			"run": func(line string) { w.enter(line + "; echo exited\\ with $?") },
			"size": func(size string) {
				var width, height int
				_, err := fmt.Sscanf(size, "%dx%d", &width, &height)
				w.do(err)
				w.do(w.terminal.Resize(w.ctx, width, height))
			},
		}[name]
	}
	on := stage{w.t, w.press, w.write, func(texts ...string) { w.see(texts...) }, w.gone, command}
	for line := range strings.Lines(strings.NewReplacer(replacements...).Replace(scenario)) {
		if step := strings.TrimSpace(line); step != "" {
			on.play(step)
		}
	}
}

func (w *window) write(text string) {
	w.t.Helper()
	w.do(w.terminal.Type(w.ctx, text))
}

// enter types a line for the shell.
func (w *window) enter(line string) {
	w.t.Helper()
	w.write(line)
	w.press("enter")
}

func (w *window) do(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// read returns what a command in the window has written to a file.
func (w *window) read(name string) string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.dir, name))
	if err != nil {
		w.t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
