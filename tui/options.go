// Package tui is the terminal UI: the shell around the screens. It turns keys into actions, stacks screens, lays questions
// over them, and tells whether the service is there and whose session it is.
//
// It knows the service only through api/client, and configuration, keyring and files only through what it is given.
package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	_ "example.com/perks/tui/background" // before bubbletea, see there

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Options is what the terminal UI needs. Those without a comment are required.
type Options struct {
	Accounts screen.Accounts
	Memory   screen.Memory
	Desktop  screen.Desktop

	Profile string // the profile to begin with; empty is the one that flags and environment choose
	Theme   widget.ThemeName
	Colours termenv.Profile
	Keys    *actions.Registry // nil is the default keys
	Mouse   bool              // use the mouse from the start
	Start   screen.Route      // the first screen; nil is the list of perks

	// Notices are sentences that come from beside the screens, such as that a request waits. Nil has none.
	Notices <-chan string
	// Crash keeps what led to a fault in the program, and returns where. Nil keeps nothing.
	Crash func(report string) (place string, err error)

	Now   func() time.Time                           // nil is the clock
	After func(d time.Duration, msg tea.Msg) tea.Cmd // nil is the clock
	NewID func() string                              // nil makes UUIDs
}
