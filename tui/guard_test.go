package tui_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
)

// faulty panics in the given method or command.
type faulty struct{ in string }

func (f faulty) Init() tea.Cmd {
	if f.in == "init" {
		panic("a fault in init")
	}
	return func() tea.Msg { return "go" }
}

func (f faulty) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if msg != "go" {
		return f, nil
	}
	switch f.in {
	case "update":
		panic("a fault in update")
	case "command":
		return f, func() tea.Msg { panic("a fault in command") }
	case "batch":
		return f, tea.Batch(func() tea.Msg { return nil }, func() tea.Msg { panic("a fault in batch") })
	}
	return f, nil
}

func (f faulty) View() string {
	if f.in == "view" {
		panic("a fault in view")
	}
	return "fine"
}

// TestPanicRestoresTerminalAndIsReported runs the program with a panic in each method of its model and in commands.
func TestPanicRestoresTerminalAndIsReported(t *testing.T) {
	for _, in := range []string{"init", "update", "command", "batch", "view"} {
		var out bytes.Buffer
		var kept string
		err := tui.RunModel(t.Context(), strings.NewReader(""), &out, faulty{in}, func(report string) (string, error) {
			kept = report
			return "/somewhere/crash.txt", nil
		})
		var crash *tui.Crash
		if !errors.As(err, &crash) || !strings.Contains(err.Error(), "a fault in "+in) ||
			!strings.Contains(err.Error(), "/somewhere/crash.txt") {
			t.Errorf("%s: %v", in, err)
		}
		if !strings.Contains(kept, "guard_test.go") {
			t.Errorf("%s: the report has no stack: %q", in, kept)
		}
		if text := out.String(); !strings.Contains(text, "\x1b[?1049l") || !strings.Contains(text, "\x1b[?25h") {
			t.Errorf("%s: the terminal is not restored: %q", in, text)
		}
	}
}

func TestCanceledContextEndsProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := tui.RunModel(ctx, strings.NewReader(""), &out, faulty{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("exited with %v", err)
	}
}
