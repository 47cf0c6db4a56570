package perks

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// maxMarks keeps what one redeem does within what a person can look through.
const maxMarks = 100

// mark marks the perk under the cursor, or clears its mark.
func (s *Screen) mark() {
	if perk, ok := s.current(); ok {
		s.setMarks(s.marks.Toggled(perk))
	}
}

func (s *Screen) setMarks(marks screen.Marks) {
	s.marks = marks
	for i := range s.rows {
		s.rows[i].Marked = marks.Has(s.shown[i].ID)
	}
	s.table.SetRows(s.rows)
}

// whyNoMark is why the perk under the cursor cannot be marked.
func (s *Screen) whyNoMark() string {
	perk, ok := s.current()
	if !ok {
		return noPerk
	}
	if len(s.marks) >= maxMarks && !s.marks.Has(perk.ID) {
		return fmt.Sprintf("At most %d perks can be marked. Redeem them first, or clear marks.", maxMarks)
	}
	return ""
}

// whyNotCurrent says why the service would refuse to redeem the perk under the cursor, to save the person the form. Its clock may
// differ: in the end the service decides.
func (s *Screen) whyNotCurrent() string {
	perk, ok := s.current()
	now := s.shell.Now()
	switch {
	case !ok:
		return noPerk
	case perk.ValidTo != nil && !perk.ValidTo.After(now):
		return "It " + widget.Until(*perk.ValidTo, now) + "."
	case perk.ValidFrom != nil && perk.ValidFrom.After(now):
		return "It starts " + widget.In(*perk.ValidFrom, now) + "."
	}
	return ""
}

// redeem opens the redeeming of what is marked; of the perk under the cursor if nothing is.
func (s *Screen) redeem() tea.Cmd {
	var under *api.Perk
	if perk, ok := s.current(); ok && s.whyNotCurrent() == "" {
		under = &perk
	}
	return s.marks.Redeem(s.shell, s.shown, under, "")
}
