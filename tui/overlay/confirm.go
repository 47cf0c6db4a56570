package overlay

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// Confirm asks before something that cannot be taken back.
type Confirm struct {
	textless
	question
	keys *actions.Registry
}

// NewConfirm makes the question.
func NewConfirm(ask screen.Confirm, keys *actions.Registry) *Confirm {
	return &Confirm{question: question{ask: ask}, keys: keys}
}

// View draws the text, and always the two keys below it.
func (c *Confirm) View(look *theme.Theme, width, height int) string {
	answer := components.Cut(look.Key.Render(c.keys.Key(actions.Yes))+" "+look.Bad.Render(c.Yes())+"   "+
		look.Key.Render(c.keys.Key(actions.No))+" "+look.Text.Render("no"), width)
	lines := c.above(c.Linear(), width, height)
	if len(lines) > 0 && c.hasMore() {
		answer = components.Cut(answer+"   "+look.Key.Render(c.keys.Key(actions.Down))+" more", width)
	}
	return strings.Join(append(lines, answer), "\n")
}

// Hints is empty: the keys stand beside what they do.
func (c *Confirm) Hints() []Hint { return nil }

// Offers is yes and no, and to move about in a text that is longer than the screen.
func (c *Confirm) Offers() []actions.Offer {
	return append(actions.Able(actions.Yes, actions.No), components.Moves()...)
}

// Do answers the question.
func (c *Confirm) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Yes:
		return c.ask.Then(), true
	case actions.No:
		return nil, true
	}
	c.scroll.Do(id)
	return nil, false
}
