package property

import (
	"fmt"
	"strings"

	"example.com/perks/tui/components"
)

// View draws the screen.
func (s *Screen) View() string {
	switch s.stage {
	case filling:
		return s.viewForm()
	case comparing:
		parts, _, _ := partLines(s.edit.comparison(), s.width)
		return s.scrolled(append(s.head(s.edit.notes, s.compareIntro()), parts...))
	case merging:
		return s.viewMerge()
	}
	return s.viewRecord()
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
			head[most-1] = components.Cut(head[most-1]+" …", s.width)
		}
	}
	s.formTop = len(head)
	s.edit.form.SetTheme(look)
	form := s.edit.form.View(s.width, s.height-len(head))
	return components.Crop(strings.Join(append(head, form), "\n"), s.width, s.height)
}

// viewMerge draws both sides, and brings the conflict that is being decided into sight once it has changed.
func (s *Screen) viewMerge() string {
	look := s.shell.Theme
	var status []string
	if s.height > 2 {
		status = []string{look.Strong.Render(components.Cut(s.mergeStatus(), s.width))}
	}
	room := s.height - len(status)
	head := s.head(s.edit.notes, s.mergeIntro())
	parts, from, to := partLines(s.edit.merge.parts(s.edit), s.width)
	lines := append(head, parts...)
	s.scroll.lay(lines, s.width, room)
	if s.reveal && to > 0 {
		s.scroll.Reveal(len(head) + to)
		s.scroll.Reveal(len(head) + from)
		if len(head)+to < room {
			s.scroll.Reveal(0)
		}
	}
	s.reveal = false
	return strings.Join(append(status, s.scroll.draw(look, lines, s.width, room)), "\n")
}
