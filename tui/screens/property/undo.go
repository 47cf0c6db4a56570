package property

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
)

// undo is how the last saved edit is taken back.
type undo struct {
	after version // what saving has made
	back  api.PropertyPatch
}

// undoOf keeps what an edit has changed. Where it is not known which version the save has made, the next one that is read
// is held against what the save must have made.
func undoOf(e *edit, done saved) *undo {
	after := e.base.with(e.patch)
	u := &undo{version{Property: after}, api.PropertyChanges(after, e.base.Property)}
	if done.known && api.PropertyChanges(after, done.now.Property).IsEmpty() {
		u.after = done.now
	}
	return u
}

// whyNoUndo says why nothing can be undone, "" if something can.
func (s *Screen) whyNoUndo() string {
	switch {
	case s.undo == nil:
		return "Nothing was saved here yet."
	case s.undo.back.IsHeldBy(s.record.Value.Property):
		return fmt.Sprintf("The property already has its old values: %s.", words(s.undo.back.Fields()))
	}
	return ""
}

// takeBack shows what undoing does. What somebody else has done since is merged into it first.
func (s *Screen) takeBack() tea.Cmd {
	u := s.undo
	s.edit = &edit{base: u.after, patch: u.back, undoing: true, profile: s.shell.Account.Profile, compared: compared{}}
	if u.after.ETag != "" && u.after.same(s.record.Value) {
		s.edit.base = s.record.Value
		s.show(comparing)
		return nil
	}
	return s.meet(s.record.Value, thenCompare)
}
