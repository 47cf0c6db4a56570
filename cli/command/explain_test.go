package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"example.com/perks/cli/command"
)

func TestPlainNamesAFileOnce(t *testing.T) {
	directory := t.TempDir()
	missing := filepath.Join(directory, "x.csv")
	_, open := os.Open(missing)
	_, read := os.ReadFile(directory)
	for want, err := range map[string]error{
		"--file: " + missing + " does not exist":    fmt.Errorf("--file: %w", open),
		"read " + directory + ": it is a directory": fmt.Errorf("read %s: %w", directory, read),
		"no file error": fmt.Errorf("no file error"),
	} {
		if got := command.Plain(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
