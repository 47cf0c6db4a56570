package storetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFolderIsWhereAServerCanUseIt(t *testing.T) {
	usable, closed := t.TempDir(), t.TempDir()
	far := filepath.Join(t.TempDir(), strings.Repeat("far", 30))
	if err := os.Mkdir(far, 0o755); err != nil {
		t.Fatal(err)
	}
	for folder, mode := range map[string]os.FileMode{filepath.Dir(usable): 0o755, closed: 0o500} {
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
	}
	for temporary, want := range map[string]string{usable: usable, closed: "/tmp", far: "/tmp"} {
		t.Setenv("TMPDIR", temporary)
		folder, err := newFolder()
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Dir(folder.path); got != want {
			t.Errorf("with %s for temporary files the folder is in %s, want %s", temporary, got, want)
		}
		if err := folder.remove(); err != nil {
			t.Error(err)
		}
		if left, err := filepath.Glob(filepath.Join(temporary, "perks-pg-*")); err != nil || len(left) > 0 {
			t.Errorf("%v is left (%v)", left, err)
		}
	}
}
