package theme_test

import (
	"reflect"
	"regexp"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/tui/theme"
)

// styles returns every style of a theme by its name.
func styles(t *testing.T, look *theme.Theme) map[string]lipgloss.Style {
	t.Helper()
	found := map[string]lipgloss.Style{}
	fields := reflect.ValueOf(look).Elem()
	for i := range fields.NumField() {
		if style, ok := fields.Field(i).Interface().(lipgloss.Style); ok {
			found[fields.Type().Field(i).Name] = style
		}
	}
	if len(found) < 10 {
		t.Fatalf("only %d styles were found", len(found))
	}
	return found
}

func TestStylesKeepTheText(t *testing.T) {
	for _, name := range theme.Names() {
		for _, profile := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI, termenv.Ascii} {
			look := theme.New(name, profile)
			for role, style := range styles(t, look) {
				drawn := style.Render("two 漢字")
				if ansi.Strip(drawn) != "two 漢字" {
					t.Errorf("%s, %s: %q", name, role, drawn)
				}
				colourless := name == theme.None || profile == termenv.Ascii
				if colourless && regexp.MustCompile(`\x1b\[[0-9;]*[34][0-9]`).MatchString(drawn) {
					t.Errorf("%s, %s has no colours, but draws %q", name, role, drawn)
				}
				if look.Colours() == colourless {
					t.Errorf("%s at profile %d: Colours() = %t", name, profile, look.Colours())
				}
			}
		}
	}
}

// Styled golden files use only the dark theme, so what is bold or reversed there must also be in the light theme.
func TestLightAndDarkDifferInColoursOnly(t *testing.T) {
	light := styles(t, theme.New(theme.Light, termenv.TrueColor))
	for role, dark := range styles(t, theme.New(theme.Dark, termenv.TrueColor)) {
		none := lipgloss.NoColor{}
		inDark, inLight := dark.Foreground(none).Background(none), light[role].Foreground(none).Background(none)
		if got, want := inLight.Render("two 漢字"), inDark.Render("two 漢字"); got != want {
			t.Errorf("%s is %q in light, and %q in dark", role, got, want)
		}
	}
}

func TestWithoutColoursBoldAndReverseStay(t *testing.T) {
	all := styles(t, theme.New(theme.None, termenv.TrueColor))
	for role, want := range map[string]string{
		"Text": "x", "Muted": "x", "Strong": "\x1b[1mx\x1b[0m", "Bad": "\x1b[1mx\x1b[0m", "Cursor": "\x1b[7mx\x1b[0m",
		"Selected": "\x1b[1;7mx\x1b[0m", "Live": "\x1b[1;7mx\x1b[0m",
	} {
		if got := all[role].Render("x"); got != want {
			t.Errorf("%s is %q, want %q", role, got, want)
		}
	}
}

func TestSixteenColoursShowWhatIsSelected(t *testing.T) {
	for _, name := range []theme.Name{theme.Light, theme.Dark} {
		all := styles(t, theme.New(name, termenv.ANSI))
		for role, want := range map[string]string{"Selected": "\x1b[1;97;44mx\x1b[0m", "Input": "x", "Editing": "x"} {
			if got := all[role].Render("x"); got != want {
				t.Errorf("%s of %s is %q, want %q", role, name, got, want)
			}
		}
	}
}

func TestRolesLookDifferent(t *testing.T) {
	for _, name := range []theme.Name{theme.Light, theme.Dark, theme.HighContrast} {
		all := styles(t, theme.New(name, termenv.TrueColor))
		for _, role := range []string{"Strong", "Heading", "Accent", "Selected", "Cursor", "Match", "Input", "Focus",
			"Good", "Bad", "Live", "Sandbox"} {
			if drawn := all[role].Render("x"); drawn == all["Text"].Render("x") {
				t.Errorf("%s of %s looks like plain text: %q", role, name, drawn)
			}
		}
		if all["Live"].Render("x") == all["Sandbox"].Render("x") {
			t.Errorf("%s: the badges look alike", name)
		}
	}
}

func TestAutoIsDarkByDefault(t *testing.T) {
	auto, dark := theme.New(theme.Auto, termenv.TrueColor), theme.New(theme.Dark, termenv.TrueColor)
	if auto.Name != theme.Dark || auto.Heading.Render("x") != dark.Heading.Render("x") {
		t.Errorf("auto is %s", auto.Name)
	}
}

func TestParse(t *testing.T) {
	for _, name := range theme.Names() {
		if got, err := theme.Parse(string(name)); got != name || err != nil {
			t.Errorf("%q is %q, %v", name, got, err)
		}
	}
	if got, err := theme.Parse(""); got != theme.Auto || err != nil {
		t.Errorf("the empty name is %q, %v", got, err)
	}
	_, err := theme.Parse("solarized")
	if want := `there is no theme "solarized"; the themes are auto, light, dark, high-contrast, none`; err == nil ||
		err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
