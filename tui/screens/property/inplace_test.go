package property_test

import (
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/theme"
)

// TestACursorScrollsWithinALongField goes through a description that is longer than the screen without missing a line
// of it.
func TestACursorScrollsWithinALongField(t *testing.T) {
	o := reach(t, "long")
	o.Resize(60, 12)
	o.See("> Title")
	seen, steps := "", 0
	for ; !o.Shows("> Images") && steps < 300; steps++ {
		o.Press("j")
		seen += o.Screen()
	}
	if steps < 20 || strings.Count(seen, "> Description") == 0 || !strings.Contains(seen, "xxxxx") {
		t.Errorf("the cursor was past the description after %d steps", steps)
	}
	o.Play(`
		k                   => > Description
		G                   => > Images
		g pgdown            => > Deposit
		G enter             => > Images
		focus: images`)
}

func TestAClickMovesTheCursorAndASecondOneEdits(t *testing.T) {
	start(t, "42").Play(`
		click: Bedrooms => > Bedrooms
		form:
		click: Bedrooms => > Bedrooms | Longitude
		focus: bedrooms`)
}

func TestOnlyTheWordsThatDifferAreColoured(t *testing.T) {
	o := start(t, "42")
	look := theme.New(theme.Dark, termenv.TrueColor)
	o.App.Shell().Theme = look
	o.Play(`
		enter
		fill: title Bright and quiet flat
		fill: city York
		ctrl+s => - Bright flat | + Bright and quiet flat | - Leeds | + York`)
	for _, want := range []string{look.Good.Render("+ ") + "Bright " + look.Good.Render("and quiet ") + "flat",
		look.Bad.Render("- ") + "Bright flat", look.Bad.Render("- Leeds"), look.Good.Render("+ York")} {
		if !strings.Contains(o.App.View(), want) {
			t.Errorf("%q is not in\n%q", want, o.App.View())
		}
	}
	o.App.Shell().Theme = theme.New(theme.Light, termenv.TrueColor)
	if strings.Contains(o.App.View(), look.Good.Render("and quiet ")) {
		t.Error("another theme has the same colours")
	}
}

// TestLongUnchangedTextIsLeftOut changes one word of a very long line.
func TestLongUnchangedTextIsLeftOut(t *testing.T) {
	p := flat()
	p.Description = strings.Repeat("before ", 200) + "old" + strings.Repeat(" after", 200)
	o := startFake(t, p)
	o.Play(record+`
		G k enter  => > Description
		fill: description
		paste: $new
		ctrl+s     => 1 field changes: Description | - … before | before old after | before new after | after …
		           => show all`, "$new", strings.ReplaceAll(p.Description, "old", "new"))
	if lines := strings.Count(o.Screen(), "after"); lines > 4*8 {
		t.Errorf("%d words are shown:\n%s", lines, o.Screen())
	}
	o.Play(`enter => ↓ | more lines | ≠ …`)
}

// TestLimitsAreThoseOfTheService tries each field with as many characters as it takes, and one more.
func TestLimitsAreThoseOfTheService(t *testing.T) {
	o := reach(t, "form")
	for _, name := range o.App.Top().Form().Names() {
		limit := o.App.Top().Form().Field(name).Limit
		f, _ := api.PropertyFieldNamed(name)
		if f.Kind != api.LineField && f.Kind != api.TextField {
			if limit != 0 {
				t.Errorf("%s has a limit of %d", name, limit)
			}
			continue
		}
		for extra, wrong := range []bool{false, true} {
			text := strings.Repeat("é", limit+extra)
			_, err := api.ParsePropertyPatch([]api.Member{{Name: name, Value: api.TextValue(text)}})
			if (err != nil) != wrong {
				t.Errorf("%s of %s: %v", name, display.Count(len(text)), err)
			}
		}
	}
}
