package property_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

func TestPropertyIsOpenedByIDAndFromRecentOnes(t *testing.T) {
	o := start(t, "")
	o.See("Open a property", "Property id")
	o.Type(".\n")
	o.See("must not be . or ..")
	o.Press("backspace")
	o.Type("42\n")
	o.See("Property 42: Bright flat", "Price per week 250.50", "https://img.example/a,1.jpg",
		"latitude 53.8008, longitude -1.5491")
	o.Settle()
	o.Open(screen.ToProperty{})
	o.See("Which property?", "> 42", "Another property ...")
	o.Press("enter")
	o.Settle()
	o.See("Price per week 250.50")
	o.Press("y")
	o.See("Copied the id 42.")
	o.Press("o")
	o.See("Which image?")
	o.Press("down", "enter")
	o.See("Opened the image")
	if o.Desktop.Copied() != "42" || o.Desktop.Opened() != "https://img.example/2.jpg" {
		t.Errorf("copied %q, opened %q", o.Desktop.Copied(), o.Desktop.Opened())
	}
}

// TestATabIsAsItWasLeft goes to the list of properties and back.
func TestATabIsAsItWasLeft(t *testing.T) {
	o := start(t, "42") // above the list of perks
	o.Press("3")
	o.See("Properties", "price:")
	o.Type("42\n")
	o.See("Properties", "Property 42: Bright flat")
	o.Press("1")
	o.See("1 Perks", "Property 42: Bright flat")
	o.Press("1")
	o.See("find: words city: category:")
	o.Press("3")
	o.See("Property 42: Bright flat", "Price per week 250.50")
	if o.Depth() != 2 {
		t.Errorf("%d screens are open", o.Depth())
	}
	o.Press("3")
	o.Gone("Price per week 250.50")
	if o.Depth() != 1 {
		t.Errorf("%d screens are open, want the list", o.Depth())
	}
}

func TestOnlyChangedFieldsAreSaved(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("price_pw", "12,5")
	o.See("! Use a point: 12.5")
	o.fill("images", "https://img.example/1.jpg\n\nimg.example/2.jpg")
	o.See("! Line 3: enter a full URL, such as https://…")
	o.fill("images", "https://img.example/a,1.jpg\nhttps://img.example/2.jpg")
	o.Press("ctrl+s")
	o.See("Fix first: price per week.")
	o.fill("price_pw", "275.00")
	o.fill("lat", "")
	o.Press("ctrl+s")
	o.See("- 250.50", "+ 275.00", "- 53.8008", "+ (none)", "2 fields change: Price per week, Latitude",
		"Save this in property 42? ctrl+s save")
	if o.App.Top().Unsaved() == "" {
		t.Error("no warning of unsaved changes")
	}
	o.Press("esc")
	o.See(">*Latitude")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Done: Saved property 42: price per week, latitude.", "Price per week 275.00",
		"latitude (none), longitude -1.5491")
	if got, want := o.proxy.sent(), []string{`PATCH {"price_pw":"275.00","lat":null}`}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
	if p := o.stored(); p.PricePW.String() != "275.00" || p.Lat != nil || p.Description != flat().Description {
		t.Errorf("stored %+v", p)
	}
	if o.App.Top().Unsaved() != "" {
		t.Error("it still warns of unsaved changes")
	}
}

// TestLongChangesMustBeSeenBeforeSaving changes more than fits on the screen.
func TestLongChangesMustBeSeenBeforeSaving(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("description", "One room.")
	o.Paste(strings.Repeat(" And there is more to tell.", 150))
	o.fill("price_pw", "999.99")
	o.fill("bedrooms", "3")
	o.Press("ctrl+s")
	o.See("3 fields change: Description, Price per week, Bedrooms", "(enter shows all)", "↓", "more lines",
		"pgdn more enter show all")
	if o.Shows("+ 3") || o.Shows("ctrl+s save pg") {
		t.Fatalf("the last change is visible, or can be saved:\n%s", o.Screen())
	}
	o.Press("ctrl+s")
	o.See("See all of it first:", "pgdn shows more.")
	o.Press("enter")
	o.Gone("(enter shows all)")
	o.Press("pgdown", "ctrl+s")
	o.See("See all of it first:")
	o.Press("enter", "G")
	o.See("+ 999.99", "+ 3", "ctrl+s save pgup")
	if len(o.proxy.sent()) != 0 {
		t.Fatalf("sent %q", o.proxy.sent())
	}
	o.Press("g", "ctrl+s")
	o.See("Saved property 42: description, price per week, bedrooms.")
	if p := o.stored(); p.PricePW.String() != "999.99" || p.Bedrooms != 3 {
		t.Errorf("stored %+v", p)
	}
}

