// Package overlay is what lies over a screen for a moment: a question, a choice, a line to fill in, the help. Only the
// topmost one has the keyboard.
//
// It knows no screens; what is to be done with an answer, those who ask have said beforehand.
package overlay

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/theme"
)

// Overlay is one of them.
type Overlay interface {
	// Title and Linear say in plain lines what View shows.
	Title() string
	Linear() string
	// View draws the inside of the box, in at most that room.
	View(look *theme.Theme, width, height int) string
	// Hints is what the footer says, the most useful first.
	Hints() []Hint
	// Offers is what can be done, all of it from here.
	Offers() []actions.Offer
	// Do carries out an action. closed says that the overlay has had its answer.
	Do(id actions.ID) (cmd tea.Cmd, closed bool)
	// Form returns the form whose text is being typed; nil if none is.
	Form() *components.Form
	// Edited tells that the text has changed.
	Edited()
}

// Hint is what an action does here, in a word or two.
type Hint struct {
	ID   actions.ID
	Text string
}

// textless is an Overlay's part without a form.
type textless struct{}

func (textless) Form() *components.Form { return nil }
func (textless) Edited()                {}
