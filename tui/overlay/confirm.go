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

// question is what Confirm and Typed share: a text that can be scrolled, with the way to answer it always below.
type question struct {
	ask    screen.Confirm
	scroll components.Scroll
}

// Title returns the question.
func (q *question) Title() string { return plain.Line(q.ask.Title) }

// Yes says what agreeing does.
func (q *question) Yes() string { return plain.Line(q.ask.Yes) }

// Linear says what will happen.
func (q *question) Linear() string { return plain.Text(q.ask.Text) }

// above draws as much of a text as fits above a last line: nothing where there is room only for that line.
func (q *question) above(text string, width, height int) []string {
	lines := components.Wrap(text, width)
	room := max(0, height-1)
	if len(lines) < room {
		lines, room = append(lines, ""), len(lines)+1
	}
	q.scroll.Resize(width, room)
	q.scroll.Set(lines)
	if room == 0 {
		return nil
	}
	return strings.Split(q.scroll.View(), "\n")
}

// hasMore tells whether some of the text is below what is seen.
func (q *question) hasMore() bool {
	_, below := q.scroll.More()
	return below > 0
}
