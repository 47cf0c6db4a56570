package tui

import (
	"slices"
	"time"

	"example.com/perks/tui/screen"
)

// What follows is for those that say what the screen shows instead of drawing it.

// Lost tells since when the service cannot be reached, if it cannot.
func (a *App) Lost() (since time.Time, lost bool) { return a.link.lost, a.link.isLost() }

// End keeps the unsaved text of all screens, and says what is unsaved, a sentence for each: drafts is what is kept, lost what is
// not. Call it when the program ends, as Keep.
func (a *App) End() (drafts, lost []string) {
	for _, s := range a.all() {
		switch text := s.Unsaved(); {
		case text == "":
		case keeps(s):
			drafts = append(drafts, text)
		case !slices.Contains(lost, text):
			lost = append(lost, text)
		}
	}
	return drafts, lost
}

// keeps keeps the unsaved text of a screen, and tells whether that went well.
func keeps(s screen.Screen) bool {
	keeper, ok := s.(screen.Keeper)
	if !ok {
		return false
	}
	keep := keeper.Keep()
	if keep == nil {
		return false
	}
	failed, ok := keep().(interface{ Failed() bool })
	return !ok || !failed.Failed()
}

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
