package property

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/lipgloss"

	"example.com/perks/api/plain"
	"example.com/perks/tui/components"
)

// scroll is a components.Scroll that begins anew with its zero value.
type scroll struct{ components.Scroll }

func (s *scroll) top() { *s = scroll{} }

// View draws the screen.
func (s *Screen) View() string {
	switch s.stage {
	case filling:
		return s.viewForm()
	case comparing:
		return s.scrolled(append(s.head(s.edit.notes, s.compareIntro()), s.partLines(comparison(s.edit.base, s.edit.patch))...))
	case merging:
		return s.viewMerge()
	}
	return s.viewRecord()
}

func (s *Screen) scrolled(lines []string) string {
	s.scroll.Resize(s.width, s.height)
	s.scroll.Set(lines)
	return s.scroll.View()
}

// head is what has to be said first, and an empty line.
func (s *Screen) head(notes, intro []string) []string {
	look := s.shell.Theme
	var lines []string
	for _, note := range notes {
		lines = append(lines, marked(look.Warn, "! ", plain.Line(note), s.width)...)
	}
	for _, text := range intro {
		lines = append(lines, marked(look.Text, "", plain.Line(text), s.width)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	return lines
}

// marked wraps a text behind a mark. Lines that go on are set in below it.
func marked(style lipgloss.Style, mark, text string, width int) []string {
	if width <= 2*len(mark) {
		mark = strings.TrimSpace(mark)
	}
	if width <= 2*len(mark) {
		mark = ""
	}
	var lines []string
	before := mark
	for _, line := range components.Wrap(text, width-len(mark)) {
		lines = append(lines, style.Render(before+line))
		before = strings.Repeat(" ", len(mark))
	}
	return lines
}

// struck wraps a line of a comparison. Its mark stands on every line that it takes.
func (s *Screen) struck(l stroke) []string {
	look := s.shell.Theme
	style := look.Text
	switch strings.TrimSpace(l.mark) {
	case "-":
		style = look.Bad
	case "+":
		style = look.Good
	case "*":
		style = look.Strong
	}
	mark := l.mark
	if s.width <= 2*len(mark) {
		mark = strings.TrimSpace(mark)
	}
	if s.width <= len(mark) {
		mark = ""
	}
	var lines []string
	for _, line := range components.Wrap(l.text, s.width-len(mark)) {
		lines = append(lines, style.Render(mark+line))
	}
	return lines
}

func (s *Screen) partLines(parts []part) []string {
	var lines []string
	for i, p := range parts {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, s.drawPart(p)...)
	}
	return lines
}

func (s *Screen) drawPart(p part) []string {
	look := s.shell.Theme
	style, mark := look.Heading, ""
	switch {
	case p.current:
		style, mark = look.Accent, "> "
	case p.conflict:
		mark = "  "
	}
	lines := marked(style, mark, p.title, s.width)
	for _, l := range p.strokes {
		lines = append(lines, s.struck(l)...)
	}
	return lines
}

// compareIntro says what is about to happen.
func (s *Screen) compareIntro() []string {
	e := s.edit
	what, back := "saves", "goes back to the form"
	if e.undoing {
		what = "undoes"
	}
	if e.form == nil {
		back = "leaves all as it is"
	}
	switch {
	case s.sender.Busy():
		return []string{fmt.Sprintf("Saving property %d ...", s.id)}
	case s.looker.Busy():
		return []string{fmt.Sprintf("Looking whether property %d was saved ...", s.id)}
	}
	lines := []string{fmt.Sprintf("%s %s this in property %d, %s %s.", s.key(submitKey), what, s.id, s.key(backKey), back)}
	if e.base.ETag == "" {
		lines = append(lines, unguarded)
	}
	return lines
}

// viewForm draws the form below what has to be said, for which it leaves a third of the room at most.
func (s *Screen) viewForm() string {
	head := s.head(s.edit.notes, nil)
	if len(head) > 0 {
		head = head[:len(head)-1]
	}
	if most := s.height / 3; len(head) > most {
		head = head[:most]
		if most > 0 {
			head[most-1] = components.Cut(head[most-1]+" …", s.width)
		}
	}
	s.formTop = len(head)
	s.edit.form.SetTheme(s.shell.Theme)
	form := s.edit.form.View(s.width, s.height-len(head))
	return components.Crop(strings.Join(append(head, form), "\n"), s.width, s.height)
}

// viewMerge draws both sides, and brings the conflict that is being decided into sight once it has changed.
func (s *Screen) viewMerge() string {
	var status []string
	if s.height > 2 {
		status = []string{s.shell.Theme.Strong.Render(components.Cut(s.mergeStatus(), s.width))}
	}
	lines := s.head(s.edit.notes, s.mergeIntro())
	from, to := 0, 0
	for i, p := range s.edit.merge.parts(s.edit) {
		if i > 0 {
			lines = append(lines, "")
		}
		begin := len(lines)
		lines = append(lines, s.drawPart(p)...)
		if p.current {
			from, to = begin, len(lines)-1
		}
	}
	room := s.height - len(status)
	s.scroll.Resize(s.width, room)
	s.scroll.Set(lines)
	if s.reveal && to > 0 {
		s.scroll.Reveal(to)
		s.scroll.Reveal(from)
		if to < room {
			s.scroll.Reveal(0)
		}
	}
	s.reveal = false
	return strings.Join(append(status, s.scroll.View()), "\n")
}
