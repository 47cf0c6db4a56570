package display_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/display"
)

const (
	family = "👨‍👩‍👧‍👦" // four people joined into one character
	japan  = "🇯🇵"
	red    = "\x1b[31m"
	reset  = "\x1b[0m"
)

func TestCutKeepsCharactersAndStylesIntact(t *testing.T) {
	for _, test := range []struct {
		line  string
		width int
		want  string
	}{
		{"Coffee", 6, "Coffee"},
		{"Coffee", 5, "Coff…"},
		{"Coffee", 1, "…"},
		{"Coffee", 0, ""},
		{"Coffee", -3, ""},
		{"", 3, ""},
		{"漢字漢字", 8, "漢字漢字"},
		{"漢字漢字", 7, "漢字漢…"},
		{"漢字漢字", 6, "漢字…"},
		{"漢", 1, "…"},
		{family + family, 4, family + family},
		{family + family, 3, family + "…"},
		{japan + japan, 2, "…"},
		{"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"1\ufe0f\u20e31\ufe0f\u20e3", 3, "1\ufe0f\u20e3…"},
		{"שלום עולם", 5, "שלום…"},
		{red + "Coffee" + reset, 4, red + "Cof…" + reset},
		{red + "Co" + reset + red + "ffee" + reset, 3, red + "Co" + reset + red + "…" + reset},
		{"a\tb", 5, "a   b"},
		{"a\nb\r\x07\x9b", 9, "a b\ufffd"},
		{"\x80x", 9, "\ufffdx"},
	} {
		if got := display.Cut(test.line, test.width); got != test.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", test.line, test.width, got, test.want)
		}
	}
}

func TestPadIsExact(t *testing.T) {
	for _, test := range []struct {
		line        string
		width       int
		left, right string
	}{
		{"漢字", 6, "漢字  ", "  漢字"},
		{"漢字", 3, "漢…", "漢…"},
		{"漢字漢", 4, "漢… ", " 漢…"},
		{"漢", 1, "…", "…"},
		{red + "a" + reset, 3, red + "a" + reset + "  ", "  " + red + "a" + reset},
		{"a", -1, "", ""},
	} {
		if got := display.Pad(test.line, test.width); got != test.left {
			t.Errorf("Pad(%q, %d) = %q, want %q", test.line, test.width, got, test.left)
		}
		if got := display.PadLeft(test.line, test.width); got != test.right {
			t.Errorf("PadLeft(%q, %d) = %q, want %q", test.line, test.width, got, test.right)
		}
	}
}

func TestCropReturnsTheHeight(t *testing.T) {
	for _, test := range []struct {
		view          string
		width, height int
		want          string
	}{
		{"one\ntwo\nthree", 4, 2, "one\ntwo"},
		{"one\nthree", 3, 4, "one\nth…\n\n"},
		{"one", 0, 2, "\n"},
		{"one", 3, 0, ""},
		{"one", -1, -1, ""},
	} {
		if got := display.Crop(test.view, test.width, test.height); got != test.want {
			t.Errorf("Crop(%q, %d, %d) = %q, want %q", test.view, test.width, test.height, got, test.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		width int
		want  []string
	}{
		"between words":                       {"two coffees for one", 11, []string{"two coffees", "for one"}},
		"a word longer than a line":           {"a Donaudampfschiff b", 6, []string{"a", "Donaud", "ampfsc", "hiff b"}},
		"after a hyphen":                      {"two-for-one", 8, []string{"two-for-", "one"}},
		"not after a minus":                   {"from -12", 6, []string{"from", "-12"}},
		"no spaces":                           {"漢字漢字漢字", 5, []string{"漢字", "漢字", "漢字"}},
		"no full stop at the start of a line": {"漢字漢字。", 8, []string{"漢字漢", "字。"}},
		"mixed":                               {"Tea お茶 free", 6, []string{"Tea お", "茶", "free"}},
		"line feeds are kept":                 {"a\n\nb", 5, []string{"a", "", "b"}},
		"several spaces at a break":           {"ab   cd", 3, []string{"ab", "cd"}},
		"several spaces within a line":        {"ab   cd", 9, []string{"ab   cd"}},
		"an indent is kept":                   {"  ab cd", 5, []string{"  ab", "cd"}},
		"too wide an indent is dropped":       {"        ab", 4, []string{"ab"}},
		"only spaces":                         {"     ", 3, []string{""}},
		"a wide character, one cell":          {"a漢b", 1, []string{"a", "…", "b"}},
		"a family stays together":             {"ab" + family, 3, []string{"ab", family}},
		"tabs":                                {"a\tb", 9, []string{"a   b"}},
		"a style across wrapped lines": {red + "ab cd" + reset + " ef", 2,
			[]string{red + "ab" + reset, red + "cd" + reset, "ef"}},
		"a style across line feeds": {red + "a\nb" + reset, 5,
			[]string{red + "a" + reset, red + "b" + reset}},
		"nothing":          {"", 5, []string{""}},
		"no width":         {"ab", 0, nil},
		"a negative width": {"ab", -2, nil},
	} {
		if diff := cmp.Diff(test.want, display.Wrap(test.text, test.width)); diff != "" {
			t.Errorf("%s: Wrap(%q, %d) (-want +got)\n%s", name, test.text, test.width, diff)
		}
	}
}

func TestOverlayCoversExactlyItsCells(t *testing.T) {
	for name, test := range map[string]struct {
		view, box string
		x, y      int
		want      string
	}{
		"in the middle":            {"abcdef\nabcdef", "XY", 2, 1, "abcdef\nabXYef"},
		"beyond the end of a line": {"ab", "XY", 4, 0, "ab  XY"},
		"half a character, left":   {"漢字漢字", "XY", 1, 0, " XY 漢字"},
		"half a character, right":  {"a漢字", "XY", 0, 0, "XY 字"},
		"a wide box on wide text":  {"漢字漢", "字", 2, 0, "漢字漢"},
		"styles around":            {red + "abcdef" + reset, "X", 2, 0, red + "ab" + reset + "X" + red + "def" + reset},
		"left of the view":         {"abcdef", "XYZ", -1, 0, "YZcdef"},
		"half of the box":          {"abcdef", "漢Y", -1, 0, " Ycdef"},
		"entirely left of it":      {"abcdef", "XY", -5, 0, "abcdef"},
		"above and below":          {"ab\nab", "X\nX\nX\nX", 0, -1, "Xb\nXb"},
		"below":                    {"ab", "X", 0, 3, "ab"},
	} {
		if got := display.Overlay(test.view, test.box, test.x, test.y); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
