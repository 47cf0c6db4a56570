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
	switch s.mode {
	case editing:
		return s.viewEditing()
	case reviewing:
		return s.scroll.draw(s.shell.Theme, s.layoutReview(), s.width, s.height)
	case merging:
		return s.viewMerging()
	}
	return s.viewProperty()
}

// layoutReview gives the scroll the lines of the comparison, and notes when the last of them is seen.
func (s *Screen) layoutReview() []line {
	fieldDiffs := s.edit.fieldDiffs(s.width)
	if s.isFoldable() && !s.unfolded {
		fieldDiffs = fold(fieldDiffs, s.width, s.shell.Key(actions.Open))
	}
	lines := append(s.introLines(s.notes, s.reviewIntro()), fieldDiffs...)
	s.scroll.layout(lines, s.width, s.height)
	if _, below := s.scroll.More(); below == 0 {
		s.seen = true
	}
	return lines
}

// isFoldable tells whether something of the comparison is long enough to be folded.
func (s *Screen) isFoldable() bool {
	fieldDiffs := s.edit.fieldDiffs(s.width)
	return len(fold(fieldDiffs, s.width, "")) < len(fieldDiffs)
}

// whyUnseen says that the comparison cannot be saved before all of it was seen; "" if it was.
func (s *Screen) whyUnseen() string {
	s.layoutReview()
	if s.seen {
		return ""
	}
	_, below := s.scroll.More()
	return fmt.Sprintf("See all of it first: %s below. %s shows more.", display.Plural(below, "line", "lines"), s.shell.Key(actions.PageDown))
}

func (s *Screen) reviewIntro() []string {
	e := s.edit
	switch {
	case s.sender.Busy():
		return []string{fmt.Sprintf("Saving property %d ...", s.id)}
	case s.unknown && s.record.Busy():
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
		lines = append(lines, noETagWarning)
	}
	return lines
}

// viewEditing draws the form below what has to be said, for which it leaves a third of the room at most.
func (s *Screen) viewEditing() string {
	theme := s.shell.Theme
	var introLines []string
	for _, l := range s.introLines(s.notes, nil) {
		if l.text != "" {
			introLines = append(introLines, l.role.style(theme).Render(l.text))
		}
	}
	if most := s.height / 3; len(introLines) > most {
		introLines = introLines[:most]
		if most > 0 {
			introLines[most-1] = display.Cut(introLines[most-1]+" …", s.width)
		}
	}
	s.formTop = len(introLines)
	s.edit.form.SetTheme(theme)
	form := s.edit.form.View(s.width, s.height-len(introLines))
	return display.Crop(strings.Join(append(introLines, form), "\n"), s.width, s.height)
}

