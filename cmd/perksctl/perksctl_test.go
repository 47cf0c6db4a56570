package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"example.com/perks/cmd/dev/programs"
)

func TestMain(m *testing.M) {
	testscript.Main(programs.Tests{Of: m}, map[string]func(){"perksctl": main, "spy-on-children": spyOnChildren})
}

// maxDuration bounds the commands that do nothing. A library that waits for a reply of the terminal waits for seconds.
const maxDuration = 500 * time.Millisecond

// TestCommandsDoNotQueryTerminal runs commands on a terminal that never replies. A library that queries the background
// colour on import would wait for seconds here, and leave its query on the screen.
func TestCommandsDoNotQueryTerminal(t *testing.T) {
	for _, test := range []struct {
		args string
		code int
	}{
		{"version", 0}, {"help", 0}, {"perk", 0}, {"help perk redeem", 0}, {"completion bash", 0},
		{"perk list", 4}, {"perk list --page 0", 2}, {"no-such-command", 2},
		{"help tui", 0}, {"tui --list-keys", 0}, {"tui --theme pink", 2}, {"tui --profile nobody", 2},
		{"tui --debug", 2},
	} {
		quickest := time.Hour
		for try := 0; try < 10 && quickest > maxDuration; try++ { // the machine may be busy with other tests
			start := time.Now()
			text, code := onSilentTerminal(t, strings.Fields(test.args)...)
			quickest = min(quickest, time.Since(start))
			if code != test.code || text == "" {
				t.Errorf("perksctl %s: exit code %d, want %d:\n%s", test.args, code, test.code, text)
			}
			if strings.Contains(text, "\x1b") {
				t.Fatalf("perksctl %s writes an escape sequence: %q", test.args, text)
			}
		}
		if quickest > maxDuration {
			t.Errorf("perksctl %s takes %s", test.args, quickest)
		}
	}
}

// onSilentTerminal runs perksctl with all its streams on a terminal that supports colour but does not reply to queries.
func onSilentTerminal(t *testing.T, args ...string) (text string, code int) {
	t.Helper()
	cmd, screen := onTerminal(t, args...)
	shown, _ := io.ReadAll(screen) // ends with EIO when perksctl does
	_ = cmd.Wait()
	return string(shown), cmd.ProcessState.ExitCode()
}
