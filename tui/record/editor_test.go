package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/tui/screen"
)

var shell = &screen.Shell{Suspend: func() func() { return func() {} }}

// edits runs an editor, a shell script, on a text, in an empty directory for temporary files.
func edits(t *testing.T, script, text string) (*editedText, error) {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("VISUAL", "")
	t.Setenv("EDITOR", "sh -c '"+script+"' editor")
	run := &editedText{field: "title", text: text}
	return run, run.run(shell.RunInTerminal)
}

func TestTheEditorReturnsTheText(t *testing.T) {
	for _, text := range []string{"", "a", "a\n", "a\n\nb\n\n"} {
		seen := filepath.Join(t.TempDir(), "mode")
		run, err := edits(t, `stat -c %a "$1" >`+seen+`; printf "more\n" >>"$1"`, text)
		if err != nil || run.text != text+"\nmore" {
			t.Errorf("%q became %q, %v", text, run.text, err)
		}
		if mode, err := os.ReadFile(seen); err != nil || strings.TrimSpace(string(mode)) != "600" {
			t.Errorf("the file has mode %s, %v", mode, err)
		}
		if run, err := edits(t, "true", text); err != nil || run.text != text {
			t.Errorf("%q became %q, %v", text, run.text, err)
		}
	}
}

// TestAFailedEditorLosesNoText checks that the file stays if the editor saved it and failed then, and only then.
func TestAFailedEditorLosesNoText(t *testing.T) {
	for script, want := range map[string]string{
		"exit 3":                       "",
		`echo saved >"$1"; exit 3`:     "saved\n",
		`echo saved >"$1"; kill -9 $$`: "saved\n",
	} {
		run, err := edits(t, script, "typed")
		if err == nil || run.text != "typed" {
			t.Errorf("%s: %q, %v", script, run.text, err)
		}
		kept := ""
		if run.file != nil {
			kept, _ = run.file.Read()
		}
		if kept != want {
			t.Errorf("%s: the file has %q", script, kept)
		}
		if files, _ := os.ReadDir(os.TempDir()); want == "" && len(files) > 0 {
			t.Errorf("%s: %v is left", script, files)
		}
	}
	t.Setenv("EDITOR", "no-such-editor")
	run := &editedText{field: "title", text: "typed"}
	if err := run.run(shell.RunInTerminal); err == nil || run.file != nil {
		t.Errorf("%v, %v", run.file, err)
	}
}

func TestTooLongTextOfAnEditorStaysInItsFile(t *testing.T) {
	run, err := edits(t, `head -c 2000000 /dev/zero >"$1"`, "typed")
	if err == nil || run.text != "typed" || run.file == nil {
		t.Errorf("%v, %v", err, run.file)
	}
}
