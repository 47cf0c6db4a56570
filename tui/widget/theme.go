package widget

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Theme is a set of styles, each for a single line of text.
type Theme struct {
	Name    ThemeName
	Profile termenv.Profile // how many colours there are, for what is drawn without a style

	Text     lipgloss.Style // what is read
	Strong   lipgloss.Style // what matters most of it
	Muted    lipgloss.Style // what matters least
	Heading  lipgloss.Style // names of columns, fields and parts
	Accent   lipgloss.Style // where the keyboard is
	Selected lipgloss.Style // the row under the cursor, which has a mark too
	Cursor   lipgloss.Style // the character at which text is typed; without colours draw a mark instead
	Key      lipgloss.Style // keys in hints
	Good     lipgloss.Style
	Warn     lipgloss.Style
	Bad      lipgloss.Style
	Live     lipgloss.Style // the badge of the live service
	Sandbox  lipgloss.Style // the badge of the sandbox
	Border   lipgloss.Style
}

// ThemeName names a theme as the configuration and --theme do.
type ThemeName string

// The themes. Auto is light or dark as the terminal is; None has no colours, as NO_COLOR asks.
const (
	AutoTheme         ThemeName = "auto"
	LightTheme        ThemeName = "light"
	DarkTheme         ThemeName = "dark"
	HighContrastTheme ThemeName = "high-contrast"
	NoTheme           ThemeName = "none"
)

func ThemeNames() []ThemeName {
	return []ThemeName{AutoTheme, LightTheme, DarkTheme, HighContrastTheme, NoTheme}
}

// ParseTheme reads the name of a theme; "" is AutoTheme.
func ParseTheme(text string) (ThemeName, error) {
	if text == "" {
		return AutoTheme, nil
	}
	var known []string
	for _, name := range ThemeNames() {
		if ThemeName(text) == name {
			return name, nil
		}
		known = append(known, string(name))
	}
	return "", fmt.Errorf("there is no theme %q; the themes are %s", text, strings.Join(known, ", "))
}

// NewTheme makes a theme for a terminal. AutoTheme should be decided by then; it is taken for dark.
func NewTheme(name ThemeName, profile termenv.Profile) *Theme {
	if name == NoTheme {
		profile = termenv.Ascii
	}
	if name == AutoTheme {
		name = DarkTheme
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	r.SetHasDarkBackground(name != LightTheme)
	p := palettes[name]
	plain := func() lipgloss.Style { return r.NewStyle() }
	in := func(colour string) lipgloss.Style {
		style := plain()
		if colour != "" {
			style = style.Foreground(lipgloss.Color(colour))
		}
		if p.behind != "" {
			style = style.Background(lipgloss.Color(p.behind))
		}
		return style
	}
	badge := func(colour string) lipgloss.Style {
		return plain().Bold(true).Foreground(lipgloss.Color(p.onBadge)).Background(lipgloss.Color(colour))
	}
	return &Theme{
		Name:     name,
		Profile:  profile,
		Text:     in(p.text),
		Strong:   in(p.text).Bold(true),
		Muted:    in(p.muted),
		Heading:  in(p.heading).Bold(true),
		Accent:   in(p.accent).Bold(true),
		Selected: plain().Bold(true).Foreground(lipgloss.Color(p.onSelected)).Background(lipgloss.Color(p.selected)),
		Cursor:   in(p.text).Reverse(true),
		Key:      in(p.accent),
		Good:     in(p.good),
		Warn:     in(p.warn),
		Bad:      in(p.bad).Bold(true),
		Live:     badge(p.bad),
		Sandbox:  badge(p.good),
		Border:   in(p.border),
	}
}

// Colours tells whether there are any.
func (t *Theme) Colours() bool { return t.Profile != termenv.Ascii }

// palette is the colours of a theme, as #RRGGBB; "" is the colour of the terminal.
type palette struct {
	text, muted, heading, accent, border string
	selected, onSelected                 string
	good, warn, bad, onBadge             string
	behind                               string // "" is the terminal's own
}

// Each colour has a contrast of 4.5 to 1 or more against the usual background of its theme (WCAG 2.2, criterion 1.4.3); borders
// are exempt.
var palettes = map[ThemeName]palette{
	DarkTheme: {
		text: "", muted: "#9a9a9a", heading: "#8fb8ff", accent: "#7fd7ff", border: "#6c6c6c",
		selected: "#264f78", onSelected: "#ffffff",
		good: "#87d787", warn: "#ffd75f", bad: "#ff8787", onBadge: "#000000",
	},
	LightTheme: {
		text: "", muted: "#5f5f5f", heading: "#1f4e9e", accent: "#005f87", border: "#9e9e9e",
		selected: "#cfe3ff", onSelected: "#000000",
		good: "#00692b", warn: "#7a4b00", bad: "#b00020", onBadge: "#ffffff",
	},
	HighContrastTheme: {
		text: "#ffffff", muted: "#ffffff", heading: "#ffff00", accent: "#00ffff", border: "#ffffff",
		selected: "#ffff00", onSelected: "#000000",
		good: "#00ff00", warn: "#ffff00", bad: "#ff8080", onBadge: "#000000", behind: "#000000",
	},
	NoTheme: {},
}
