package property_test

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
)

func TestEnterEditsTheFieldUnderTheCursor(t *testing.T) {
	o := start(t, "42")
	o.Press("G", "k", "k")
	o.See("> Bathrooms")
	o.Press("up", "k", "enter")
	o.See("> Price per week")
	o.Press("ctrl+u")
	o.Type("275.00")
	o.See(">*Price per week", "1 changed: price per week")
	o.Press("ctrl+s")
	o.See("1 field changes: Price per week", "- 250.50", "+ 275.00")
	o.Press("ctrl+s")
	o.See("Saved property 42: price per week.", "> Price per week 275.00") // where it was
	o.Settle()
	o.Press("g")
	o.See("> Title")
	o.Press("j", "e")
	o.See("> Description")
	o.Press("esc")
	o.See("> Description")
}

// TestAFieldIsFoundByItsName changes the price with five keys besides what is typed.
func TestAFieldIsFoundByItsName(t *testing.T) {
	o := start(t, "42")
	o.Press("/")
	o.See("Edit which field?", "Longitude")
	o.Type("price")
	o.Press("enter", "ctrl+u")
	o.Type("275.00")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: price per week.")
	if p := o.stored(); p.PricePW.String() != "275.00" {
		t.Errorf("stored %+v", p)
	}
	o.Settle()
	o.Press("/")
	o.Type("long\n")
	o.See("> Longitude")
	o.Press("esc")
	o.See("> Position")
}

func TestADraftIsResumedAtTheFieldUnderTheCursor(t *testing.T) {
	o := editing(t)
	o.Elapse(3 * time.Second)
	o.Settle()
	o.Send(screen.Back{})
	o.Open(screen.ToProperty{ID: "42"})
	o.Settle()
	o.Press("j", "j", "enter")
	o.See("Unsaved draft: title")
	o.Press("enter")
	o.See("> Address", "*Title")
}

// TestACursorScrollsWithinALongField goes through a description that is longer than the screen without missing a line
// of it.
func TestACursorScrollsWithinALongField(t *testing.T) {
	o := states["long"](t)
	o.Resize(60, 12)
	o.See("> Title")
	seen, steps := "", 0
	for ; !o.Shows("> Address"); steps++ {
		o.Press("j")
		seen += o.Screen()
	}
	if steps < 20 || strings.Count(seen, "> Description") == 0 || !strings.Contains(seen, "xxxxx") {
		t.Errorf("the cursor was past the description after %d steps", steps)
	}
	o.Press("k")
	o.See("> Description")
	o.Press("G")
	o.See("> Deposit", "Property id")
	o.Press("pgup", "pgup", "pgup", "enter") // the cursor stays where it can be seen
	o.See("> Description")
	if got := o.App.Top().Form().Focus(); got != "description" {
		t.Errorf("%s is edited", got)
	}
}

func TestAClickMovesTheCursorAndASecondOneEdits(t *testing.T) {
	o := start(t, "42")
	click := func() {
		for y, line := range strings.Split(o.Screen(), "\n") {
			if strings.Contains(line, "Bedrooms") {
				o.Send(tea.MouseMsg{X: 5, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
			}
		}
	}
	click()
	o.See("> Bedrooms")
	if o.App.Top().Form() != nil {
		t.Fatal("the first click edits")
	}
	click()
	o.See("> Bedrooms", "Longitude")
	if o.App.Top().Form() == nil || o.App.Top().Form().Focus() != "bedrooms" {
		t.Errorf("the second click does not edit:\n%s", o.Screen())
	}
}

// TestTheBannerFollowsWhatIsWrong corrects one field after the other. The form never moves.
func TestTheBannerFollowsWhatIsWrong(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("price_pw", "12,5")
	o.fill("bedrooms", "many")
	if o.Shows("Fix first") {
		t.Error("it complains before anything was sent")
	}
	o.Press("ctrl+s")
	o.See("! Fix first: price per week, bedrooms.", ">*Price per week")
	if !strings.Contains(strings.Split(o.Screen(), "\n")[2], "Title") {
		t.Errorf("the form has moved:\n%s", o.Screen())
	}
	o.Press("backspace", "backspace")
	o.See("! Fix first: bedrooms.")
	o.fill("bedrooms", "3")
	o.Gone("Fix first")
	o.See("2 changed: price per week, bedrooms")
	o.fill("bedrooms", "x")
	if o.Shows("Fix first") {
		t.Error("it complains before anything was sent again")
	}
}

func TestALoginRemovesTheReasonOfAFailureBefore(t *testing.T) {
	o := editing(t)
	o.accounts.Expire()
	o.Press("ctrl+s", "ctrl+s")
	o.See("Your session has expired.")
	o.Settle()
	for form := o.App.Top().Form(); form.Focus() != "secret"; {
		o.Press("tab")
	}
	o.Type(o.secret + "\n")
	o.See("Logged in.", "! Not saved. Your text is kept.")
	o.Gone("logs in")
	o.Press("esc")
	o.See(">*Title")
	o.Gone("Not saved")
}

func TestLongTextsOpenAtTheirEnd(t *testing.T) {
	o := start(t, "42")
	o.Press("j", "enter")
	o.See("> Description")
	o.Type("Quiet.")
	if got := o.value("description"); got != flat().Description+"Quiet." {
		t.Errorf("the description is %q", got)
	}
	o.Resize(80, 40)
	o.change(api.PropertyPatch{}) // nothing
	for _, line := range []string{"Two rooms.", "A bath.", "A view.", "Quiet."} {
		o.See(line)
	}
}

func TestOnlyTheWordsThatDifferAreColoured(t *testing.T) {
	o := start(t, "42")
	look := theme.New(theme.Dark, termenv.TrueColor)
	o.App.Shell().Theme = look
	o.Press("enter")
	o.fill("title", "Bright and quiet flat")
	o.fill("city", "York")
	o.Press("ctrl+s")
	o.See("- Bright flat", "+ Bright and quiet flat", "- Leeds", "+ York")
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
	s := &service{property: p}
	o := startFake(t, s)
	o.Press("j", "enter")
	o.See("> Description")
	fillIn(o, "description", "")
	o.Paste(strings.ReplaceAll(p.Description, "old", "new"))
	o.Press("ctrl+s")
	o.See("1 field changes: Description", "- … before", "before old after", "before new after", "after … ", "show all")
	if lines := strings.Count(o.Screen(), "after"); lines > 4*8 {
		t.Errorf("%d words are shown:\n%s", lines, o.Screen())
	}
	o.Press("enter")
	o.See("↓", "more lines")
	o.Gone("…")
}

// TestLimitsAreThoseOfTheService tries each field with as many characters as it takes, and one more.
func TestLimitsAreThoseOfTheService(t *testing.T) {
	o := startFake(t, &service{})
	o.Press("e")
	o.See("> Title")
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
