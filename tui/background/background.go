// Package background keeps bubbletea from asking the terminal for its colours when a program starts: merely importing it
// does so, and a terminal that does not answer would hold up every command for seconds, perksctl version among them.
//
// It must be initialised before bubbletea is. Go initialises packages by the order of their paths as soon as their own
// imports are done, so that this one may import nothing but lipgloss, and the module's path must sort before bubbletea's.
package background

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
