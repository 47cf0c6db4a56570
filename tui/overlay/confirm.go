package overlay

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/plain"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

// Confirm asks before something that cannot be taken back.
type Confirm struct {
	textless
	ask  screen.Confirm
	keys *actions.Registry
}

// NewConfirm makes the question.
func NewConfirm(ask screen.Confirm, keys *actions.Registry) *Confirm {
	return &Confirm{ask: ask, keys: keys}
}

// Title returns the question.
func (c *Confirm) Title() string { return plain.Line(c.ask.Title) }

// Yes says what saying yes does.
func (c *Confirm) Yes() string { return plain.Line(c.ask.Yes) }

// Linear says what will happen.
func (c *Confirm) Linear() string { return plain.Text(c.ask.Text) }

// View draws the text, and always the two keys below it.
func (c *Confirm) View(look *theme.Theme, width, height int) string {
	answer := components.Cut(look.Key.Render(c.keys.Key(actions.Yes))+" "+look.Bad.Render(c.Yes())+"   "+
		look.Key.Render(c.keys.Key(actions.No))+" "+look.Text.Render("no"), width)
	lines := components.Wrap(c.Linear(), width)
	if room := max(0, height-2); len(lines) > room {
		lines = lines[:room]
	}
	if height >= 2 {
		lines = append(lines, "")
	}
	return strings.Join(append(lines, answer), "\n")
}

// Offers is yes and no.
func (c *Confirm) Offers() []actions.Offer { return actions.Able(actions.Yes, actions.No) }

// Do answers the question.
func (c *Confirm) Do(id actions.ID) (tea.Cmd, bool) {
	switch id {
	case actions.Yes:
		return c.ask.Then(), true
	case actions.No:
		return nil, true
	}
	return nil, false
}
