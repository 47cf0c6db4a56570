package tuitest

import (
	"strings"
	"testing"
)

func TestBrokenBordersAreFound(t *testing.T) {
	const whole = `╭─ a ──╮╭──╮
│ 漢字 ▐│  │
│ ╔══════╗ │
│ ╚══════╝ │
╰──────╯╰──╯`
	if at := brokenBorder(strings.Split(whole, "\n")); at != "" {
		t.Errorf("a whole border is broken at %s", at)
	}
	for change, want := range map[string]string{
		"漢字 ": "line 2, column 8", "│ ╔": "line 3, column 1", "╗ │": "line 3, column 3",
		"╰──────╯╰──╯": "line 1, column 1",
	} {
		if at := brokenBorder(strings.Split(strings.Replace(whole, change, "漢", 1), "\n")); at != want {
			t.Errorf("without %q the border is broken at %q, want %q", change, at, want)
		}
	}
}
