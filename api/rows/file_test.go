package rows_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/api/rows"
)

func TestWriteFile(t *testing.T) {
	broken := errors.New("broken")
	says := func(text string, err error) func(io.Writer) error {
		return func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		}
	}
	for name, test := range map[string]struct {
		before  string // what the file has; "" if there is none
		replace bool
		write   func(io.Writer) error
		after   string
		err     string
	}{
		"new":                  {write: says("new", nil), after: "new"},
		"not replaced":         {before: "old", write: says("new", nil), after: "old", err: fs.ErrExist.Error()},
		"replaced":             {before: "old", replace: true, write: says("new", nil), after: "new"},
		"not begun":            {write: says("ne", broken), err: "broken"},
		"kept after a failure": {before: "old", replace: true, write: says("ne", broken), after: "old", err: "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "file.csv")
			if test.before != "" {
				if err := os.WriteFile(path, []byte(test.before), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			err := rows.WriteFile(path, test.replace, test.write)
			if err == nil && test.err != "" || err != nil && err.Error() != test.err {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if text, _ := os.ReadFile(path); string(text) != test.after {
				t.Errorf("the file has %q, want %q", text, test.after)
			}
			if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != min(1, len(test.after)) {
				t.Errorf("the directory has %v", entries)
			}
			if info, err := os.Stat(path); err == nil && test.after == "new" && info.Mode().Perm() != 0o600 {
				t.Errorf("others may read it: %v", info.Mode())
			}
		})
	}
}

func TestWriteFileKeepsWhatAppearsMeanwhile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file.csv")
	err := rows.WriteFile(path, false, func(io.Writer) error { return os.WriteFile(path, []byte("theirs"), 0o600) })
	if text, _ := os.ReadFile(path); string(text) != "theirs" || !errors.Is(err, fs.ErrExist) {
		t.Errorf("the file has %q, error %v", text, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("the directory has %v", entries)
	}
}

func TestWriteFileSaysWhyNamingNoOther(t *testing.T) {
	dir := t.TempDir()
	for path, want := range map[string]string{
		dir: "not a regular file", filepath.Join(dir, "none", "file.csv"): "no such file or directory",
	} {
		err := rows.WriteFile(path, true, func(io.Writer) error { return nil })
		if err == nil || !strings.HasSuffix(err.Error(), want) || strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

func TestWriteFileKeepsALink(t *testing.T) {
	dir := t.TempDir()
	link, target := filepath.Join(dir, "link.csv"), filepath.Join(dir, "target.csv")
	if err := errors.Join(os.WriteFile(target, []byte("old"), 0o600), os.Symlink("target.csv", link)); err != nil {
		t.Fatal(err)
	}
	if err := rows.WriteFile(link, true, func(w io.Writer) error {
		_, err := io.WriteString(w, "new")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(target); string(text) != "new" {
		t.Errorf("the target has %q", text)
	}
}