// viewMerging draws both sides, and brings the conflict that is being decided into sight once it has changed.
func (s *Screen) viewMerging() string {
	theme := s.shell.Theme
	var status []string
	if s.height > 2 {
		status = []string{theme.Strong.Render(display.Cut(s.mergeStatus(), s.width))}
	}
	visible := s.height - len(status)
	introLines := s.introLines(s.notes, s.mergeIntro())
	fieldDiffs, from, to := drawDiffs(s.edit.merge.fieldDiffs(s.edit), s.width)
	lines := append(introLines, fieldDiffs...)
	s.scroll.layout(lines, s.width, visible)
	if s.reveal && to > 0 {
		s.scroll.Reveal(len(introLines) + to)
		s.scroll.Reveal(len(introLines) + from)
		if len(introLines)+to < s.scroll.visible {
			s.scroll.Reveal(0)
		}
	}
	s.reveal = false
	return strings.Join(append(status, s.scroll.draw(theme, lines, s.width, visible)), "\n")
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

func (r role) style(theme *widget.Theme) lipgloss.Style {
	return [...]lipgloss.Style{
		asText: theme.Text, asWarning: theme.Warn, asHeading: theme.Heading, asCurrent: theme.Accent, asRemoved: theme.Bad, asAdded: theme.Good, asKept: theme.Strong,
	}[r]
}

// scroll is the place in a text that is longer than the screen.
type scroll struct {
	widget.Scroll
	visible int  // the lines of the text that are seen
	marked  bool // the last line of the room says how much is not
}

func (s *scroll) layout(lines []line, width, height int) {
	s.visible, s.marked = height, len(lines) > height && height >= minHeightForMore
	if s.marked {
		s.visible--
	}
	s.Resize(width, s.visible)
	s.Set(make([]string, len(lines))) // only how many there are counts: draw styles those that are seen
}

// minHeightForMore is the least height at which one line is used to say how much is hidden.
const minHeightForMore = 3

func (s *scroll) draw(theme *widget.Theme, lines []line, width, height int) string {
	above, below := s.More()
	var seen []string
	for _, l := range lines[above:min(len(lines), above+s.visible)] {
		if l.role == asDrawn {
			seen = append(seen, l.text)
			continue
		}
		seen = append(seen, l.role.style(theme).Render(l.text))
	}
	if s.marked {
		seen = append(seen, theme.Accent.Render(display.Cut(widget.Hidden(above, below), width)))
	}
	return display.Crop(strings.Join(seen, "\n"), width, height)
}

// introLines is what has to be said first, and an empty line.
func (s *Screen) introLines(notes, intro []string) []line {
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
	mark = fitMark(mark, width)
	before := mark
	var lines []line
	for _, wrapped := range display.Wrap(text, width-len(mark)) {
		lines = append(lines, line{as, before + wrapped})
		before = strings.Repeat(" ", len(mark))
	}
	return lines
}

// fitMark shortens a mark where there is no room for more than a few letters.
func fitMark(mark string, width int) string {
	if width <= 2*len(mark) {
		mark = strings.TrimSpace(mark)
	}
	if width <= len(mark) {
		mark = ""
	}
	return mark
}

// maxDiffLines is how many lines one side of a comparison can have before it is folded to shownStruck lines, so that one long text
// does not push the other fields out of sight.
const (
	maxDiffLines    = 8
	foldedDiffLines = 5
)

// fold shortens long removed and added texts. The key shows all of them.
func fold(lines []line, width int, key string) []line {
	var out []line
	for i := 0; i < len(lines); {
		end := i + 1
		for end < len(lines) && lines[end].role == lines[i].role {
			end++
		}
		if as := lines[i].role; (as == asRemoved || as == asAdded) && end-i > maxDiffLines {
			more := display.Plural(end-i-foldedDiffLines, "more line", "more lines")
			out = append(out, lines[i:i+foldedDiffLines]...)
			out = append(out, marked(as, "  … ", more+" ("+key+" shows all)", width)...)
		} else {
			out = append(out, lines[i:end]...)
		}
		i = end
	}
	return out
}

// drawDiffs draws the fields of a comparison or a merge, and tells where the conflict that is being decided stands.
func drawDiffs(fieldDiffs []fieldDiff, width int) (lines []line, from, to int) {
	for i, p := range fieldDiffs {
		if i > 0 {
			lines = append(lines, line{})
		}
		load := len(lines)
		as, mark := asHeading, ""
		switch {
		case p.current:
			as, mark = asCurrent, "> "
		case p.conflict:
			mark = "  "
		}
		lines = append(lines, marked(as, mark, p.title, width)...)
		for _, l := range p.diff { // its mark stands on every line that it takes
			as, mark := map[string]role{"-": asRemoved, "+": asAdded, "*": asKept}[strings.TrimSpace(l.mark)], fitMark(l.mark, width)
			for _, wrapped := range display.Wrap(l.text, width-len(mark)) {
				lines = append(lines, line{as, mark + wrapped})
			}
		}
		if p.current {
			from, to = load, len(lines)-1
		}
	}
	return lines, from, to
}
