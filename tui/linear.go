package tui

import (
	"slices"
	"time"

	"example.com/perks/tui/screen"
)

// What follows is for those that say what the screen shows instead of drawing it.

// Lost tells since when the service cannot be reached, if it cannot.
func (a *App) Lost() (since time.Time, lost bool) { return a.link.lost, a.link.isLost() }

// Unsaved says what would be lost if the terminal UI ended now, a sentence for each.
func (a *App) Unsaved() []string { return unsaved(a.screens) }

func unsaved(screens []screen.Screen) []string {
	var lost []string
	for _, s := range screens {
		if text := s.Unsaved(); text != "" && !slices.Contains(lost, text) {
			lost = append(lost, text)
		}
	}
	return lost
}

// Crashed makes an error of what a panic in the model or a command has left, and keeps its report as Run does.
func Crashed(reason any, keep func(report string) (place string, err error)) error {
	return reportCrash(newCrash(reason), keep)
}
