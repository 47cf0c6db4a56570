package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
)

// TestEveryStepOfTheTourDoesWhatItShows takes the tour that make demo shows, with the real programs.
func TestEveryStepOfTheTourDoesWhatItShows(t *testing.T) {
	for _, source := range []string{"perksd", "perksctl"} { // go test caches by what a test reads, not by what it builds
		if _, err := os.ReadDir(filepath.Join("..", "..", source)); err != nil {
			t.Fatal(err)
		}
	}
	dir := t.TempDir()
	bin := filepath.Join(dir, "bin")
	err := programs.Build(t.Context(), bin, "example.com/perks/cmd/perksd", "example.com/perks/cmd/perksctl")
	if err != nil {
		t.Fatal(err)
	}
	shown := filepath.Join(dir, "shown")
	out, err := os.Create(shown)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	err = run(t.Context(), bin, filepath.Join(dir, "demo"), out)
	text, _ := os.ReadFile(shown)
	if err != nil || !strings.Contains(string(text), "That is the tour.") {
		t.Errorf("%v\n%s", err, text)
	}
}
