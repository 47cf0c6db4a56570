package doctor

import (
	"fmt"
	"iter"
	"strings"

	"github.com/mattn/go-runewidth"

	"example.com/perks/api/display"
	"example.com/perks/cli/command"
)

// The widths of the columns before the text: those of the longest outcome and check, and a gap.
const (
	outcomeWidth = len(notChecked) + 2
	checkWidth   = len("configuration") + 2
	narrowest    = 20 // columns of text on the smallest screen
)

// tell writes each finding as soon as it is there: its outcome, and beside it what was found and, under that, what to do.
func tell(s *command.Streams, findings iter.Seq2[finding, error]) error {
	for f, err := range findings {
		if err != nil {
			return err
		}
		lines := wrap(f.Found, textWidth(s))
		if f.Advice != "" {
			lines = append(lines, wrap("-> "+f.Advice, textWidth(s))...)
		}
		outcome := runewidth.FillRight(f.Outcome, outcomeWidth)
		if f.Outcome == failed || f.Outcome == warning {
			outcome = s.Heading(outcome)
		}
		head := outcome + runewidth.FillRight(f.Check, checkWidth)
		for _, line := range lines {
			if _, err := fmt.Fprintln(s.Out, head+line); err != nil {
				return err
			}
			head = strings.Repeat(" ", outcomeWidth+checkWidth)
		}
	}
	return nil
}

func textWidth(s *command.Streams) int {
	if s.Width == 0 {
		return 0
	}
	return max(s.Width-outcomeWidth-checkWidth, narrowest)
}

// wrap breaks a text between its words into lines of the width; 0 is without bounds.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(display.Line(text)) {
		last := len(lines) - 1
		switch {
		case lines[last] == "":
			lines[last] = word
		case width > 0 && runewidth.StringWidth(lines[last]+" "+word) > width:
			lines = append(lines, word)
		default:
			lines[last] += " " + word
		}
	}
	return lines
}
