// Package screen is what a screen is and what it is given to work with: the shell around it, routes to other screens, loaders
// and senders, which do all waiting outside of Update and View, and the dialogs that open over a screen.
//
// It knows no single screen.
package screen

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Screen is one screen. It sees no keys: the shell turns them into actions, or into text of the form that it shows. All
// methods are called by one goroutine, and none of them waits for anything.
type Screen interface {
	// Title names the screen in the header: "Perks", "Perk Coffee for two". It may hold the service's text.
	Title() string
	// Init begins loading. It is called once, after the first Resize.
	Init() tea.Cmd
	// Update takes a message: the end of a load, Edited, Reconnected, and mouse events that fall on the screen, counted
	// from its corner. Every message goes to all open screens.
	Update(msg tea.Msg) tea.Cmd
	// Do carries out an action that Offers has as enabled.
	Do(id actions.ID) tea.Cmd
	// Offers is the actions that the screen knows now, the most useful first; those of moving about come last.
	Offers() []actions.Offer
	// Resize tells how much room the screen has. Both can be as little as 1.
	Resize(width, height int)
	// View draws the screen. The shell crops what does not fit, but a screen should fit by itself.
	View() string
	// Form returns the form whose text is being typed, nil if none is.
	Form() *widget.Form
	// Unsaved says, as a sentence, what would be lost if the screen were closed now; "" if nothing.
	Unsaved() string
	// Linear says all that View shows as plain lines without drawing, for people who listen to it.
	Linear() string
}

// Chooser is a Screen with a list, of which the linear mode can choose a row by its number, from 1.
type Chooser interface {
	Choose(row int) bool
}

// Keeper is a Screen with unsaved text of which a draft is kept.
type Keeper interface {
	// Keep returns the command that keeps what was typed so far; nil if nothing was. It runs before the program ends or is
	// suspended, and when the screen is closed.
	Keep() tea.Cmd
}

// Reopener is a Screen that can be opened again after it was closed. Until then it still gets messages.
type Reopener interface {
	Reopens() bool
}

// Edited tells a screen that a person has changed a field of its form.
type Edited struct{ Field string }

// FieldLeft tells a screen that the person has left a field of its form, for another field or for something else.
type FieldLeft struct{}

// Reconnected tells every screen that there is a client again, or another one: after a login, and when the service can be
// reached again. Screens load again what they show; they keep what was typed. Other says that it is another service,
// client or sandbox than before, so that nothing shown still holds.
type Reconnected struct{ Other bool }

// Revealed tells a screen that the one above it was closed.
type Revealed struct{}
