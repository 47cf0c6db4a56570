package widget

// palette is the colours of a theme, as numbers of the 256 or as #RRGGBB; text "" is the terminal's own.
type palette struct {
	text, muted, heading, accent, border string
	selected, onSelected                 string
	good, warn, bad, onBadge             string
	behind                               string // "" is the terminal's own
}

// Each colour stands at 4.5 to 1 or more against the usual background of its theme (WCAG 2.2, criterion 1.4.3); borders
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
