package command_test

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"

	"example.com/perks/cli/command"
)

func TestExplainFailureNamesStandardOutput(t *testing.T) {
	write := func(path string, err error) error {
		return fmt.Errorf("while writing: %w", &fs.PathError{Op: "write", Path: path, Err: err})
	}
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"a full disk": {write(os.Stdout.Name(), syscall.ENOSPC),
			"Standard output cannot be written: no space left on device."},
		"another file": {write("/x", syscall.ENOSPC), "while writing: write /x: no space left on device"},
		"a network":    {syscall.EPIPE, "broken pipe"},
		"nothing":      {nil, "<nil>"},
	} {
		err := command.ExplainFailure(test.err)
		if fmt.Sprint(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWidthFallsBackToEnvironment(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/no-terminal")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &command.Streams{Err: file}
	for columns, want := range map[string]int{"72": 72, "": 80, "x": 80, "-3": 80, "0": 80} {
		t.Setenv("COLUMNS", columns)
		if got := s.ErrWidth(); got != want {
			t.Errorf("COLUMNS=%q: %d columns, want %d", columns, got, want)
		}
	}
}
