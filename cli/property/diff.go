package property

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// contextLines is how many unchanged lines are shown around the changed ones of a long text.
const contextLines = 2

// widestInMessage is the longest value that a message shows whole.
const widestInMessage = 60

const (
	red   = "\x1b[31m"
	green = "\x1b[32m"
	reset = "\x1b[0m"
)

// writeDiff returns what would become of the fields of after, each as the sheet shows it: lines that go behind a minus,
// lines that come behind a plus.
func writeDiff(s *command.Streams, before, after sheet) string {
	var out strings.Builder
	for _, field := range after.fields() {
		old, edited := writeField(field, before[field]), writeField(field, after[field])
		diff, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, edited), contextLines)
		if err != nil {
			continue // not reached: the edits are those of this very text
		}
		for i, hunk := range diff.Hunks {
			if i > 0 || hunk.FromLine > 1 {
				fmt.Fprintf(&out, "  %s ...\n", field)
			}
			for _, line := range hunk.Lines {
				out.WriteString(paintLine(s, line.Kind, strings.TrimSuffix(display.Text(line.Content), "\n")))
			}
		}
	}
	return out.String()
}

func paintLine(s *command.Streams, kind udiff.OpKind, line string) string {
	mark, colour := "  ", ""
	switch kind {
	case udiff.Delete:
		mark, colour = "- ", red
	case udiff.Insert:
		mark, colour = "+ ", green
	}
	if !s.Colour || colour == "" {
		return mark + line + "\n"
	}
	return colour + mark + line + reset + "\n"
}

// writeMeanwhile tells field by field what somebody else changed, what it was before, and what was made of it here.
func writeMeanwhile(changed []change) string {
	var out strings.Builder
	for _, c := range changed {
		fmt.Fprintf(&out, "  %s\n    before: %s\n    theirs: %s\n", c.field, short(c.before), short(c.theirs))
		if c.mineToo {
			fmt.Fprintf(&out, "    yours:  %s\n", short(c.mine))
		}
	}
	return out.String()
}

// short is a value on one line, cut if need be.
func short(v value) string {
	line := v.text
	switch {
	case v.null:
		return "null"
	case v.list != nil:
		line = strings.Join(v.list, ", ")
	}
	if line == "" {
		return "(empty)"
	}
	runes := []rune(display.Line(line))
	if len(runes) > widestInMessage {
		return string(runes[:widestInMessage]) + "..."
	}
	return string(runes)
}

func indented(lines string) []string {
	var out []string
	for line := range strings.Lines(lines) {
		out = append(out, "  "+strings.TrimSuffix(line, "\n"))
	}
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
