package property

import (
	"fmt"
	"strings"

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
		parts = folded(parts, s.width, s.key(actions.Open))
	}
	lines := append(s.head(s.edit.notes, s.compareIntro()), parts...)
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
	return fmt.Sprintf("See all of it first: %s below. %s shows more.", widget.Plural(int64(below), "line", "lines"), s.key(actions.PageDown))
}

// compareIntro says what is about to happen.
func (s *Screen) compareIntro() []string {
	e := s.edit
	switch {
	case s.sender.Busy():
		return []string{fmt.Sprintf("Saving property %d ...", s.id)}
	case s.looker.Busy():
		return []string{fmt.Sprintf("Looking whether property %d was saved ...", s.id)}
	}
	var names []string
	for _, name := range e.patch.Fields() {
		names = append(names, fieldNamed(name).caption())
	}
	change := "fields change"
	if len(names) == 1 {
		change = "field changes"
	}
	lines := []string{fmt.Sprintf("%d %s: %s", len(names), change, strings.Join(names, ", "))}
	if e.form == nil {
		lines = append(lines, fmt.Sprintf("Undo this in property %d? %s undo, %s cancel", s.id, s.key(submitKey), s.key(backKey)))
	} else {
		lines = append(lines, fmt.Sprintf("Save this in property %d? %s save, %s back to the form", s.id, s.key(submitKey), s.key(backKey)))
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
	for _, l := range s.head(s.edit.notes, nil) {
		if l.text != "" {
			head = append(head, l.role.style(look).Render(l.text))
		}
	}
	if most := s.height / 3; len(head) > most {
		head = head[:most]
		if most > 0 {
			head[most-1] = widget.Cut(head[most-1]+" …", s.width)
		}
	}
	s.formTop = len(head)
	s.edit.form.SetTheme(look)
	form := s.edit.form.View(s.width, s.height-len(head))
	return widget.Crop(strings.Join(append(head, form), "\n"), s.width, s.height)
}

// viewMerge draws both sides, and brings the conflict that is being decided into sight once it has changed.
func (s *Screen) viewMerge() string {
	look := s.shell.Theme
	var status []string
	if s.height > 2 {
		status = []string{look.Strong.Render(widget.Cut(s.mergeStatus(), s.width))}
	}
	room := s.height - len(status)
	head := s.head(s.edit.notes, s.mergeIntro())
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
