package screen

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/widget"
)

// Shell is what every screen is given. The application changes Account and Theme in its Update; screens only read them, and
// keep no copies.
type Shell struct {
	Theme    *widget.Theme
	Keys     *actions.Registry
	Account  Account // its Client is nil before a login
	Accounts Accounts
	Memory   Memory
	Desktop  Desktop

	Now   func() time.Time
	After func(d time.Duration, msg tea.Msg) tea.Cmd // sends the message once the time has passed
	NewID func() string                              // a new idempotency key

	Screens func() []Screen // those that are open or can be opened again, the topmost last

	posted  []tea.Msg
	covered bool // whoever posts now does not have the keyboard
}

// Post gives the application a message to take before anything else, such as Go, Confirm, Pick or Prompt: the next key then
// meets what this one has opened. A command would let keys that are typed quickly go to the screen below. It returns nil, for
// use where a command is wanted. Only Update and Do may call it.
func (s *Shell) Post(msg tea.Msg) tea.Cmd {
	if s.covered && isQuestion(msg) {
		return nil
	}
	s.posted = append(s.posted, msg)
	return nil
}

// Covered says whether the screen that takes a message next lies below something else. Its questions are dropped then: they
// would take the keys that are meant for what lies above, and a person has gone on from what they are about. It is the
// application's.
func (s *Shell) Covered(covered bool) { s.covered = covered }

func isQuestion(msg tea.Msg) bool {
	switch msg.(type) {
	case Confirm, Pick, Prompt:
		return true
	}
	return false
}

// Open posts a route to another screen.
func (s *Shell) Open(to Route) tea.Cmd { return s.Post(Go{To: to}) }

// Close posts that the screen on top is to be closed.
func (s *Shell) Close() tea.Cmd { return s.Post(Back{}) }

// Posted returns the next message that was posted. It is the application's.
func (s *Shell) Posted() (msg tea.Msg, ok bool) {
	if len(s.posted) == 0 {
		return nil, false
	}
	msg, s.posted = s.posted[0], s.posted[1:]
	return msg, true
}

// Zone is the time zone in which times are shown.
func (s *Shell) Zone() *time.Location { return s.Now().Location() }
