package tuitest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

var update = flag.Bool("update", false, "rewrite the golden files of this package")

// The themes of golden files.
var (
	plain = theme.New(theme.None, termenv.Ascii)
	light = theme.New(theme.Light, termenv.TrueColor)
	dark  = theme.New(theme.Dark, termenv.TrueColor)
)

// Golden compares the screen at 30x8, 60x20, 80x24 and 120x40 without colours to testdata/golden/NAME.plain.txt, and if styled, in
// dark colours at 80x24 to NAME.dark.txt. It checks that lines fit, and that light and dark differ only in colours.
func (d *Driver) Golden(name string, styled bool) {
	d.t.Helper()
	shell := d.App.Shell()
	defer func(before *theme.Theme) { shell.Theme = before }(shell.Theme)
	drawn := func(theme *theme.Theme, width, height int) string {
		shell.Theme = theme
		d.Resize(width, height)
		return d.fitting(width, height)
	}
	var text strings.Builder
	for _, size := range [][2]int{{30, 8}, {60, 20}, {80, 24}, {120, 40}} {
		width, height := size[0], size[1]
		fmt.Fprintf(&text, "== %dx%d\n%s\n", width, height, ansi.Strip(drawn(plain, width, height)))
		inLight, inDark := ansi.Strip(drawn(light, width, height)), ansi.Strip(drawn(dark, width, height))
		if inLight != inDark {
			d.t.Errorf("%s at %dx%d reads differently in light:\n%s\nand in dark:\n%s", name, width, height, inLight, inDark)
		}
	}
	compare(d.t, filepath.Join("testdata", "golden", name+".plain.txt"), text.String())
	if styled {
		compare(d.t, filepath.Join("testdata", "golden", name+".dark.txt"), drawn(dark, 80, 24)+"\n")
	}
	d.Resize(80, 24)
}

func compare(t testing.TB, file, got string) {
	t.Helper()
	lines := strings.Split(got, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	got = strings.Join(lines, "\n")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update, and review it", err)
	}
	if got != string(want) {
		t.Errorf("the screen differs from %s:\n%s", file, got)
	}
}

// EverySize checks that the screen fits at every size from 1x1 to 200x60.
func (d *Driver) EverySize() {
	d.t.Helper()
	for width := 1; width <= 200; width++ {
		for height := 1; height <= 60; height++ {
			d.Send(tea.WindowSizeMsg{Width: width, Height: height})
			d.fitting(width, height)
		}
	}
	d.Resize(80, 24)
}

// fitting returns the screen, and checks that it fits.
func (d *Driver) fitting(width, height int) string {
	d.t.Helper()
	view := d.App.View()
	lines := strings.Split(view, "\n")
	if len(lines) > height {
		d.t.Fatalf("at %dx%d there are %d lines:\n%s", width, height, len(lines), view)
	}
	for _, line := range lines {
		if got := display.Width(line); got > width {
			d.t.Fatalf("at %dx%d a line has %d cells: %q", width, height, got, line)
		}
	}
	return view
}

// TypesEverywhere types every printable character of ASCII and some more, and checks that each becomes text of the focused field,
// and does nothing else. The field must take any text, and is empty afterwards.
func (d *Driver) TypesEverywhere() {
	d.t.Helper()
	keys := []string{"é", "漢", "ß", "ع", "🙂"}
	for r := ' '; r <= '~'; r++ {
		keys = append(keys, string(r))
	}
	depth := d.Depth()
	typedInto := func() *widget.Form {
		if o := d.App.Overlay(); o != nil {
			return o.Form()
		}
		return d.App.Top().Form()
	}
	form := typedInto()
	if form == nil {
		d.t.Fatalf("this screen has no focused form:\n%s", d.Screen())
	}
	field := form.Focus()
	for _, key := range keys {
		before := form.Value(field)
		d.Press(key)
		if typedInto() != form || form.Focus() != field || d.Depth() != depth || d.quit {
			d.t.Fatalf("the key %q did not only type into %s:\n%s", key, field, d.Screen())
		}
		if got := form.Value(field); got != before+key {
			d.t.Fatalf("after the key %q, %s is %q, not %q", key, field, got, before+key)
		}
		d.Press("backspace")
	}
}

func (d *Driver) Depth() int { return d.App.Depth() }
