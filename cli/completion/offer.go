package completion

import (
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"example.com/perks/api/display"
)

// longestDescription is more than any shell shows on a line.
const longestDescription = 120

// offer writes values as the shells' scripts read them. A value that a shell could take for more than a word is left out:
// bash puts the common beginning of several values onto the line as it is, and evaluates the line when TAB is pressed
// again, so that a city called $(reboot) would do what it says.
func offer(items []item) []string {
	var lines []string
	seen := map[string]bool{}
	for _, i := range items {
		if !seen[i.ID] && isInsertable(i.ID) {
			seen[i.ID] = true
			lines = append(lines, cobra.CompletionWithDesc(i.ID, i.Title))
		}
	}
	return lines
}

// isInsertable tells whether a value begins with a letter or digit and holds nothing else than those and some marks that
// mean nothing to any shell. An apostrophe means something, but does nothing.
func isInsertable(value string) bool {
	for i, r := range value {
		isWord := unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Mn, r)
		if !isWord && (i == 0 || !strings.ContainsRune(" -_.,:+@/'", r)) {
			return false
		}
	}
	return value != "" && value == strings.TrimSpace(value)
}

// describe makes a text of the service a description: one line of bounded length, with nothing in it that steers a
// terminal.
func describe(text string) string {
	text = strings.TrimSpace(display.Line(text))
	runes := 0
	for at := range text {
		if runes++; runes > longestDescription {
			return text[:at] + "…"
		}
	}
	return text
}
