package widget_test

import (
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

const (
	family = "👨‍👩‍👧‍👦" // four people joined to one character
	japan  = "🇯🇵"
)

var (
	plain = theme.New(theme.None, termenv.Ascii) // every mark must still be visible
	dark  = theme.New(theme.Dark, termenv.TrueColor)
)

// golden compares a view at 80x24 to testdata/golden/NAME.plain.txt without colours, and in dark ones to NAME.dark.txt.
func golden(t *testing.T, name string, view func(look *theme.Theme, width, height int) string) {
	t.Helper()
	tuitest.Compare(t, name+".plain", ansi.Strip(view(plain, 80, 24)))
	tuitest.Compare(t, name+".dark", view(dark, 80, 24))
}

// everySize draws a view at sizes from 1x1 to 200x60, at every one of the small ones, and checks that it fits.
func everySize(t *testing.T, view func(look *theme.Theme, width, height int) string) {
	t.Helper()
	for width := 1; width <= 200; width += 1 + width/30 {
		for height := 1; height <= 60; height += 1 + height/8 {
			tuitest.CheckFit(t, view(plain, width, height), width, height)
		}
	}
	view(plain, 0, 0)
	view(plain, -1, -1)
}
