package display_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/perks/api/display"
)

// Characters with difficult widths: wide, joined, combining, right-to-left, control and invalid ones.
var hard = []string{
	"a", "b", " ", "  ", "-", ".", "漢", "字", "。", "（", "か", "한", "\u1100", "\u1161",
	family, japan, "🇯", "👍🏽", "🏽",
	"❤\ufe0f", "1\ufe0f\u20e3",
	"\u0301", "e\u0301", "\u200d", "\ufe0f", "\u200b", "\u00ad", "\u0600",
	"ש", "م", "นี้", "क्ष", "\t", "\n", "\r",
	"\x00", "\x7f", "\u009b", "\x80",
	"\xff", "\ufffd", red, "\x1b[1;48;2;1;2;3m", reset, "\x1b", "\x1b[", "\x1b[2J", "\x1b]8;;https://example.com\x07",
	"\x1b]8;;\x07", "\x1b]8;", "…",
	"\x1b]8;;https://exam\xffple.com\x07", "\x1b]8;;https://exam\nple.com\x1b\\",
}

func TestRandomTextFits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	randomText := func(most int) string {
		var line strings.Builder
		for range random.IntN(most) {
			line.WriteString(hard[random.IntN(len(hard))])
		}
		return line.String()
	}
	for range 3000 {
		checkFits(t, randomText(30), randomText(6), random.IntN(24)-2, random.IntN(30)-5)
		if t.Failed() {
			return
		}
	}
}

func FuzzFitting(f *testing.F) {
	f.Add("two coffees for 漢字漢字。 one", "X漢", 5, 2)
	for _, line := range hard {
		f.Add(line+"x"+line+line, line, 3, 1)
	}
	f.Fuzz(func(t *testing.T, line, box string, width, x int) {
		checkFits(t, line, box, width%120, x%120)
	})
}

// checkFits checks the widths that the functions return.
func checkFits(t *testing.T, line, box string, width, x int) {
	t.Helper()
	cells := max(0, width)
	if got := display.Cut(line, width); display.Width(got) > cells || strings.Contains(got, "\n") {
		t.Errorf("Cut(%q, %d) = %q, %d wide", line, width, got, display.Width(got))
	}
	if got := display.Pad(line, width); display.Width(got) != cells {
		t.Errorf("Pad(%q, %d) = %q, %d wide", line, width, got, display.Width(got))
	}
	if got := display.PadLeft(line, width); display.Width(got) != cells {
		t.Errorf("PadLeft(%q, %d) = %q, %d wide", line, width, got, display.Width(got))
	}
	for _, wrapped := range display.Wrap(line, width) {
		if display.Width(wrapped) > width || strings.Contains(wrapped, "\n") {
			t.Errorf("Wrap(%q, %d) has %q, %d wide", line, width, wrapped, display.Width(wrapped))
		}
	}
	if width > 1 && strings.Count(strings.Join(display.Wrap(line, width), ""), "漢") != strings.Count(line, "漢") {
		t.Errorf("Wrap(%q, %d) = %q lost characters", line, width, display.Wrap(line, width))
	}
	cropped := strings.Split(display.Crop(line, width, 3), "\n")
	for _, c := range cropped {
		if len(cropped) != 3 || display.Width(c) > cells {
			t.Errorf("Crop(%q, %d, 3) = %q", line, width, cropped)
		}
	}
	line, box = display.Cut(line, 100), display.Cut(box, 20)
	overlay := display.Overlay(line, box, x, 0)
	if got, most := display.Width(overlay), max(display.Width(line), max(0, x)+display.Width(box)); got > most {
		t.Errorf("Overlay(%q, %q, %d) = %q is %d wide, more than %d", line, box, x, overlay, got, most)
	}
	if !utf8.ValidString(overlay) {
		t.Errorf("Overlay(%q, %q, %d) = %q", line, box, x, overlay)
	}
}
