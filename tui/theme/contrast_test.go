package theme

import (
	"math"
	"strconv"
	"testing"

	"github.com/muesli/termenv"
)

// Common backgrounds of terminals, which a theme does not know.
var backgrounds = map[Name][]string{
	Dark:         {"#000000", "#1e1e1e"},
	Light:        {"#ffffff", "#fafafa"},
	HighContrast: {"#000000"},
}

func TestContrast(t *testing.T) {
	for name, behind := range backgrounds {
		p := palettes[name]
		pairs := map[string][2]string{
			"the selected row":  {p.onSelected, p.selected},
			"a field":           {p.onInput, p.input},
			"the focused field": {p.onInput, p.editing},
			"the live badge":    {p.onBadge, p.warn},
			"the sandbox badge": {p.onBadge, p.good},
			"the offline badge": {p.onBadge, p.bad},
		}
		for role, colour := range map[string]string{"good": p.good, "warn": p.warn, "accent": p.accent} {
			for _, row := range []string{p.selected, p.input} {
				if got := contrast(t, termenv.TrueColor, colour, row); got < 4.5 && name != HighContrast {
					t.Errorf("%s, %s in a row of %s has a contrast of %.2f to 1", name, role, row, got)
				}
			}
		}
		for _, background := range behind {
			for role, colour := range map[string]string{"text": p.text, "muted": p.muted, "heading": p.heading,
				"accent": p.accent, "good": p.good, "warn": p.warn, "bad": p.bad, "match": p.match} {
				if colour != "" { // the terminal's own
					pairs[role+" on "+background] = [2]string{colour, background}
				}
			}
		}
		for what, pair := range pairs {
			for _, profile := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256} {
				if got := contrast(t, profile, pair[0], pair[1]); got < 4.5 {
					t.Errorf("%s, %s (%s on %s) has a contrast of %.2f to 1 in profile %d", name, what, pair[0],
						pair[1], got, profile)
				}
			}
		}
	}
	if p := palettes[HighContrast]; p.behind != "#000000" {
		t.Errorf("white text needs a black background on a white terminal; got %q", p.behind)
	}
}

// contrast returns the WCAG 2.2 contrast between a colour, as a terminal with the profile shows it, and its background.
func contrast(t *testing.T, profile termenv.Profile, colour, behind string) float64 {
	t.Helper()
	a, b := luminance(t, profile, colour), luminance(t, profile, behind)
	return (math.Max(a, b) + 0.05) / (math.Min(a, b) + 0.05)
}

func luminance(t *testing.T, profile termenv.Profile, colour string) float64 {
	t.Helper()
	shown := termenv.ConvertToRGB(profile.Color(colour))
	if profile == termenv.TrueColor {
		n, err := strconv.ParseUint(colour[1:], 16, 32)
		if err != nil {
			t.Fatal(err)
		}
		shown.R, shown.G, shown.B = float64(n>>16)/255, float64(n>>8&255)/255, float64(n&255)/255
	}
	linear := func(c float64) float64 {
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(shown.R) + 0.7152*linear(shown.G) + 0.0722*linear(shown.B)
}
