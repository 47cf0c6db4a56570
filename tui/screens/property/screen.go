// Package property is one property: read, edited, deleted.
//
// It knows no other screen.
package property

import (
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id         int64 // 0 until one is chosen
	remembered bool
	record     *screen.Loader[version]
	notes      []string // what has to be said above the property
	scroll     scroll

	stage   stage
	formTop int   // the line on which the form begins
	reveal  bool  // the conflict that is being decided has to come into sight
	edit    *edit // nil while the property is only read

	seen     bool // the comparison was seen to its end
	unfolded bool // all lines of the comparison are shown

	undo   *undo
	drafts *drafts
	sender *screen.Sender[saved]
	looker *screen.Loader[version]

	remover *screen.Sender[removed]
	doomed  bool // a deletion was sent, and nobody knows how it ended
	deleted bool
}

// stage is what the screen shows of a property.
type stage int

const (
	reading   stage = iota // the property
	filling                // the form
	comparing              // what saving would change
	merging                // what somebody else has changed
)

// New makes the screen.
func New(shell *screen.Shell, route screen.ToProperty) *Screen {
	s := &Screen{shell: shell, id: max(0, route.ID), drafts: draftsOf(shell, route.ID)}
	s.renew()
	return s
}

// renew gives up everything that was asked for.
func (s *Screen) renew() {
	s.record = screen.NewLoader[version](s.shell)
	s.looker = screen.NewLoader[version](s.shell)
	s.sender = screen.NewSender[saved](s.shell)
	s.remover = screen.NewSender[removed](s.shell)
}

// Title names the property.
func (s *Screen) Title() string {
	switch {
	case s.id == 0:
		return "Property"
	case s.edit != nil && s.edit.undoing:
		return fmt.Sprintf("Undo in property %d", s.id)
	case s.edit != nil:
		return fmt.Sprintf("Edit property %d", s.id)
	case s.record.Has:
		return fmt.Sprintf("Property %d: %s", s.id, display.Line(s.record.Value.Property.Title))
	}
	return fmt.Sprintf("Property %d", s.id)
}

// Init begins to read the property, or asks which.
func (s *Screen) Init() tea.Cmd {
	switch {
	case s.inSandbox():
		return nil
	case s.id == 0:
		return s.ask()
	}
	return s.begin()
}

// begin reads the property, and what was kept of an edit.
func (s *Screen) begin() tea.Cmd { return tea.Batch(s.record.Load(read(s.id)), s.drafts.find()) }

// inSandbox keeps a change that was meant for the sandbox away from live data: the sandbox has no properties.
func (s *Screen) inSandbox() bool { return s.shell.Account.Profile.Sandbox }

// Resize sets the room. The conflict that is being decided stays in sight.
func (s *Screen) Resize(width, height int) {
	s.width, s.height = max(1, width), max(1, height)
	if s.stage == merging {
		s.scroll.top()
		s.reveal = true
	}
}

// Form returns the form while it is being filled in.
func (s *Screen) Form() *widget.Form {
	if s.stage == filling {
		return s.edit.form
	}
	return nil
}

// Close gives up what is being read.
func (s *Screen) Close() {
	s.record.Cancel()
	s.looker.Cancel()
}

// Unsaved says what would be lost.
func (s *Screen) Unsaved() string {
	switch {
	case s.sender.Busy():
		return fmt.Sprintf("Property %d is being saved; you would not see whether that works.", s.id)
	case s.remover.Busy():
		return fmt.Sprintf("Property %d is being deleted; you would not see whether that works.", s.id)
	case s.edit == nil:
		return ""
	case s.edit.lost:
		return fmt.Sprintf("It is not known yet whether the changes to property %d were saved.", s.id)
	case s.edit.undoing:
		return ""
	}
	if typed := typedNames(s.edit.typed()); len(typed) > 0 {
		return fmt.Sprintf("The changes to property %d are not saved: %s.", s.id, words(typed))
	}
	return ""
}

func (s *Screen) isBusy() bool { return s.sender.Busy() || s.remover.Busy() }

// show goes to a stage, from its top.
func (s *Screen) show(to stage) {
	s.stage = to
	s.scroll, s.seen, s.unfolded = scroll{}, false, false
	if s.edit != nil {
		s.edit.drawn = drawn{}
	}
}

// fill opens the form.
func (s *Screen) fill(e *edit) {
	s.edit, s.notes = e, nil
	s.show(filling)
}

func (s *Screen) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// Keep keeps what was typed.
func (s *Screen) Keep() tea.Cmd {
	if s.drafts.dirty {
		return s.keepDraft()
	}
	return s.drafts.last
}

// keepDraft writes the text of the form down, or drops what was written if nothing is changed any more.
func (s *Screen) keepDraft() tea.Cmd {
	if s.edit == nil || s.edit.form == nil {
		return nil
	}
	return s.drafts.keep(s.edit.profile, s.edit.draft())
}
