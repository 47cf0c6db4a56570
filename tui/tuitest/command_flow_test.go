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
	d := loggedIn(t)
	file := filepath.Join(t.TempDir(), "process")
	d.configure(`tui:
  commands:
    - {key: ctrl+g, name: Look, command: [sh, -c, "test -t 0 && test -t 1 && test -t 2 && echo $PPID >` + file + `"]}
    - {key: f9, name: Wait, command: [sh, -c, "echo it waits; sleep 60"]}
`)
	w := d.window(t, 100, 26)
	w.play(`
		run: perksctl tui => find: words
		ctrl+g`)
	w.see("Done: Look.", "Perks") // without another key
	w.play(`
		f9 => it waits
		ctrl+c => Error: Wait: signal: interrupt. | Perks`)
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
	d := loggedIn(t)
	d.configure("tui:\n  theme: pink\n  keys: {record.reedem: [r], app.mouse: [f4]}\n")
	w := d.window(t, 100, 26)
	w.play(`
		run: perksctl tui --theme pink => exited with 2 | there is no theme "pink"
		run: perksctl tui => find: words | Warning: Ignored in config.yaml. Line | : there is no theme "pink"
		=> : there is no action "record.reedem".
		f4 => Mouse:
		q => exited with 0 | ready>`)
}
