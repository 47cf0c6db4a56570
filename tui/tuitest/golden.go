package tuitest

import (
	"cmp"
	"flag"
	"fmt"
	"image"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	gocmp "github.com/google/go-cmp/cmp"
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

// Golden compares the screen at 80x24 without colours to testdata/golden/NAME.plain.txt, and if styled, in dark colours
// to NAME.dark.txt. Other sizes are checked as Says does. A state with the same layout as another needs no golden: with
// texts, Golden is Says.
func (d *Driver) Golden(name string, styled bool, texts ...string) {
	d.t.Helper()
	d.Says(texts...)
	if len(texts) > 0 {
		return
	}
	Compare(d.t, name+".plain", ansi.Strip(d.in(plain)))
	if styled {
		Compare(d.t, name+".dark", d.in(dark))
	}
}

// Wide compares the screen without colours at 120x40 and 200x60 to testdata/golden/NAME.WIDTHxHEIGHT.txt.
func (d *Driver) Wide(name string) {
	d.t.Helper()
	for _, size := range [][2]int{{120, 40}, {200, 60}} {
		d.Resize(size[0], size[1])
		Compare(d.t, fmt.Sprintf("%s.%dx%d", name, size[0], size[1]), ansi.Strip(d.in(plain)))
	}
	d.Resize(80, 24)
}

// Says checks that the screen of 80x24 shows all texts, and at that size and four others that all lines fit, borders
// are aligned, and light and dark differ only in colours. A larger screen must show every word that is whole at 80x24.
func (d *Driver) Says(texts ...string) {
	d.t.Helper()
	var words []string
	for _, size := range [][2]int{{80, 24}, {30, 8}, {60, 20}, {120, 40}, {200, 60}} {
		d.Resize(size[0], size[1])
		view := ansi.Strip(d.in(plain))
		CheckFit(d.t, view, size[0], size[1])
		checkBorders(d.t, view)
		checkShell(d.t, view, size[0])
		if inLight, inDark := ansi.Strip(d.in(light)), ansi.Strip(d.in(dark)); inLight != inDark {
			d.t.Errorf("at %v the screen reads differently in light:\n%s\nand in dark:\n%s", size, inLight, inDark)
		}
		switch {
		case size[0] == 80:
			if d.App.Overlay() == nil { // a dialog covers other cells in another size
				words = wholeWord.FindAllString(body(view), -1)
			}
			for _, text := range texts {
				if !strings.Contains(collapse(view), collapse(text)) {
					d.t.Errorf("%q is missing:\n%s", text, view)
				}
			}
		case size[0] > 80:
			for _, word := range words {
				// as in "3 more lines"
				word = strings.TrimSpace(word)
				isLeftOut := word == "more" || size[0] == 120 && slices.Contains(d.LeavesOut, word)
				if !isLeftOut && !strings.Contains(view, word) {
					d.t.Errorf("at %v %q is missing:\n%s", size, word, view)
				}
			}
		}
	}
	d.Resize(80, 24)
}

// wholeWord matches a word that is not cut, and fits into any screen.
var wholeWord = regexp.MustCompile(`\s\pL{3,30}[.,:]?\s`)

// mostInFooter is how many words a hint in a footer may have, with its key and how much is marked.
const mostInFooter = 8

// checkShell checks the first and the last line of a screen, which the shell draws.
func checkShell(t testing.TB, view string, width int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if !strings.HasPrefix(view, "▎") {
		t.Errorf("the first line is not a header: %q", lines[0])
	}
	for _, hint := range strings.Split(lines[len(lines)-1], "  ") {
		if words := len(strings.Fields(hint)); words > mostInFooter && width >= 60 {
			t.Errorf("%q in the footer has %d words", hint, words)
		}
	}
}

// body returns a screen without its header and its footer, which say more where there is more room.
func body(view string) string {
	lines := strings.Split(view, "\n")
	return strings.Join(lines[1:len(lines)-1], "\n")
}

func (d *Driver) in(look *theme.Theme) string {
	shell := d.App.Shell()
	defer func(before *theme.Theme) { shell.Theme = before }(shell.Theme)
	shell.Theme = look
	return d.App.View()
}

// Compare compares a text to testdata/golden/NAME.txt, without the blanks at the end of lines.
func Compare(t testing.TB, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "golden", name+".txt")
	var text strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(got, "\n"), "\n") {
		text.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; write it with -update, and review it", err)
	}
	if diff := gocmp.Diff(string(want), text.String()); diff != "" {
		t.Errorf("%s (-want +got)\n%s", file, diff)
	}
}

