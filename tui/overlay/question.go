package overlay

import (
	"strings"

	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
)

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
