package widget_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"github.com/muesli/termenv"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

const (
	family = "👨‍👩‍👧‍👦" // four people joined to one character
	japan  = "🇯🇵"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

var (
	plain = theme.New(theme.None, termenv.Ascii) // every mark must still be visible
	dark  = theme.New(theme.Dark, termenv.TrueColor)
)

// golden compares a view without colours at four sizes to testdata/golden/NAME.plain.txt, and in dark colours at 80x24 to
// NAME.dark.txt.
func golden(t *testing.T, name string, view func(look *theme.Theme, width, height int) string) {
	t.Helper()
	for _, kept := range []struct {
		look  string
		theme *theme.Theme
		sizes [][2]int
	}{
		{"plain", plain, [][2]int{{30, 8}, {60, 20}, {80, 24}, {120, 40}}},
		{"dark", dark, [][2]int{{80, 24}}},
	} {
		var text strings.Builder
		for _, size := range kept.sizes {
			drawn := view(kept.theme, size[0], size[1])
			if kept.theme == plain {
				drawn = ansi.Strip(drawn)
			}
			checkSize(t, name, drawn, size[0], size[1])
			fmt.Fprintf(&text, "== %dx%d\n", size[0], size[1])
			for line := range strings.SplitSeq(strings.TrimRight(drawn, "\n"), "\n") {
				text.WriteString(strings.TrimRight(line, " ") + "\n")
			}
		}
		file := filepath.Join("testdata", "golden", name+"."+kept.look+".txt")
		if *update {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatalf("%v; write it with -update, and review it", err)
		}
		if diff := cmp.Diff(string(want), text.String()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", file, diff)
		}
	}
}

// everySize draws a view at sizes from 1x1 to 200x60, at every one of the small ones, and checks that it fits.
func everySize(t *testing.T, name string, view func(look *theme.Theme, width, height int) string) {
	t.Helper()
	for width := 1; width <= 200; width += 1 + width/30 {
		for height := 1; height <= 60; height += 1 + height/8 {
			checkSize(t, name, view(plain, width, height), width, height)
		}
	}
	view(plain, 0, 0)
	view(plain, -1, -1)
}

func checkSize(t *testing.T, name, view string, width, height int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) > height {
		t.Errorf("%s at %dx%d has %d lines", name, width, height, len(lines))
	}
	for _, line := range lines {
		if got := display.Width(line); got > width {
			t.Errorf("%s at %dx%d has a line of %d cells: %q", name, width, height, got, line)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}
