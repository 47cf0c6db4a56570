package editor_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/api/editor"
)

func TestFileIsPrivateUntilItIsDiscarded(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	d, err := editor.NewFile("a.yaml", "one\n")
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{d.Path: 0o600, filepath.Dir(d.Path): 0o700} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", path, info.Mode(), err)
		}
	}
	for written, want := range map[string]string{"\ufeffa\r\nb\r\n": "a\nb\n", "a\rb": "a\rb", "": ""} {
		if err := os.WriteFile(d.Path, []byte(written), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := d.Read(); got != want || err != nil {
			t.Errorf("%q became %q, %v", written, got, err)
		}
	}
	if err := os.WriteFile(d.Path, []byte(strings.Repeat("x", 1<<20+1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Read(); err == nil {
		t.Error("read a text beyond the limit")
	}
	d.Discard()
	if _, err := os.Stat(filepath.Dir(d.Path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory still exists: %v", err)
	}
	if got, err := d.Read(); got != "" || err != nil {
		t.Errorf("a missing file: %q, %v", got, err)
	}
}

func TestDiscardKeepsOtherFiles(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	for _, dir := range []string{".", "perksctl-edit-mine", "deeper/perksctl-edit-1", "other-1"} {
		d := &editor.File{Path: filepath.Join(temp, dir, "a.yaml")}
		err := os.MkdirAll(filepath.Dir(d.Path), 0o700)
		if err := errors.Join(err, os.WriteFile(d.Path, []byte("mine"), 0o600)); err != nil {
			t.Fatal(err)
		}
		d.Discard()
		if text, err := d.Read(); text != "mine" || err != nil {
			t.Errorf("%s: %q %v", dir, text, err)
		}
	}
}

func TestVISUALComesBeforeEDITOR(t *testing.T) {
	for _, test := range []struct{ visual, editor, want string }{
		{"vim -f", "ed", "vim|-f"}, {" ", "ed", "ed"}, {"", `"my editor" x`, "my editor|x"}, {"", "", ""},
		{"", `ed "`, "error"}, {"vi '", "ed", "error"},
	} {
		env := map[string]string{"VISUAL": test.visual, "EDITOR": test.editor}
		words, _, err := editor.FromEnv(func(name string) string { return env[name] })
		got := strings.Join(words, "|")
		if err != nil {
			got = "error"
		}
		if got != test.want {
			t.Errorf("%q: %q", test, got)
		}
	}
}
