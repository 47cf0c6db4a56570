package display

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// DiffLine is a line of a comparison of two texts, safe for a terminal and without its line feed.
type DiffLine struct {
	Mark Mark
	Text string
}

// Mark says where a line of a comparison stands. It tells its meaning without a colour.
type Mark string

// The marks of lines.
const (
	Removed Mark = "- "
	Added   Mark = "+ "
	Kept    Mark = "  "
	Omitted Mark = "" // lines that are in both texts are left out here
)

// contextLines is how many unchanged lines are shown around the changed ones.
const contextLines = 2

// Diff compares two texts line by line, and leaves out what is far from every change.
func Diff(before, after string) []DiffLine {
	before, after = before+"\n", after+"\n"
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return nil // not reached: the edits are those of this very text
	}
	var lines []DiffLine
	for i, hunk := range diff.Hunks {
		if i > 0 || hunk.FromLine > 1 {
			lines = append(lines, DiffLine{Mark: Omitted})
		}
		for _, line := range hunk.Lines {
			mark := map[udiff.OpKind]Mark{udiff.Delete: Removed, udiff.Insert: Added, udiff.Equal: Kept}[line.Kind]
			lines = append(lines, DiffLine{mark, Text(strings.TrimSuffix(line.Content, "\n"))})
		}
	}
	return lines
}
