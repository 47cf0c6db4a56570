package screen

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/theme"
)

// Shell is what every screen is given. The application changes Account and Theme in its Update; screens only read them, and
// keep no copies.
type Shell struct {
	Theme    *theme.Theme
	Keys     *actions.Registry
	Account  Account // its Client is nil before a login
	Accounts Accounts
	Memory   Memory
	Desktop  Desktop

	Now   func() time.Time
	After func(d time.Duration, msg tea.Msg) tea.Cmd // sends the message once the time has passed
	NewID func() string                              // a new idempotency key
}

// Zone is the time zone in which times are shown.
func (s *Shell) Zone() *time.Location { return s.Now().Location() }
