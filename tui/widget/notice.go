package widget

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// NoticeKind is what a Notice is about.
type NoticeKind int

// The kinds of a Notice.
const (
	Empty   NoticeKind = iota // there is nothing, which is fine
	Loading                   // a request is under way
	Failure                   // it did not work; such a title has a mark before it
)

// Notice fills empty space with what happened and what to do next: in the middle, or in the corner if there is little
// space. Advice that does not fit is cut.
func Notice(theme *theme.Theme, kind NoticeKind, title, advice string, width, height int) string {
	style := [...]lipgloss.Style{Empty: theme.Strong, Loading: theme.Muted, Failure: theme.Bad}[kind]
	if kind == Failure {
		title = "! " + title
	}
	middle := width >= 40 && height >= 8
	space := width
	if middle {
		space = min(width-4, 72)
	}
	lines := Wrapped(style, title, space)
	if advice != "" {
		if len(lines)+1 < height {
			lines = append(lines, "")
		}
		lines = append(lines, Wrapped(theme.Text, advice, space)...)
	}
	if !middle {
		return display.Crop(strings.Join(lines, "\n"), width, height)
	}
	widest := 0
	for _, line := range lines {
		widest = max(widest, display.Width(line))
	}
	placed := make([]string, max(0, (height-len(lines))/2))
	for _, line := range lines {
		if line != "" {
			line = display.Pad("", (width-widest)/2) + line
		}
		placed = append(placed, line)
	}
	return display.Crop(strings.Join(placed, "\n"), width, height)
}

// Wrapped wraps a text into styled lines.
func Wrapped(style lipgloss.Style, text string, width int) []string {
	return Capped(style, text, width, math.MaxInt)
}

// Capped wraps a text into styled lines, at most that many, as AtMost.
func Capped(style lipgloss.Style, text string, width, most int) []string {
	lines := Cap(text, width, most)
	for i, line := range lines {
		lines[i] = style.Render(line)
	}
	return lines
}

// Cap is Capped without a style.
func Cap(text string, width, most int) []string {
	return AtMost(display.Wrap(text, width), width, most)
}

// AtMost returns at most that many lines. An ellipsis marks what is cut.
func AtMost(lines []string, width, most int) []string {
	if len(lines) > most {
		lines = lines[:max(0, most)]
		if most > 0 {
			lines[most-1] = display.Cut(lines[most-1]+" …", width)
		}
	}
	return lines
}

// Joined joins the parts that are not empty.
func Joined(between string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), between)
}

// AccessibleNotice returns what Notice shows.
func AccessibleNotice(kind NoticeKind, title, advice string) string {
	if kind == Failure {
		title = "Problem: " + title
	}
	if advice == "" {
		return title
	}
	return title + "\n" + advice
}

// Beat is how long each picture of a spinner stays. There is none before the first beat, because most replies come
// sooner.
const Beat = 520 * time.Millisecond

// Spinner returns the picture after a time; "" before the first beat.
func Spinner(waited time.Duration) string {
	if waited < Beat {
		return ""
	}
	return [...]string{"⠋", "⠙", "⠸", "⠴", "⠦", "⠇"}[waited/Beat%6]
}

// LoadingTitle titles a Notice while something loads, from the first second on with the time that has passed.
func LoadingTitle(what string, elapsed time.Duration) string {
	if elapsed < time.Second {
		return "Loading " + what + " ..."
	}
	return fmt.Sprintf("Loading %s ... %d s", what, int(elapsed.Seconds()))
}

// Tab draws the name of a tab, the current one on the background of what is selected, or in brackets with few colours.
func Tab(theme *theme.Theme, name string, isCurrent bool) string {
	switch {
	case !isCurrent:
		return theme.Muted.Render(" " + name + " ")
	case theme.Shades():
		return theme.Selected.Render(" " + name + " ")
	}
	return theme.Selected.Render("[" + name + "]")
}

// Tabs draws tabs on one line: "[Available 12] Redeemed 3". If they do not fit, it draws the current one with its
// number: "[Available 12] 1/2".
func Tabs(theme *theme.Theme, width int, names []string, current int) string {
	if len(names) == 0 {
		return ""
	}
	current = max(0, min(current, len(names)-1))
	if !TabsFit(width, names) {
		index := fmt.Sprintf(" %d/%d", current+1, len(names))
		if len(index) >= width {
			return theme.Accent.Render(display.Cut(names[current], width))
		}
		name := Tab(theme, display.Cut(names[current], width-len(index)-2), true)
		return display.Cut(name, width-len(index)) + theme.Muted.Render(index)
	}
	var line strings.Builder
	for i, name := range names {
		line.WriteString(Tab(theme, name, i == current))
	}
	return display.Cut(line.String(), width)
}

// TabsFit tells whether Tabs draws all of them.
func TabsFit(width int, names []string) bool {
	need := 0
	for _, name := range names {
		need += display.Width(name) + 2
	}
	return need <= width
}

// TabAt returns the tab at a column, for a click; the next one if only the current is drawn.
func TabAt(width int, names []string, current, column int) (tab int, ok bool) {
	if column < 0 || column >= width || len(names) == 0 {
		return 0, false
	}
	if !TabsFit(width, names) {
		return (max(0, current) + 1) % len(names), true
	}
	for i, name := range names {
		if column -= display.Width(name) + 2; column < 0 {
			return i, true
		}
	}
	return 0, false
}

// AccessibleTabs returns what Tabs shows: "Tab Available 12, shown. Other tabs: Redeemed 3."
func AccessibleTabs(names []string, current int) string {
	if len(names) == 0 {
		return ""
	}
	current = max(0, min(current, len(names)-1))
	line := "Tab " + names[current] + ", shown."
	if others := slices.Delete(slices.Clone(names), current, current+1); len(others) > 0 {
		line += " Other tabs: " + strings.Join(others, ", ") + "."
	}
	return line
}
