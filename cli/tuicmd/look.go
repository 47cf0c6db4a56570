package tuicmd

import (
	"github.com/muesli/termenv"

	"example.com/perks/tui/theme"
)

// look decides about theme and colours: the flag comes first, then --no-color, then the configuration, then NO_COLOR and its
// kind. Only where none of them says anything, the terminal is asked whether it is light or dark.
func (o *options) look(chosen theme.Name) (theme.Name, termenv.Profile) {
	s := o.session
	terminal := termenv.NewOutput(s.Streams.Out)
	open := chosen == "" || chosen == theme.Auto && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == theme.None:
		return theme.None, termenv.Ascii
	case open || chosen == theme.Auto:
		chosen = theme.Light
		if o.isDark() {
			chosen = theme.Dark
		}
	}
	return chosen, terminal.ColorProfile()
}
