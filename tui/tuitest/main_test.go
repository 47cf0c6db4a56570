package tuitest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	_ "example.com/perks/cli"          // part of perksctl: go test must not cache results when it changes
	_ "example.com/perks/server"       // part of perksd
	_ "example.com/perks/store/sqlite" // part of perksd
)

// directory holds the programs while the tests run.
var dir string

func TestMain(m *testing.M) {
	if os.Getenv(faultyEnv) != "" {
		os.Exit(faulty())
	}
	os.Exit(func() int {
		var err error
		if dir, err = os.MkdirTemp("", "perks-"); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(dir)
		return m.Run()
	}())
}

// built returns the directory of perksd and perksctl. The first call builds them.
var built = sync.OnceValues(func() (string, error) {
	output, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", dir, "example.com/perks/cmd/perksd",
		"example.com/perks/cmd/perksctl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the programs: %w\n%s", err, output)
	}
	return dir, nil
})

func binaries(t *testing.T) string {
	t.Helper()
	// go test caches by what a test reads, not by what the compiler reads
	for _, source := range []string{"perksd", "perksctl"} {
		if _, err := os.ReadDir(filepath.Join("..", "..", "cmd", source)); err != nil {
			t.Fatal(err)
		}
	}
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}
