package widget

import (
	"strings"
)

// Pair is a fact with its name. Neither may hold what steers a terminal; the value may be styled, and may have line feeds.
type Pair struct{ Label, Value string }

// The narrowest column of values that reads well; with less room a value stands below its label.
const narrowValue = 24

// Pairs draws facts, ready for Scroll.Set: the values in a column beside their labels where there is room, otherwise each
// value indented below its label. No line is wider than the width.
func Pairs(look *Theme, width int, pairs []Pair) []string {
	widest := 0
	for _, p := range pairs {
		widest = max(widest, Width(p.Label))
	}
	if widest+2+narrowValue > width {
		return stackedPairs(look, width, pairs)
	}
	var lines []string
	for _, p := range pairs {
		label := look.Heading.Render(Pad(p.Label, widest))
		for i, line := range Wrap(p.Value, width-widest-2) {
			if i > 0 {
				label = Pad("", widest)
			}
			lines = append(lines, label+"  "+line)
		}
	}
	return lines
}

func stackedPairs(look *Theme, width int, pairs []Pair) []string {
	indent := "  "
	if width < 2*len(indent) {
		indent = ""
	}
	var lines []string
	for _, p := range pairs {
		for _, line := range Wrap(p.Label, width) {
			lines = append(lines, look.Heading.Render(line))
		}
		for _, line := range Wrap(p.Value, width-len(indent)) {
			lines = append(lines, indent+line)
		}
	}
	return lines
}

// LinearPairs says the same facts, a line each: "Label: value".
func LinearPairs(pairs []Pair) []string {
	lines := make([]string, len(pairs))
	for i, p := range pairs {
		lines[i] = p.Label + ": " + strings.ReplaceAll(p.Value, "\n", " ")
	}
	return lines
}
