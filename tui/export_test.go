package tui

import (
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
)

// Push lets tests of the shell push their own screens.
func (a *App) Push(s screen.Screen) tea.Cmd { return tea.Batch(a.push(s), a.Deliver()) }
