package widget

import "github.com/charmbracelet/x/ansi"

// Width is how many cells a line takes on a terminal, escape sequences not counted. It counts in characters as people see
// them, as the renderer of bubbletea does.
func Width(line string) int {
	if isASCII(line) {
		return len(line)
	}
	return ansi.StringWidth(line)
}
