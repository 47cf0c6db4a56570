// Package background sets the background colour before bubbletea queries the terminal for it. Importing bubbletea is
// enough to trigger the query, and a terminal that does not respond would delay every command for seconds, even
// perksctl version.
//
// It must be initialised before bubbletea. Go initialises a package once its imports are initialised, in the order of
// import paths, so this one may import only lipgloss, and the module's path must sort before bubbletea's.
package background

import "github.com/charmbracelet/lipgloss"

func init() { lipgloss.SetHasDarkBackground(true) }
