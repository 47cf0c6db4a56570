// Package perk is everything about one perk.
//
// It knows no other screen.
package perk

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int

	id     string
	known  *api.Perk // as a list has shown it
	user   string    // for whom it is looked at; "" for nobody
	read   *screen.Loader[api.Perk]
	reads  int // how often it has ended, or was forgotten
	image  drawing
	scroll widget.Scroll
	drawn  facts
}

// New makes the screen. What the route knows of the perk is shown until it has been read.
func New(shell *screen.Shell, route screen.ToPerk) *Screen {
	return &Screen{shell: shell, id: route.ID, known: route.Known, user: route.UserID, read: screen.NewLoader[api.Perk](shell)}
}

// perk returns what is known of the perk; nil if nothing is.
func (s *Screen) perk() *api.Perk {
	if s.read.Has {
		return &s.read.Value
	}
	return s.known
}

// Title is the perk's own title, or its id until that is known.
func (s *Screen) Title() string {
	if perk := s.perk(); perk != nil {
		return "Perk " + display.Line(perk.Title)
	}
	return "Perk " + display.Line(s.id)
}

// Init reads the perk, even if it is known: a list may be old.
func (s *Screen) Init() tea.Cmd { return s.load() }

func (s *Screen) load() tea.Cmd {
	id := s.id
	return s.read.Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) })
}

// Update takes what was read or fetched, and the wheel of the mouse.
func (s *Screen) Update(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case screen.Reconnected:
		if msg.Other {
			s.known = nil
			s.read.Reset()
			s.reads++
			s.image.takeAway()
		}
		return s.load()
	case screen.Revealed:
		return s.load()
	case fetched:
		return s.image.take(msg)
	case tea.MouseMsg:
		s.turnWheel(msg)
	default:
		cmd, changed := s.read.Take(msg)
		if changed {
			s.hasRead()
		}
		return cmd
	}
	return nil
}

func (s *Screen) hasRead() {
	s.reads++
	if s.image.address != s.address() {
		s.image.takeAway() // it is not this perk's any more, and nobody has asked for the other one
	}
}

func (s *Screen) turnWheel(msg tea.MouseMsg) {
	s.lay()
	switch msg.Button {
	case tea.MouseButtonWheelUp:
		s.scroll.Do(actions.Up)
	case tea.MouseButtonWheelDown:
		s.scroll.Do(actions.Down)
	}
}

// isGone tells whether the service itself says that there is no such perk.
func (s *Screen) isGone() bool { return client.Missing(s.read.Err) }

// Resize sets the room.
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }

// Form returns nil: nothing is typed here.
func (s *Screen) Form() *widget.Form { return nil }

// Unsaved returns "": nothing can be lost here.
func (s *Screen) Unsaved() string { return "" }