func TestNothingIsSentWithoutAChange(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("price_pw", "250.5")
	o.Press("ctrl+s")
	o.See("Nothing was changed.")
	o.Clear()
	o.Type("250.50")
	o.Press("esc")
	o.See("Property 42: Bright flat")
	if len(o.proxy.sent()) != 0 {
		t.Errorf("sent %q", o.proxy.sent())
	}
}

func TestLeavingTheFormAsksAboutChanges(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.Type("!")
	o.Press("esc")
	o.See("Discard your changes to title?", "Property 42 stays as it was.", "y discard   n keep editing")
	o.Gone("LIVE") // nothing happens to the service
	o.Press("n")
	o.See(">*Title")
	if o.value("title") != "Bright flat!" {
		t.Errorf("the form has %q", o.value("title"))
	}
	o.Press("esc")
	o.See("Discard your changes to title?")
	o.Press("y")
	o.See("Property id", "Bright flat")
}

func TestRefusedValueIsShownBesideTheField(t *testing.T) {
	o := start(t, "42")
	o.proxy.respond(func(w http.ResponseWriter, r *http.Request) bool {
		if isPatch(r) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnprocessableEntity)
			w.Write([]byte(`{"response":"Some values are not valid.","code":"validation_failed","errors":{"city":["is outside of our region"],"season":["is closed"]}}`))
		}
		return isPatch(r)
	})
	o.Press("e")
	o.See("> Title")
	o.fill("city", "Atlantis")
	o.fill("deposit", "600")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Not saved", "season is closed", ">*City", "is outside of our region")
	if o.value("city") != "Atlantis" || o.value("deposit") != "600" {
		t.Errorf("the form has %q and %q", o.value("city"), o.value("deposit"))
	}
	o.proxy.respond(nil)
	o.fill("city", "York")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: city, deposit.")
	if p := o.stored(); p.City != "York" || p.Deposit != 600 {
		t.Errorf("stored %+v", p)
	}
}

func TestMergeOfAFieldThatBothChanged(t *testing.T) {
	for _, test := range []struct{ key, title string }{{"m", "My flat"}, {"t", "Their flat"}} {
		o := start(t, "42")
		o.Press("e")
		o.See("> Title")
		o.fill("title", "My flat")
		o.fill("bedrooms", "3")
		o.change(api.PropertyPatch{Title: api.Some("Their flat"), City: api.Some("York")})
		o.Press("ctrl+s", "ctrl+s")
		o.See("Somebody else changed property 42 meanwhile: title, city.", "> Title, changed by both: not decided",
			"before: Bright flat", "theirs: Their flat", "mine: My flat", "City, changed by them: theirs is kept",
			"Bedrooms, changed by you: yours is kept")
		o.Press("ctrl+s")
		o.See("Decide first about: title.")
		o.Press(test.key)
		o.See("All decided.")
		o.Press("ctrl+s")
		o.See("Done: Saved property 42")
		if p := o.stored(); p.Title != test.title || p.City != "York" || p.Bedrooms != 3 {
			t.Errorf("%s: stored %+v", test.key, p)
		}
		o.Settle()
	}
}

func TestMergeRestartsAfterAnotherChange(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Mine")
	o.change(api.PropertyPatch{City: api.Some("York")})
	o.Press("ctrl+s", "ctrl+s")
	o.See("You changed other fields", "All decided. ctrl+s saves.", "City, changed by them")
	o.change(api.PropertyPatch{Title: api.Some("Theirs")})
	o.Press("ctrl+s")
	o.See("> Title, changed by both", "theirs: Theirs", "mine: Mine")
	o.Press("esc")
	o.See(">*Title", "Not decided yet: title.")
	if o.value("title") != "Mine" {
		t.Errorf("the form has %q", o.value("title"))
	}
	o.Press("ctrl+s", "ctrl+s")
	o.See("> Title, changed by both")
	o.Press("m", "esc")
	o.See("The form has the merged text.")
	o.Press("ctrl+s")
	o.See("- Theirs", "+ Mine")
	o.Press("ctrl+s")
	o.See("Done: Saved property 42: title.")
	if p := o.stored(); p.Title != "Mine" || p.City != "York" {
		t.Errorf("stored %+v", p)
	}
}

