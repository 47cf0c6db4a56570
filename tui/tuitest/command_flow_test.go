package tuitest

import (
	"os"
	"path/filepath"
	"testing"
)

// TestOwnCommandsHaveTheTerminal runs a command that ends at once, and interrupts another, which must not end perksctl.
func TestOwnCommandsHaveTheTerminal(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.logIn()
	config, err := os.OpenFile(filepath.Join(d.Folder, "perksctl", "config.yaml"), os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = config.WriteString(`tui:
  commands:
    - {key: ctrl+g, name: Look, command: [sh, -c, "test -t 0 && test -t 1 && test -t 2"]}
    - {key: f9, name: Wait, command: [sh, -c, "echo it waits; sleep 60"]}
`)
	}
	if err != nil {
		t.Fatal(err)
	}
	w := d.window(t, 100, 26)
	w.do(config.Close())
	w.enter("perksctl tui; echo exited\\ with $?")
	w.see("find: words")
	w.press("C-g")
	w.see("Done: Look.", "Perks") // without another key
	w.press("F9")
	w.see("it waits")
	w.press("C-c")
	w.see("Error: Wait: signal: interrupt.", "Perks")
	w.press("q")
	w.see("exited with 0", prompt)
}
