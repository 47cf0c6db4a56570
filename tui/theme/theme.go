// Package theme has the colours of the terminal UI: one style for each role, in every theme and for every terminal.
package theme

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Theme is a set of styles, each for a single line of text. Without colours, bold and reverse stay.
type Theme struct {
	Name    Name
	Profile termenv.Profile // how many colours there are, for what is drawn without a style
	Ground  string          // sets the colours of what has no style; "" if those are the terminal's own

	Text     lipgloss.Style // what is read
	Strong   lipgloss.Style // what matters most of it
	Muted    lipgloss.Style // what matters least: labels, hints
	Behind   lipgloss.Style // what is behind a dialog
	Heading  lipgloss.Style // names of columns and parts
	Accent   lipgloss.Style // where the keyboard is
	Selected lipgloss.Style // the row under the cursor, which has a mark too
	Resting  lipgloss.Style // the same of a list that does not have the keyboard
	Match    lipgloss.Style // the part of a text that was searched for
	Input    lipgloss.Style // a field to type in; underline it if it has no background
	Editing  lipgloss.Style // the one that has the keyboard
	Cursor   lipgloss.Style // where text is typed, or what it replaces; without colours draw a mark too
	Key      lipgloss.Style // keys in hints
	Good     lipgloss.Style
	Warn     lipgloss.Style
	Bad      lipgloss.Style
	Info     lipgloss.Style
	Live     lipgloss.Style // the badge of the live service
	Sandbox  lipgloss.Style // the badge of the sandbox
	Offline  lipgloss.Style // the badge of a service that cannot be reached
	Border   lipgloss.Style
	Focus    lipgloss.Style // the border of what has the keyboard
}

// Name names a theme as the configuration and --theme do.
type Name string

// The themes. Auto is light or dark as the terminal is; None has no colours, as NO_COLOR asks.
const (
	Auto         Name = "auto"
	Light        Name = "light"
	Dark         Name = "dark"
	HighContrast Name = "high-contrast"
	None         Name = "none"
)

func Names() []Name { return []Name{Auto, Light, Dark, HighContrast, None} }

// Parse reads the name of a theme; "" is Auto.
func Parse(text string) (Name, error) {
	if text == "" {
		return Auto, nil
	}
	if name := Name(text); slices.Contains(Names(), name) {
		return name, nil
	}
	var known []string
	for _, name := range Names() {
		known = append(known, string(name))
	}
	return "", fmt.Errorf("there is no theme %q; the themes are %s", text, strings.Join(known, ", "))
}

// New makes a theme for a terminal. Auto should be decided by then; it is taken for dark.
func New(name Name, profile termenv.Profile) *Theme {
	if name == None {
		profile = termenv.Ascii
	}
	if name == Auto {
		name = Dark
	}
	r, p, colourless := lipgloss.NewRenderer(io.Discard), palettes[name], profile == termenv.Ascii
	r.SetHasDarkBackground(name != Light)
	if r.SetColorProfile(profile); colourless {
		p = palette{}
		r.SetColorProfile(termenv.ANSI) // at Ascii it would drop bold and reverse
	}
	// the nearest of sixteen would be the background of most terminals
	if profile == termenv.ANSI && name != HighContrast {
		p.input, p.editing, p.onInput, p.selected, p.onSelected = "", "", "", "4", "15"
	}
	in := func(colour string) lipgloss.Style { return coloured(r.NewStyle(), colour, p.behind) }
	badge := func(colour string) lipgloss.Style {
		return coloured(r.NewStyle().Bold(true), p.onBadge, colour).Reverse(colourless)
	}
	ground := ""
	if p.behind != "" {
		ground, _, _ = strings.Cut(in(p.text).Render("x"), "x")
	}
	return &Theme{
		Name:     name,
		Profile:  profile,
		Ground:   ground,
		Text:     in(p.text),
		Strong:   in(p.text).Bold(true),
		Muted:    in(p.muted),
		Behind:   in(p.shade).Faint(colourless),
		Heading:  in(p.heading).Bold(true),
		Accent:   in(p.accent).Bold(true),
		Selected: coloured(r.NewStyle().Bold(true), p.onSelected, p.selected).Reverse(colourless),
		Resting:  coloured(r.NewStyle(), p.onInput, p.input),
		Match:    in(p.match).Bold(true),
		Input:    coloured(r.NewStyle(), p.onInput, p.input),
		Editing:  coloured(r.NewStyle(), p.onInput, p.editing),
		Cursor:   in(p.text).Reverse(true),
		Key:      in(p.accent),
		Good:     in(p.good),
		Warn:     in(p.warn),
		Bad:      in(p.bad).Bold(true),
		Info:     in(p.accent),
		Live:     badge(p.warn),
		Sandbox:  badge(p.good),
		Offline:  badge(p.bad),
		Border:   in(p.border),
		Focus:    in(p.accent),
	}
}

