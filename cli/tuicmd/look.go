package tuicmd

import (
	"github.com/muesli/termenv"

	"example.com/perks/tui/widget"
)

// look decides about theme and colours: the flag comes first, then --no-color, then the configuration, then NO_COLOR and its
// kind. Only where none of them says anything, the terminal is asked whether it is light or dark.
func (o *options) look(chosen widget.ThemeName) (widget.ThemeName, termenv.Profile) {
	s := o.session
	terminal := termenv.NewOutput(s.Streams.Out)
	open := chosen == "" || chosen == widget.AutoTheme && o.theme == ""
	switch {
	case o.theme == "" && s.Flags.NoColour, open && !s.Streams.ColourOut, chosen == widget.NoTheme:
		return widget.NoTheme, termenv.Ascii
	case open || chosen == widget.AutoTheme:
		chosen = widget.LightTheme
		if o.isDark() {
			chosen = widget.DarkTheme
		}
	}
	return chosen, terminal.ColorProfile()
}
