package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Reading is a text to read, such as the help.
type Reading struct {
	textless
	title  string
	lines  []Styled
	scroll widget.Scroll
}

// Styled is a line with a word before it that stands out, such as a key.
type Styled struct{ Word, Text string }

// NewReading makes the text.
func NewReading(title string, lines []Styled) *Reading { return &Reading{title: title, lines: lines} }

// Title returns the title.
func (r *Reading) Title() string { return r.title }

// Linear returns the lines.
func (r *Reading) Linear() string {
	lines := make([]string, len(r.lines))
	for i, line := range r.lines {
		lines[i] = strings.TrimSpace(line.Word + " " + line.Text)
	}
	return strings.Join(lines, "\n")
}

// View draws as many of the lines as there is room for, the words in a column of their own.
func (r *Reading) View(look *widget.Theme, width, height int) string {
	column := 0
	for _, line := range r.lines {
		column = max(column, widget.Width(line.Word))
	}
	column = min(column, width/2)
	var lines []string
	for _, line := range r.lines {
		for i, part := range widget.Wrap(line.Text, max(1, width-column-2)) {
			word := ""
			if i == 0 {
				word = line.Word
			}
			lines = append(lines, look.Key.Render(widget.Pad(word, column))+"  "+look.Text.Render(part))
		}
	}
	r.scroll.Resize(width, min(height, len(lines)))
	r.scroll.Set(lines)
	return r.scroll.View()
}

// Hints is to leave, and to move where there is more than fits.
func (r *Reading) Hints() []Hint {
	hints := []Hint{{actions.Back, "close"}}
	switch above, below := r.scroll.More(); {
	case below > 0:
		hints = append(hints, Hint{actions.Down, "down"}, Hint{actions.PageDown, "further down"})
	case above > 0:
		hints = append(hints, Hint{actions.Up, "up"}, Hint{actions.PageUp, "further up"})
	}
	return hints
}

// Offers is to move about and to leave.
func (r *Reading) Offers() []actions.Offer {
	return append(widget.Moves(), actions.Able(actions.Back, actions.Help, actions.Messages, actions.Quit)...)
}

// Do moves about; every other key leaves.
func (r *Reading) Do(id actions.ID) (tea.Cmd, bool) { return nil, !r.scroll.Do(id) }
