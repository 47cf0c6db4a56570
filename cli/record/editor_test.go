package record

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// program writes a shell script, and makes its directory the only one on the PATH.
func program(t *testing.T, name, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", filepath.Dir(path))
	return path
}

func TestFind(t *testing.T) {
	path := program(t, "code", "")
	for name, test := range map[string]struct {
		visual, editor string
		want           []string // nil: refused
	}{
		"an editor":                 {editor: "code", want: []string{"code"}},
		"VISUAL comes first":        {visual: "code -v", editor: "no-such-editor", want: []string{"code", "-v"}},
		"a blank VISUAL is ignored": {visual: " ", editor: "code", want: []string{"code"}},
		"arguments and quotes": {editor: `code --wait "two words" 'it''s' a\ b`,
			want: []string{"code", "--wait", "two words", "its", "a b"}},
		"a path":                       {editor: path, want: []string{path}},
		"no such program":              {editor: "no-such-editor -x"},
		"an unknown VISUAL is refused": {visual: "no-such-editor", editor: "code"},
		"an open quote":                {editor: `code "`},
		"no default editor":            {},
	} {
		env := map[string]string{"VISUAL": test.visual, "EDITOR": test.editor}
		got, err := findEditor(func(name string) string { return env[name] })
		if !slices.Equal(got, test.want) || (err != nil) != (test.want == nil) || err != nil &&
			output.ExitCode(err) != command.ExitUsage {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestFindDefaultEditor(t *testing.T) {
	for _, name := range defaultEditors {
		program(t, name, "")
		if got, err := findEditor(func(string) string { return "" }); err != nil || !slices.Equal(got, []string{name}) {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestOpenReports(t *testing.T) {
	t.Setenv("A_SETTING", "known")
	file := filepath.Join(t.TempDir(), "text")
	for script, want := range map[string]string{
		`echo "$A_SETTING" > "$1"`: "",
		"exit 3":                   "the editor PATH failed: exit status 3",
		"exit 130":                 "context canceled",
		"kill -INT $$":             "context canceled",
		"kill -KILL $$":            "the editor PATH failed: signal: killed",
	} {
		path := program(t, "ed", script)
		ctx, interrupts, stop := command.HandleInterrupts(t.Context())
		s, _, _ := command.BufferedStreams("not for the editor")
		err := textEditor{path}.Open(ctx, s, interrupts, file)
		if got := strings.ReplaceAll(message(err), path, "PATH"); got != want {
			t.Errorf("%s: %s", script, got)
		}
		if ctx.Err() != nil {
			t.Errorf("%s: the context was cancelled", script)
		}
		stop()
	}
	if text, err := os.ReadFile(file); string(text) != "known\n" {
		t.Errorf("the editor saw %q, %v", text, err)
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestEditorGetsTheInterrupts sends signals to this process, which exits if they are not handled.
func TestEditorGetsTheInterrupts(t *testing.T) {
	outer, cancel := context.WithCancel(t.Context())
	ctx, interrupts, stop := command.HandleInterrupts(outer)
	defer stop()
	cancel()
	if ctx.Err() != nil {
		t.Fatal("cancelled with the outer context")
	}
	for range 100 {
		resume := interrupts.Suspend()
		interrupt(t)
		resume()
	}
	if ctx.Err() != nil {
		t.Fatal("an interrupt for the editor cancelled the context")
	}
	interrupt(t)
	<-ctx.Done()
}

// interrupt sends an interrupt to this process, and returns when it arrived.
func interrupt(t *testing.T) {
	t.Helper()
	seen := make(chan os.Signal, 1)
	signal.Notify(seen, os.Interrupt)
	defer signal.Stop(seen)
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		t.Fatal(err)
	}
	<-seen
}
