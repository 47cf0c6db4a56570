// Package login is the screen to log in on, and to switch the profile.
//
// It knows no other screen.
package login

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/components"
	"example.com/perks/tui/screen"
)

// Screen is the screen.
type Screen struct {
	shell         *screen.Shell
	width, height int
}

// New makes the screen.
func New(shell *screen.Shell, why string) *Screen { return &Screen{shell: shell} }

func (s *Screen) Title() string            { return "login" }
func (s *Screen) Init() tea.Cmd            { return nil }
func (s *Screen) Update(tea.Msg) tea.Cmd   { return nil }
func (s *Screen) Do(actions.ID) tea.Cmd    { return nil }
func (s *Screen) Offers() []actions.Offer  { return nil }
func (s *Screen) Resize(width, height int) { s.width, s.height = width, height }
func (s *Screen) View() string             { return "" }
func (s *Screen) Form() *components.Form   { return nil }
func (s *Screen) Unsaved() string          { return "" }
func (s *Screen) Linear() string           { return "" }
