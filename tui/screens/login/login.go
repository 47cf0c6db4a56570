// Package login is the screen to log in on, and to switch the profile. It is the first screen where nobody is logged in, and
// lies over another one where a session has ended.
//
// It knows no other screen, and not where profiles and secrets are kept.
package login

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	why           string // somebody has to log in; "" where nobody has to be told
	width, height int

	form     *widget.Form
	allowed  string // the address at which http is allowed; "" is none
	askedOf  string // the address that the question about http is about
	edited   bool   // a person has typed something
	rejected bool   // the service has just refused the secret

	profiles []screen.Profile

	number int                // of the last attempt
	giveUp context.CancelFunc // ends the attempt that is under way; nil if none is
	status status
}

// New makes the screen. Why says why it is shown, as a sentence; it may be "".
func New(shell *screen.Shell, why string) *Screen {
	s := &Screen{shell: shell, why: why}
	s.form = widget.NewForm(shell.Theme, s.fields()...)
	s.fill(shell.Account.Profile)
	return s
}

// Title names the screen.
func (s *Screen) Title() string { return "Log in" }

// Init reads the profiles.
func (s *Screen) Init() tea.Cmd { return s.read() }

// Update takes what was typed, and how reading, choosing and logging in have ended.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Edited:
		s.edited, s.status = true, status{}
		s.askAboutHTTP(false)
	case read:
		return s.know(msg)
	case chosen:
		return s.choose(msg)
	case named:
		s.name(msg)
	case connected:
		return s.connected(msg)
	case loggedIn:
		return s.loggedIn(msg)
	}
	return nil
}

// Do carries out an action.
func (s *Screen) Do(id actions.ID) tea.Cmd {
	switch id {
	case actions.Submit:
		return s.submit()
	case actions.Profile:
		return s.shell.Post(s.pick())
	case actions.Cancel:
		if s.busy() {
			s.stop()
			s.status = status{text: "Given up. Nothing is kept of this login."}
			return nil
		}
		return s.shell.Post(screen.Back{From: s})
	}
	return nil
}

// Offers is what can be done.
func (s *Screen) Offers() []actions.Offer {
	wait, alone, stay := "", "", ""
	if s.busy() {
		wait = "You are being logged in."
	}
	if len(s.profiles) == 0 {
		alone = "There is no profile yet; this login makes the first."
	}
	if s.shell.Account.Client == nil && !s.busy() {
		stay = "There is nothing to go back to; ctrl+c quits."
	}
	return append([]actions.Offer{
		actions.If(actions.Submit, wait).As("log in"), actions.If(actions.Profile, alone), actions.If(actions.Cancel, stay),
	}, actions.Able(actions.NextField, actions.PreviousField)...)
}

// Resize sets the room.
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Form returns the form, which is open all the time: what is typed while the service is asked must not become a command.
func (s *Screen) Form() *widget.Form { return s.form }

// Unsaved is always "": a login is typed again soon enough, and a secret is not worth keeping on a screen.
func (s *Screen) Unsaved() string { return "" }

// Close gives up what is under way.
func (s *Screen) Close() { s.stop() }
