package screen

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Confirm asks before something that cannot be taken back.
type ConfirmDialog struct {
	textless
	question
	keys *actions.Registry
}

// NewConfirm makes the question.
func NewConfirm(ask Confirm, keys *actions.Registry) *ConfirmDialog {
	return &ConfirmDialog{question: question{ask: ask}, keys: keys}
}

// View draws the text, and always the two keys below it.
func (c *ConfirmDialog) View(look *widget.Theme, width, height int) string {
	answer := widget.Cut(look.Key.Render(c.keys.Key(actions.Yes))+" "+look.Bad.Render(c.Yes())+"   "+
		look.Key.Render(c.keys.Key(actions.No))+" "+look.Text.Render("no"), width)
	lines := c.above(c.Linear(), width, height)
	if len(lines) > 0 && c.hasMore() {
		answer = widget.Cut(answer+"   "+look.Key.Render(c.keys.Key(actions.Down))+" more", width)
	}
	return strings.Join(append(lines, answer), "\n")
}

// Hints is empty: the keys stand beside what they do.
func (c *ConfirmDialog) Hints() []Hint { return nil }

// Offers is yes and no, and to move about in a text that is longer than the screen.
func (c *ConfirmDialog) Offers() []actions.Offer {
	return append(actions.Able(actions.Yes, actions.No), widget.Moves()...)
}

// Do answers the question.
func (c *ConfirmDialog) Do(id actions.ID) (tea.Cmd, bool) {
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
	ask    Confirm
	scroll widget.Scroll
}

// Title returns the question.
func (q *question) Title() string { return display.Line(q.ask.Title) }

// Yes says what agreeing does.
func (q *question) Yes() string { return display.Line(q.ask.Yes) }

// Linear says what will happen.
func (q *question) Linear() string { return display.Text(q.ask.Text) }

// above draws as much of a text as fits above a last line: nothing where there is room only for that line.
func (q *question) above(text string, width, height int) []string {
	lines := widget.Wrap(text, width)
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
