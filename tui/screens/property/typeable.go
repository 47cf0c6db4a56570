package property

import (
	"strings"

	"example.com/perks/api/display"
)

// typeable is a text without what a form cannot hold: what steers a terminal or shows nothing.
func typeable(f field, text string) string {
	if !f.lines {
		return display.Line(text)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = display.Text(line)
	}
	return strings.Join(lines, "\n")
}

// restored gives a text from a form the characters back that the form could not hold, in every line that was not touched.
// was is the text that the form began with.
func restored(f field, text, was string) string {
	if text == typeable(f, was) {
		return was
	}
	if !f.lines {
		return text
	}
	originals := map[string][]string{}
	for line := range strings.SplitSeq(was, "\n") {
		shown := display.Text(line)
		originals[shown] = append(originals[shown], line)
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if known := originals[line]; len(known) > 0 {
			lines[i] = known[0]
			originals[line] = known[1:]
		}
	}
	return strings.Join(lines, "\n")
}