// EverySize checks that the screen fits at every size from 1x1 to 200x60.
func (d *Driver) EverySize() {
	d.t.Helper()
	for width := 1; width <= 200; width++ {
		for height := 1; height <= 60; height++ {
			d.Send(tea.WindowSizeMsg{Width: width, Height: height})
			view := d.App.View()
			CheckFit(d.t, view, width, height)
			if width%8 == 0 { // the check of borders takes longer than drawing
				checkBorders(d.t, view)
			}
		}
	}
	d.Resize(80, 24)
}

// CheckFit checks that a view fits.
func CheckFit(t testing.TB, view string, width, height int) {
	t.Helper()
	lines := strings.Split(view, "\n")
	if len(lines) > height {
		t.Fatalf("at %dx%d there are %d lines:\n%s", width, height, len(lines), view)
	}
	for _, line := range lines {
		if got := display.Width(line); got > width {
			t.Fatalf("at %dx%d a line has %d cells: %q", width, height, got, line)
		}
	}
}

// checkBorders checks that the borders in a view are aligned.
func checkBorders(t testing.TB, view string) {
	t.Helper()
	if at := brokenBorder(strings.Split(view, "\n")); at != "" {
		t.Fatalf("the border is broken at %s:\n%s", at, view)
	}
}

// brokenBorder returns where the border of a box is neither drawn nor covered by another box; "" if nowhere.
func brokenBorder(lines []string) string {
	var cells [][]string
	for _, line := range lines {
		var row []string
		for rest := ansi.Strip(line); rest != ""; {
			cell, width := display.FirstCharacter(rest)
			row = append(append(row, cell), make([]string, max(width, 1)-1)...)
			rest = rest[len(cell):]
		}
		cells = append(cells, row)
	}
	at := func(x, y int) string {
		if x < len(cells[y]) {
			return cells[y][x]
		}
		return ""
	}
	var boxes []image.Rectangle
	for y, row := range cells {
		for x, corner := range row {
			if corner != "╭" && corner != "╔" {
				continue
			}
			right := x + 1 + slices.IndexFunc(row[x+1:],
				func(cell string) bool { return cell == "╮" || cell == "╗" })
			bottom := y + 1
			end := map[string]string{"╭": "╰", "╔": "╚"}[corner]
			for bottom < len(cells) && at(x, bottom) != end {
				bottom++
			}
			if bottom == len(cells) { // a toast may cover the corner
				bottom = len(lines) - 1
				for bottom > y && !strings.Contains(lines[bottom], end) {
					bottom--
				}
			}
			if right == x || bottom == y {
				return fmt.Sprintf("line %d, column %d", y+1, x+1)
			}
			boxes = append(boxes, image.Rect(x, y, right+1, bottom+1))
		}
	}
	for _, box := range boxes {
		for y := box.Min.Y + 1; y < box.Max.Y-1; y++ {
			for _, x := range []int{box.Min.X, box.Max.X - 1} {
				covered := slices.ContainsFunc(boxes, func(other image.Rectangle) bool {
					return other != box && image.Pt(x, y).In(other)
				})
				if !covered && !strings.Contains("│║▐", cmp.Or(at(x, y), "?")) {
					return fmt.Sprintf("line %d, column %d", y+1, x+1)
				}
			}
		}
	}
	return ""
}

// TypesEverywhere types every printable character of ASCII and some more, and checks that each becomes text of the
// focused field, and does nothing else. The field must take any text, and is empty afterwards.
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
