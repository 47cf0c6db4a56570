package components

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const ellipsis = "…"

// Cut shortens a line to the width, with an ellipsis where something is missing. Styles survive it.
func Cut(line string, width int) string {
	if width <= 0 {
		return ""
	}
	return ansi.Truncate(line, width, ellipsis)
}

// Pad lengthens a line to the width with blanks, or cuts it.
func Pad(line string, width int) string {
	line = Cut(line, width)
	return line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
}

// PadLeft puts the blanks before the line.
func PadLeft(line string, width int) string {
	line = Cut(line, width)
	return strings.Repeat(" ", max(0, width-ansi.StringWidth(line))) + line
}

// Width is how many cells a line takes.
func Width(line string) int { return ansi.StringWidth(line) }

// Crop makes a view of exactly so many lines, none longer than the width.
func Crop(view string, width, height int) string {
	lines := strings.Split(view, "\n")
	if len(lines) > height {
		lines = lines[:max(0, height)]
	}
	for i := range lines {
		lines[i] = Cut(lines[i], width)
	}
	for len(lines) < height {
		lines = append(lines, "")
	}
	return strings.Join(lines, "\n")
}

// Wrap breaks a text into lines of at most the width, between words where it can. Line feeds stay.
func Wrap(text string, width int) []string {
	if width <= 0 {
		return nil
	}
	return strings.Split(ansi.Wrap(text, width, ""), "\n")
}

// Over lays a box over a view, its corner at x and y. Lines of the view are taken for padded with blanks.
func Over(view, box string, x, y int) string {
	lines := strings.Split(view, "\n")
	for i, line := range strings.Split(box, "\n") {
		if y+i < 0 || y+i >= len(lines) {
			continue
		}
		under := lines[y+i]
		lines[y+i] = Pad(ansi.Truncate(under, x, ""), x) + line + ansi.TruncateLeft(under, x+Width(line), "")
	}
	return strings.Join(lines, "\n")
}
