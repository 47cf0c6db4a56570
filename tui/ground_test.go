package tui_test

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/api/display"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

// TestHighContrastCoversEveryCell looks for cells that keep the colours of the terminal, which may be white on white.
func TestHighContrastCoversEveryCell(t *testing.T) {
	for _, colours := range []termenv.Profile{termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
		inColour := func(o *tui.Options) { o.Theme, o.Colours = theme.HighContrast, colours }
		d := tuitest.Start(t, serviceWithPerks(t), inColour)
		check := func(text string) {
			t.Helper()
			d.See(text)
			for _, size := range [][2]int{{150, 40}, {80, 24}, {30, 8}} {
				d.Resize(size[0], size[1])
				d.Settle()
				view := d.App.View()
				for y, line := range strings.Split(view, "\n") {
					if gap := uncovered(line); gap >= 0 || display.Width(line) != size[0] {
						t.Errorf("%s at %dx%d: line %d, cell %d of %d keeps the terminal's background:\n%q",
							text, size[0], size[1], y, gap, display.Width(line), ansi.Strip(line))
						return
					}
				}
			}
			d.Resize(150, 40)
		}
		d.Resize(150, 40)
		check("row 1 of")
		d.Press("?")
		check("Keys")
		d.Press("esc")
		d.Send(screen.Confirm{Title: "Delete property 42?", Text: "It goes offline now.", Yes: "delete it"})
		check("It goes offline now.")
		d.Press("n")
		d.Send(screen.Toast{Kind: screen.Done, Text: "Copied."})
		d.Open(screen.ToPerk{ID: "spa"})
		check("Perk A day at the spa")
		d.Open(screen.ToLogin{})
		check("Secret")
	}
}

// uncovered returns the first cell of a line without a background of its own; -1 if there is none.
func uncovered(line string) int {
	covered, at := false, 0
	for len(line) > 0 {
		text, width := display.FirstCharacter(line)
		line = line[len(text):]
		if !strings.HasPrefix(text, "\x1b[") {
			if !covered && width > 0 {
				return at
			}
			at += width
			continue
		}
		parts := strings.Split(strings.TrimSuffix(text[2:], "m"), ";")
		for i := 0; i < len(parts); i++ {
			switch code := parts[i]; {
			case code == "38" || code == "48":
				covered = covered || code == "48"
				i += map[string]int{"5": 2, "2": 4}[parts[i+1]]
			case code == "" || code == "0" || code == "49":
				covered = false
			case len(code) == 2 && code[0] == '4', len(code) == 3 && strings.HasPrefix(code, "10"):
				covered = true
			}
		}
	}
	return -1
}
