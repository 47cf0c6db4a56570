package tui_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

// TestHighContrastCoversEveryCell looks for cells that keep a colour of the terminal, which may be white on white.
func TestHighContrastCoversEveryCell(t *testing.T) {
	for _, colours := range []termenv.Profile{termenv.ANSI, termenv.ANSI256, termenv.TrueColor} {
		t.Run(colours.Name(), func(t *testing.T) {
			t.Parallel()
			o := officeOf(t, false, api.AllScopes())
			inColour := func(o *tui.Options) { o.Theme, o.Colours = theme.HighContrast, colours }
			for _, on := range append(screens, []struct{ name, keys string }{
				{"perks", "?"}, {"perks", "ctrl+k"}, {"perks", `/ "tea"`}, {"perks", "space"}, {"perks", "C"},
				{"perks", "L"}, {"perks", "T T T"}, {"perk", "r"}, {"perk", `r "ali"`}, {"perk", `r "alice" ctrl+s`},
				{"perk", "+"}, {"perk", "h"}, {"redemptions", "a"}, {"redemptions", "x"}, {"property", "e"},
				{"property", `e "x" ctrl+s`}, {"property", "ctrl+x"}, {"property", "h"}, {"properties", "N"},
			}...) {
				d := o.show(t, screen.Profile{}, on.name, on.keys, inColour)
				for _, size := range [][2]int{{150, 40}, {80, 24}, {30, 8}} {
					d.Resize(size[0], size[1])
					d.Settle()
					covered(t, d, size[0])
				}
				d.Send(screen.Toast{Kind: screen.Failure, Text: strings.Repeat("It was not saved. ", 12)})
				covered(t, d, 30)
			}
		})
	}
}

// covered checks that each line has that many cells, and each cell both colours.
func covered(t *testing.T, d *tuitest.Driver, width int) {
	t.Helper()
	for y, line := range strings.Split(d.App.View(), "\n") {
		if gap := uncovered(line); gap >= 0 || display.Width(line) != width {
			t.Errorf("line %d, cell %d of %d keeps a colour of the terminal: %q\n%s", y, gap, display.Width(line), line,
				d.Screen())
			return
		}
	}
}

// uncovered returns the first cell of a line that lacks a colour or a background of its own; -1 if there is none.
func uncovered(line string) int {
	text, behind, at := false, false, 0
	for len(line) > 0 {
		part, width := display.FirstCharacter(line)
		line = line[len(part):]
		if !strings.HasPrefix(part, "\x1b[") {
			if (!text || !behind) && width > 0 {
				return at
			}
			at += width
			continue
		}
		codes := strings.Split(strings.TrimSuffix(part[2:], "m"), ";")
		for i := 0; i < len(codes); i++ {
			code, _ := strconv.Atoi(codes[i]) // "" is 0
			switch {
			case code == 0:
				text, behind = false, false
			case code == 38, code == 48:
				text, behind = text || code == 38, behind || code == 48
				i += map[string]int{"5": 2, "2": 4}[codes[i+1]]
			case code == 39:
				text = false
			case code == 49:
				behind = false
			case code/10 == 3, code/10 == 9:
				text = true
			case code/10 == 4, code/10 == 10:
				behind = true
			}
		}
	}
	return -1
}

// TestWhatColoursSayOtherThingsSayToo compares, without colours and with sixteen, screens that differ in one meaning.
func TestWhatColoursSayOtherThingsSayToo(t *testing.T) {
	o := officeOf(t, false, api.AllScopes())
	for name, few := range map[string]func(*tui.Options){
		"none":    func(o *tui.Options) { o.Theme, o.Colours = theme.None, termenv.Ascii },
		"sixteen": func(o *tui.Options) { o.Theme, o.Colours = theme.Dark, termenv.ANSI },
	} {
		t.Run(name, func(t *testing.T) {
			inside := func(d *tuitest.Driver) string { // without the footer, whose keys differ
				d.Gone("Loading")
				return d.Screen()[:strings.LastIndex(d.Screen(), "\n")]
			}
			for meaning, pair := range map[string]struct{ name, keys, other string }{
				"the selected row":           {"perks", "", "j"},
				"a marked row":               {"perks", "", "space k"},
				"the list with the keyboard": {"redeemed", "", "tab"},
				"the focused field":          {"property", "e settle", "tab"},
				"the chosen command":         {"perks", "?", "down"},
				"the order":                  {"perks", "", "S settle"},
			} {
				d := o.show(t, screen.Profile{}, pair.name, pair.keys, few)
				d.Resize(140, 40)
				d.Settle()
				before := inside(d)
				if d.Play(pair.other); inside(d) == before {
					t.Errorf("%s looks the same:\n%s", meaning, before)
				}
			}
			for header, profile := range map[string]screen.Profile{"live": {}, "sandbox": {Sandbox: true},
				"read-only": {ReadOnly: true}, "protected": {Protected: true}} {
				o.show(t, profile, "perks", "", few).See(header)
			}
			d := o.show(t, screen.Profile{}, "redemptions", "", few)
			d.See("[4 Redemptions]", "◐ pending", "● approved")
			d.Play(`x enter => LIVE | ! Enter a reason.`)
			for kind, text := range map[screen.Kind]string{screen.Failure: "Error: It broke.",
				screen.Warning: "Warning: It broke.", screen.Done: "Done: It broke."} {
				d.Send(screen.Toast{Kind: kind, Text: "It broke."})
				d.See(text)
			}
		})
	}
}
