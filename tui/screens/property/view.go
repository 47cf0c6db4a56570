package property

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// View draws the screen.
func (s *Screen) View() string {
	switch s.stage {
	case filling:
		return s.viewForm()
	case comparing:
		return s.scroll.draw(s.shell.Theme, s.layComparison(), s.width, s.height)
	case merging:
		return s.viewMerge()
	}
	return s.viewRecord()
}

// layComparison gives the scroll the lines of the comparison, and notes when the last of them is seen.
func (s *Screen) layComparison() []line {
	parts := s.edit.parts(s.width)
	if s.isFoldable() && !s.unfolded {
		parts = folded(parts, s.width, s.shell.Key(actions.Open))
	}
	lines := append(s.head(s.notes, s.compareIntro()), parts...)
	s.scroll.lay(lines, s.width, s.height)
	if _, below := s.scroll.More(); below == 0 {
		s.seen = true
	}
	return lines
}

// isFoldable tells whether something of the comparison is long enough to be folded.
func (s *Screen) isFoldable() bool {
	parts := s.edit.parts(s.width)
	return len(folded(parts, s.width, "")) < len(parts)
}

// whyUnseen says that the comparison cannot be saved before all of it was seen; "" if it was.
func (s *Screen) whyUnseen() string {
	s.layComparison()
	if s.seen {
		return ""
	}
	_, below := s.scroll.More()
	return fmt.Sprintf("See all of it first: %s below. %s shows more.", display.Plural(below, "line", "lines"), s.shell.Key(actions.PageDown))
}

func (s *Screen) compareIntro() []string {
	e := s.edit
	switch {
	case s.sender.Busy():
		return []string{fmt.Sprintf("Saving property %d ...", s.id)}
	case s.lost && s.record.Busy():
		return []string{fmt.Sprintf("Looking whether property %d was saved ...", s.id)}
	}
	var names []string
	for _, name := range e.patch.Fields() {
		names = append(names, fieldNamed(name).Label)
	}
	submit, back := s.shell.Key(actions.Submit), s.shell.Key(actions.Back)
	lines := []string{
		fmt.Sprintf("%s: %s", display.Plural(len(names), "field changes", "fields change"), strings.Join(names, ", ")),
		fmt.Sprintf("Save this in property %d? %s save, %s back to the form", s.id, submit, back),
	}
	if e.form == nil {
		lines[1] = fmt.Sprintf("Undo this in property %d? %s undo, %s cancel", s.id, submit, back)
	}
	if e.base.ETag == "" {
		lines = append(lines, unguarded)
	}
	return lines
}

// viewForm draws the form below what has to be said, for which it leaves a third of the room at most.
func (s *Screen) viewForm() string {
	look := s.shell.Theme
	var head []string
	for _, l := range s.head(s.notes, nil) {
		if l.text != "" {
			head = append(head, l.role.style(look).Render(l.text))
		}
	}
	if most := s.height / 3; len(head) > most {
		head = head[:most]
		if most > 0 {
			head[most-1] = display.Cut(head[most-1]+" …", s.width)
		}
	}
	s.formTop = len(head)
	s.edit.form.SetTheme(look)
	form := s.edit.form.View(s.width, s.height-len(head))
	return display.Crop(strings.Join(append(head, form), "\n"), s.width, s.height)
}

// viewMerge draws both sides, and brings the conflict that is being decided into sight once it has changed.
func (s *Screen) viewMerge() string {
	look := s.shell.Theme
	var status []string
	if s.height > 2 {
		status = []string{look.Strong.Render(display.Cut(s.mergeStatus(), s.width))}
	}
	room := s.height - len(status)
	head := s.head(s.notes, s.mergeIntro())
	parts, from, to := partLines(s.edit.merge.parts(s.edit), s.width)
	lines := append(head, parts...)
	s.scroll.lay(lines, s.width, room)
	if s.reveal && to > 0 {
		s.scroll.Reveal(len(head) + to)
		s.scroll.Reveal(len(head) + from)
		if len(head)+to < s.scroll.room {
			s.scroll.Reveal(0)
		}
	}
	s.reveal = false
	return strings.Join(append(status, s.scroll.draw(look, lines, s.width, room)), "\n")
}

// line is one line that fits the width, and the part that it plays. Only those that are seen are styled: a comparison can
// have thousands.
type line struct {
	role role
	text string
}

// role is the part that a line plays.
type role int

