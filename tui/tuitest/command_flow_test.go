package tuitest

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestOwnCommandsHaveTheTerminal runs a command that ends at once, and interrupts another, which must not end perksctl.
// An interrupt after it does.
func TestOwnCommandsHaveTheTerminal(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.logIn()
	file := filepath.Join(t.TempDir(), "process")
	d.configure(`tui:
  commands:
    - {key: ctrl+g, name: Look, command: [sh, -c, "test -t 0 && test -t 1 && test -t 2 && echo $PPID >` + file + `"]}
    - {key: f9, name: Wait, command: [sh, -c, "echo it waits; sleep 60"]}
`)
	w := d.window(t, 100, 26)
	w.enter("perksctl tui; echo exited\\ with $?")
	w.see("find: words")
	w.press("C-g")
	w.see("Done: Look.", "Perks") // without another key
	w.press("F9")
	w.see("it waits")
	w.press("C-c")
	w.see("Error: Wait: signal: interrupt.", "Perks")
	text, err := os.ReadFile(file)
	w.do(err)
	process, err := strconv.Atoi(strings.TrimSpace(string(text)))
	w.do(err)
	w.do(syscall.Kill(process, syscall.SIGINT))
	w.see("exited with 130", prompt)
}

// configure adds lines to the configuration.
func (d *fixture) configure(lines string) {
	d.t.Helper()
	config, err := os.OpenFile(filepath.Join(d.Dir, "perksctl", "config.yaml"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = config.WriteString(lines)
		err = errors.Join(err, config.Close())
	}
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestTypingErrorsInTheConfigurationStopNothing starts with a wrong theme and a wrong key.
func TestTypingErrorsInTheConfigurationStopNothing(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.logIn()
	d.configure("tui:\n  theme: pink\n  keys: {record.reedem: [r], app.mouse: [f4]}\n")
	w := d.window(t, 100, 26)
	w.enter("perksctl tui --theme pink; echo exited\\ with $?")
	w.see("exited with 2", `there is no theme "pink"`)
	w.enter("perksctl tui; echo exited\\ with $?")
	w.see("find: words", `Warning: Ignored in config.yaml. Line`,
		`: there is no theme "pink"`, `: there is no action "record.reedem".`)
	w.press("F4")
	w.see("Mouse: ")
	w.press("q")
	w.see("exited with 0", prompt)
}
