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
	ask    screen.Confirm
	keys   *actions.Registry
	scroll components.Scroll
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
	text := components.Wrap(c.Linear(), width)
	room := max(0, height-1)
	if len(text) < room {
		text, room = append(text, ""), len(text)+1
	}
	c.scroll.Resize(width, room)
	c.scroll.Set(text)
	if room == 0 {
		return answer
	}
	lines := strings.Split(c.scroll.View(), "\n")
	if _, below := c.scroll.More(); below > 0 {
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