const (
	asText role = iota
	asWarning
	asHeading
	asCurrent
	asRemoved
	asAdded
	asKept
	asDrawn // it has its styles already
)

func (r role) style(look *widget.Theme) lipgloss.Style {
	return [...]lipgloss.Style{
		asText: look.Text, asWarning: look.Warn, asHeading: look.Heading, asCurrent: look.Accent, asRemoved: look.Bad, asAdded: look.Good, asKept: look.Strong,
	}[r]
}

// scroll is the place in a text that is longer than the screen.
type scroll struct {
	widget.Scroll
	room   int  // the lines of the text that are seen
	marked bool // the last line of the room says how much is not
}

func (s *scroll) lay(lines []line, width, height int) {
	s.room, s.marked = height, len(lines) > height && height >= roomForMark
	if s.marked {
		s.room--
	}
	s.Resize(width, s.room)
	s.Set(make([]string, len(lines))) // only how many there are counts: draw styles those that are seen
}

// roomForMark is the least height at which one line is used to say how much is hidden.
const roomForMark = 3

func (s *scroll) draw(look *widget.Theme, lines []line, width, height int) string {
	above, below := s.More()
	var seen []string
	for _, l := range lines[above:min(len(lines), above+s.room)] {
		if l.role == asDrawn {
			seen = append(seen, l.text)
			continue
		}
		seen = append(seen, l.role.style(look).Render(l.text))
	}
	if s.marked {
		seen = append(seen, look.Accent.Render(display.Cut(widget.Hidden(above, below), width)))
	}
	return display.Crop(strings.Join(seen, "\n"), width, height)
}

// head is what has to be said first, and an empty line.
func (s *Screen) head(notes, intro []string) []line {
	var lines []line
	for _, note := range notes {
		lines = append(lines, marked(asWarning, "! ", display.Line(note), s.width)...)
	}
	for _, text := range intro {
		lines = append(lines, marked(asText, "", display.Line(text), s.width)...)
	}
	if len(lines) > 0 {
		lines = append(lines, line{})
	}
	return lines
}

// marked wraps a text behind a mark. Lines that go on are set in below it.
func marked(as role, mark, text string, width int) []line {
	mark = fittingMark(mark, width)
	before := mark
	var lines []line
	for _, wrapped := range display.Wrap(text, width-len(mark)) {
		lines = append(lines, line{as, before + wrapped})
		before = strings.Repeat(" ", len(mark))
	}
	return lines
}

// fittingMark shortens a mark where there is no room for more than a few letters.
func fittingMark(mark string, width int) string {
	if width <= 2*len(mark) {
		mark = strings.TrimSpace(mark)
	}
	if width <= len(mark) {
		mark = ""
	}
	return mark
}

// mostStruck is how many lines one side of a comparison can have before it is folded to shownStruck lines, so that one long text
// does not push the other fields out of sight.
const (
	mostStruck  = 8
	shownStruck = 5
)

// folded shortens long removed and added texts. The key shows all of them.
func folded(lines []line, width int, key string) []line {
	var out []line
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && lines[end].role == lines[i].role {
			end++
		}
		if as := lines[i].role; (as == asRemoved || as == asAdded) && end-i > mostStruck {
			more := display.Plural(end-i-shownStruck, "more line", "more lines")
			out = append(out, lines[i:i+shownStruck]...)
			out = append(out, marked(as, "  … ", more+" ("+key+" shows all)", width)...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

// partLines draws the fields of a comparison or a merge, and tells where the conflict that is being decided stands.
func partLines(parts []part, width int) (lines []line, from, to int) {
	for i, p := range parts {
		if i > 0 {
			lines = append(lines, line{})
		}
		begin := len(lines)
		as, mark := asHeading, ""
		switch {
		case p.current:
			as, mark = asCurrent, "> "
		case p.conflict:
			mark = "  "
		}
		lines = append(lines, marked(as, mark, p.title, width)...)
		for _, l := range p.strokes { // its mark stands on every line that it takes
			as, mark := map[string]role{"-": asRemoved, "+": asAdded, "*": asKept}[strings.TrimSpace(l.mark)], fittingMark(l.mark, width)
			for _, wrapped := range display.Wrap(l.text, width-len(mark)) {
				lines = append(lines, line{as, mark + wrapped})
			}
		}
		if p.current {
			from, to = begin, len(lines)-1
		}
	}
	return lines, from, to
}
