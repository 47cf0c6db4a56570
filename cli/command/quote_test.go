package command_test

import (
	"os/exec"
	"strings"
	"testing"

	"example.com/perks/cli/command"
)

func TestQuoteForTheShell(t *testing.T) {
	words := []string{"plain", "a=b", "it's me", `{"a": 1}`, "$HOME", "`x`", "two\nlines", "", "*", "-o"}
	line := command.Quote(words)
	got, err := exec.Command("sh", "-c", `for w in `+line+`; do printf '%s\0' "$w"; done`).Output()
	if want := strings.Join(words, "\x00") + "\x00"; err != nil || string(got) != want {
		t.Errorf("the shell read %q from %s, %v", got, line, err)
	}
	if line := command.Quote([]string{"perksctl", "--idempotency-key", "a-1",
		"x@y:z"}); line != "perksctl --idempotency-key a-1 x@y:z" {
		t.Errorf("quoted plain words: %s", line)
	}
}
