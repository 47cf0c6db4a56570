package widget

import (
	"fmt"
	"strings"
)

// Tabs draws the names of tabs on one line, the current one in brackets: "[Available 12]  Redeemed 3". Where there is too
// little room for all of them it draws the current one with its place: "[Available 12] 1/2".
func Tabs(look *Theme, width int, names []string, current int) string {
	if len(names) == 0 {
		return ""
	}
	current = max(0, min(current, len(names)-1))
	if !tabsFit(width, names) {
		place := fmt.Sprintf(" %d/%d", current+1, len(names))
		if len(place) >= width {
			return look.Accent.Render(Cut(names[current], width))
		}
		name := "[" + Cut(names[current], width-len(place)-2) + "]"
		return look.Accent.Render(Cut(name, width-len(place))) + look.Muted.Render(place)
	}
	var line strings.Builder
	for i, name := range names {
		if i == current {
			line.WriteString(look.Accent.Render("[" + name + "]"))
		} else {
			line.WriteString(" " + look.Text.Render(name) + " ")
		}
	}
	return Cut(line.String(), width)
}

func tabsFit(width int, names []string) bool {
	need := 0
	for _, name := range names {
		need += Width(name) + 2
	}
	return need <= width
}

// TabAt returns the tab that Tabs draws at a column, for a click there. Where only one tab is drawn, it is the next one.
func TabAt(width int, names []string, current, column int) (tab int, ok bool) {
	if column < 0 || column >= width || len(names) == 0 {
		return 0, false
	}
	if !tabsFit(width, names) {
		return (max(0, current) + 1) % len(names), true
	}
	for i, name := range names {
		if column -= Width(name) + 2; column < 0 {
			return i, true
		}
	}
	return 0, false
}

// LinearTabs says the tabs: "Tab Available 12, shown. Other tabs: Redeemed 3."
func LinearTabs(names []string, current int) string {
	if len(names) == 0 {
		return ""
	}
	current = max(0, min(current, len(names)-1))
	line := "Tab " + names[current] + ", shown."
	var others []string
	for i, name := range names {
		if i != current {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		line += " Other tabs: " + strings.Join(others, ", ") + "."
	}
	return line
}
