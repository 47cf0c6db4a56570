package widget

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"

	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// Panel is a frame that names what is inside, with a scrollbar if there is more.
type Panel struct {
	Title   string // such as "Perks 18,040"
	Note    string // quieter beside it, such as "newest first"; may have styles
	Foot    string // in the lower border
	Focused bool   // it has the keyboard
	Grave   bool   // what it asks for can't be undone
	Bar     Bar
}

// The characters of the right border of a panel, of which the thumb marks what is shown.
const (
	Track = "│"
	Thumb = "▐"
)

// Bar is which part of something is shown: Shown lines from First on of All, below Above lines that stay.
type Bar struct{ First, Shown, All, Above int }

// The least size with a border, but for Box.
const (
	minPanelWidth  = 30
	minPanelHeight = 7
)

// Corner is how far the inside is from the corner of a panel: 1, or 0 without a border.
func Corner(width, height int) int {
	if width < minPanelWidth || height < minPanelHeight {
		return 0
	}
	return 1
}

// Inner returns the size of the inside of a panel.
func Inner(width, height int) (innerWidth, innerHeight int) {
	corner := Corner(width, height)
	return width - 2*corner, height - 2*corner
}

// View draws the panel around its inside, in exactly that size. Lines that don't fit are cut.
func (p Panel) View(look *theme.Theme, inside string, width, height int) string {
	if Corner(width, height) == 0 {
		return display.Crop(inside, width, height)
	}
	return p.Box(look, inside, width, height)
}

// Box draws the border at any size from 8x3 on.
func (p Panel) Box(look *theme.Theme, inside string, width, height int) string {
	frame, border := lipgloss.RoundedBorder(), look.Border
	switch {
	case p.Grave:
		frame, border = lipgloss.DoubleBorder(), look.Bad
	case p.Focused:
		border = look.Focus
	}
	left, right, thumb := border.Render(frame.Left), border.Render(frame.Right), border.Render(Thumb)
	lines := make([]string, 0, height)
	lines = append(lines, p.edge(border, frame.TopLeft, frame.Top, frame.TopRight, p.words(look, width-6), width))
	first, end := p.Bar.thumb(height - 2)
	rest, line := inside, ""
	for row := range height - 2 {
		line, rest, _ = strings.Cut(rest, "\n")
		edge := right
		if row >= first && row < end {
			edge = thumb
		}
		lines = append(lines, left+display.Pad(line, width-2)+edge)
	}
	foot := look.Muted.Render(display.Cut(p.Foot, width-6))
	if p.Foot == "" {
		foot = ""
	}
	return strings.Join(append(lines, p.edge(border, frame.BottomLeft, frame.Bottom, frame.BottomRight, foot, width)),
		"\n")
}

// words is the text of the upper border, at most that wide. The title is cut last.
func (p Panel) words(look *theme.Theme, width int) string {
	style := look.Strong
	if p.Focused {
		style = look.Accent
	}
	if p.Grave {
		style = look.Bad
	}
	title := display.Cut(display.Line(p.Title), width)
	if title == "" {
		return ""
	}
	note := display.Cut(p.Note, width-display.Width(title)-3)
	if note == "" || display.Width(note) < min(8, display.Width(p.Note)) {
		return style.Render(title)
	}
	return style.Render(title) + look.Muted.Render(" · ") + look.Muted.Render(note)
}

// edge draws the upper or lower border with words in it.
func (p Panel) edge(border lipgloss.Style, left, line, right, words string, width int) string {
	if words == "" {
		return border.Render(left + strings.Repeat(line, width-2) + right)
	}
	return border.Render(left+line) + " " + words + " " + border.Render(strings.Repeat(line,
		max(0, width-5-display.Width(words)))+right)
}

// thumb returns the rows of a panel that the scrollbar marks; none if all is shown.
func (b Bar) thumb(height int) (first, end int) {
	rows := height - b.Above
	if b.All <= b.Shown || b.Shown <= 0 || rows < 2 {
		return 0, 0
	}
	size := min(rows-1, max(1, rows*b.Shown/b.All))
	first = b.Above + (rows-size)*min(b.First, b.All-b.Shown)/(b.All-b.Shown)
	return first, first + size
}

// At returns the First at which the middle of the thumb is at a row of a panel, as far as it can be.
func (b Bar) At(row, height int) (first int) {
	from, end := b.thumb(height)
	if from == end {
		return b.First
	}
	size, hidden := end-from, b.All-b.Shown
	space := height - b.Above - size
	at := max(0, min(row-b.Above-size/2, space))
	return min((at*hidden+space-1)/space, hidden)
}

// widthForTwo is the least width of a window with two panels beside each other.
const widthForTwo = 120

// LeftOfTwo returns the width of the left one of two panels beside each other; 0 if a window is too narrow for both.
func LeftOfTwo(width int) int {
	if width < widthForTwo {
		return 0
	}
	return width * 2 / 5
}

// Beside puts two views of one height side by side; left is leftWidth wide.
func Beside(left string, leftWidth int, right string) string {
	lines, others := strings.Split(left, "\n"), strings.Split(right, "\n")
	lines = append(lines, make([]string, max(0, len(others)-len(lines)))...)
	for i, other := range others {
		lines[i] = display.Pad(lines[i], leftWidth) + other
	}
	return strings.Join(lines, "\n")
}

// Indented moves a view to the right.
func Indented(view string, by int) string {
	if by <= 0 {
		return view
	}
	blanks := strings.Repeat(" ", by)
	return blanks + strings.ReplaceAll(view, "\n", "\n"+blanks)
}

// Behind draws a view as what is behind a dialog.
func Behind(look *theme.Theme, view string) string {
	const text = "x"
	begin, end, _ := strings.Cut(look.Behind.Render(text), text) // to render each line would measure it
	lines := strings.Split(view, "\n")
	for i, line := range lines {
		lines[i] = begin + ansi.Strip(line) + end
	}
	return strings.Join(lines, "\n")
}
