package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Overlay is one of them.
type Overlay interface {
	// Title and Linear say in plain lines what View shows.
	Title() string
	Linear() string
	// View draws the inside of the box, in at most that room.
	View(look *widget.Theme, width, height int) string
	// Hints is what the footer says, the most useful first.
	Hints() []Hint
	// Offers is what can be done, all of it from here.
	Offers() []actions.Offer
	// Do carries out an action. closed says that the overlay has had its answer.
	Do(id actions.ID) (cmd tea.Cmd, closed bool)
	// Form returns the form whose text is being typed; nil if none is.
	Form() *widget.Form
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

func (textless) Form() *widget.Form { return nil }
func (textless) Edited()            {}