// coloured sets colours; "" is the terminal's own.
func coloured(style lipgloss.Style, text, behind string) lipgloss.Style {
	if text != "" {
		style = style.Foreground(lipgloss.Color(text))
	}
	if behind != "" {
		style = style.Background(lipgloss.Color(behind))
	}
	return style
}

// Colours tells whether there are any.
func (t *Theme) Colours() bool { return t.Profile != termenv.Ascii }

// Shades tells whether a background alone can say something. Of sixteen colours nobody knows what they look like.
func (t *Theme) Shades() bool { return t.Colours() && t.Profile != termenv.ANSI }

// Tone is what a word says about a record besides what it reads.
type Tone int

// The tones.
const (
	Plain   Tone = iota
	Quiet        // over, or of no concern
	Good         // it can be used, or went well
	Warning      // it ends soon, or waits for somebody
	Bad          // it cannot be used, or went wrong
	Info         // it has not begun
)

// In returns the style of a tone.
func (t *Theme) In(tone Tone) *lipgloss.Style {
	return [...]*lipgloss.Style{Plain: &t.Text, Quiet: &t.Muted, Good: &t.Good, Warning: &t.Warn, Bad: &t.Bad,
		Info: &t.Info}[tone]
}

// InRow returns the style of a tone in a row that has its own. Where the contrast would be low it is that of the row:
// with few colours, and for what is bad. The word and the mark say the same.
func (t *Theme) InRow(row *lipgloss.Style, tone Tone) *lipgloss.Style {
	isClear := tone == Good || tone == Warning || tone == Info
	if !isClear || t.Name == HighContrast || t.Profile != termenv.TrueColor {
		return row
	}
	style := row.Foreground(t.In(tone).GetForeground())
	return &style
}

// palette is the colours of a theme, as #RRGGBB; "" is the colour of the terminal.
type palette struct {
	text, muted, heading, accent, border string
	shade                                string
	selected, onSelected                 string
	input, editing, onInput              string
	good, warn, bad, match, onBadge      string
	behind                               string // "" is the terminal's own
}

// Each colour has a contrast of 4.5 to 1 or more against the usual background of its theme (WCAG 2.2, criterion 1.4.3);
// borders, and what is behind a dialog, are exempt.
var palettes = map[Name]palette{
	Dark: {
		text: "", muted: "#9a9a9a", heading: "#8fb8ff", accent: "#7fd7ff", border: "#6c6c6c", shade: "#626262",
		selected: "#264f78", onSelected: "#ffffff", input: "#303030", editing: "#444444", onInput: "#ffffff",
		good: "#87d787", warn: "#ffd75f", bad: "#ff8787", match: "#ffaf5f", onBadge: "#000000",
	},
	Light: {
		text: "", muted: "#5f5f5f", heading: "#1f4e9e", accent: "#005f87", border: "#9e9e9e", shade: "#9e9e9e",
		selected: "#cfe3ff", onSelected: "#000000", input: "#eeeeee", editing: "#dadada", onInput: "#000000",
		good: "#00692b", warn: "#7a4b00", bad: "#b00020", match: "#8a2be2", onBadge: "#ffffff",
	},
	HighContrast: {
		text: "#ffffff", muted: "#ffffff", heading: "#ffff00", accent: "#00ffff", border: "#ffffff", shade: "#a8a8a8",
		selected: "#ffff00", onSelected: "#000000", input: "#0000af", editing: "#0000ff", onInput: "#ffffff",
		good: "#00ff00", warn: "#ffff00", bad: "#ff8080", match: "#00ffff", onBadge: "#000000", behind: "#000000",
	},
}
