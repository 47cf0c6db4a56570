package perks

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
)

// maxMarks keeps what one redeem does within what a person can look through.
const maxMarks = 100

func (s *Screen) markedIDs() map[string]bool {
	ids := make(map[string]bool, len(s.marks))
	for i := range s.marks {
		ids[s.marks[i].ID] = true
	}
	return ids
}

func (s *Screen) markOf(id string) int {
	return slices.IndexFunc(s.marks, func(p api.Perk) bool { return p.ID == id })
}

// mark marks the perk under the cursor, or takes its mark away.
func (s *Screen) mark() {
	perk, ok := s.current()
	if !ok {
		return
	}
	at := s.markOf(perk.ID)
	if at >= 0 {
		s.marks = slices.Delete(s.marks, at, at+1)
	} else {
		s.marks = append(s.marks, perk)
	}
	s.rows[s.table.Cursor()].Marked = at < 0
	s.table.SetRows(s.rows)
}

// whyNoMark is why the perk under the cursor cannot be marked.
func (s *Screen) whyNoMark() string {
	perk, ok := s.current()
	if !ok {
		return noPerk
	}
	if len(s.marks) >= maxMarks && s.markOf(perk.ID) < 0 {
		return fmt.Sprintf("%d perks are marked, which is the most. Redeem them first, or take marks away.", maxMarks)
	}
	return ""
}

func (s *Screen) clearMarks() {
	s.marks = nil
	for i := range s.rows {
		s.rows[i].Marked = false
	}
	s.table.SetRows(s.rows)
}

// whyNotRedeem spares a person a form that the service would refuse. The last word is the service's, whose clock decides.
func (s *Screen) whyNotRedeem() string {
	if len(s.marks) > 0 {
		return ""
	}
	perk, ok := s.current()
	now := s.shell.Now()
	switch {
	case !ok:
		return noPerk
	case perk.ValidTo != nil && !perk.ValidTo.After(now):
		return "It " + components.Until(*perk.ValidTo, now) + "."
	case perk.ValidFrom != nil && perk.ValidFrom.After(now):
		return "It starts " + components.In(*perk.ValidFrom, now) + "."
	}
	return ""
}

// redeem opens the redeeming of what is marked; of the perk under the cursor if nothing is.
func (s *Screen) redeem() tea.Cmd {
	s.marksOpened = len(s.marks) > 0
	if s.marksOpened {
		return s.shell.Open(screen.ToRedeem{Perks: slices.Clone(s.marks)})
	}
	perk, ok := s.current()
	if !ok {
		return nil
	}
	return s.shell.Open(screen.ToRedeem{Perks: []api.Perk{perk}})
}

// revealed says that the marks are still there: the same perks are often redeemed for the next user, but nobody should do so
// without knowing it.
func (s *Screen) revealed() tea.Cmd {
	if !s.marksOpened || len(s.marks) == 0 {
		return nil
	}
	s.marksOpened = false
	verb := "are"
	if len(s.marks) == 1 {
		verb = "is"
	}
	return screen.Tell(screen.Note, "%s %s still marked. %s takes all marks away.", components.Plural(int64(len(s.marks)), "perk", "perks"), verb, s.keyOf(actions.ClearMarks))
}