func TestTakingAllOfTheirsSendsNothing(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Mine")
	o.change(api.PropertyPatch{Title: api.Some("Theirs")})
	o.Press("ctrl+s", "ctrl+s")
	o.See("changed by both")
	o.Press("t", "ctrl+s")
	o.See("Nothing to save", "Title Theirs")
	if n := len(o.proxy.sent()); n != 1 {
		t.Errorf("sent %q", o.proxy.sent())
	}
}

func TestUndo(t *testing.T) {
	o := start(t, "42")
	o.Press("z")
	o.See("not possible now. Nothing was saved here yet.")
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Dark flat")
	o.fill("images", "")
	o.Press("ctrl+s", "ctrl+s")
	o.See("Saved property 42: title, images.")
	o.Settle()
	o.Press("z")
	o.See("Undo this in property 42? ctrl+s undoes, esc cancels",
		"- Dark flat", "+ Bright flat", "+ https://img.example/a,1.jpg")
	o.Press("esc")
	o.See("Title Dark flat")
	o.Press("z", "ctrl+s")
	o.See("Undone in property 42: title, images.", "Title Bright flat")
	if p, was := o.stored(), flat(); p.Title != was.Title || !slices.Equal(p.Images, was.Images) {
		t.Errorf("stored %+v", p)
	}
}

func TestUndoKeepsChangesOfOthers(t *testing.T) {
	for name, undo := range map[string][]string{
		"not reloaded": {"z", "ctrl+s"}, // the service finds the conflict
		"reloaded":     {"R", "z"},
	} {
		o := start(t, "42")
		o.Press("e")
		o.See("> Title")
		o.fill("title", "Mine")
		o.fill("city", "Hull")
		o.Press("ctrl+s", "ctrl+s")
		o.See("Saved property 42")
		o.Settle()
		o.change(api.PropertyPatch{Title: api.Some("Theirs"), Bedrooms: api.Some(5)})
		for _, key := range undo {
			o.Press(key)
			o.Settle()
		}
		o.See("> Title, changed by both", "before: Mine", "theirs: Theirs", "mine: Bright flat")
		o.Press("t", "ctrl+s")
		if o.Settle(); o.Shows("Undo this in") {
			o.Press("ctrl+s")
		}
		o.See("Undone in property 42: city.")
		if p := o.stored(); p.Title != "Theirs" || p.City != "Leeds" || p.Bedrooms != 5 {
			t.Errorf("%s: stored %+v", name, p)
		}
	}
}

// retitle reloads the property, and edits its title up to the comparison.
func (o *fixture) retitle() {
	o.t.Helper()
	o.Press("R")
	o.Settle()
	o.Press("e")
	o.See("> Title")
	o.fill("title", "Mine")
	o.Press("ctrl+s")
}

func TestVersionsAreComparedWithoutETags(t *testing.T) {
	o := start(t, "42")
	o.proxy.etags = false
	o.retitle()
	o.See("This service has no ETags")
	o.change(api.PropertyPatch{Title: api.Some("Theirs")})
	o.Press("ctrl+s")
	o.See("changed by both")
	if len(o.proxy.sent()) != 0 {
		t.Errorf("sent %q", o.proxy.sent())
	}
	o.Press("m", "ctrl+s")
	o.See("Saved property 42: title.")
	if o.stored().Title != "Mine" {
		t.Errorf("stored %+v", o.stored())
	}
}

func TestTypedTextRunsNoActions(t *testing.T) {
	o := start(t, "42")
	o.Press("e")
	o.See("> Title")
	for _, field := range o.App.Top().Form().Names() {
		o.fill(field, "")
		o.TypesEverywhere()
	}
	if strings.TrimSpace(o.value("title")) != "" || len(o.proxy.sent()) != 0 {
		t.Errorf("sent %q", o.proxy.sent())
	}
}

// TestPropertiesHaveNoMarks tries to mark a property: nothing is done with several.
func TestPropertiesHaveNoMarks(t *testing.T) {
	o := start(t, "42")
	o.Press("3")
	o.See("Properties 1", "row 1 of 1")
	o.Press("esc", " ")
	o.See("Mark: not on this screen.")
	o.Gone("marked")
}

// TestAClientThatSeesOnlyItsOwnIsToldSo lists the properties of another client, without the scope for all.
func TestAClientThatSeesOnlyItsOwnIsToldSo(t *testing.T) {
	o := start(t, "42")
	id, secret := o.server.Client(api.ScopePropertiesWrite, api.ScopePerksRead)
	d := tuitest.StartAs(t, o.server, id, secret)
	d.Press("3")
	d.See("No properties here. Only what this client made. All of them need properties:read.")
}
