package property_test

import (
	"fmt"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
)

// listed starts with three listings in their list, in a wide window.
func listed(t *testing.T) *fixture {
	o := start(t, "42")
	attic, cottage := flat(), flat()
	attic.ID, attic.Title, cottage.ID, cottage.Title = 41, "Attic", 43, "Cottage"
	o.server.ImportProperties(o.owner, attic, cottage)
	o.Resize(120, 40)
	o.Play(`3 => Cottage
		esc settle => row 1 of 3`)
	return o
}

// isBeside tells whether the list is beside the listing, or its form.
func (o *fixture) isBeside() bool {
	return strings.Contains(o.Screen(), "╭─ Properties") && strings.Contains(o.Screen(), "> Title")
}

func TestAListingStandsBesideItsList(t *testing.T) {
	o := listed(t)
	for _, c := range []struct {
		width int
		want  bool
	}{{120, true}, {119, false}, {200, true}, {80, false}} {
		o.Resize(c.width, 40)
		if o.Play(`enter settle => > Title`); o.isBeside() != c.want {
			t.Errorf("at %d columns:\n%s", c.width, o.Screen())
		}
		o.Play(`esc => row 1 of 3 | ≠ > Title`)
	}
	o.Resize(120, 40)
	if o.Play(`enter settle e => Edit property 41`); !o.isBeside() {
		t.Errorf("the list is not beside the form:\n%s", o.Screen())
	}
}

func TestTheNextListingIsAKeyAway(t *testing.T) {
	for _, size := range []string{"120x40", "80x24"} {
		listed(t).Play(`
			size: ` + size + `
			enter settle => Property 41
			n settle => Property 42: Bright flat
			n settle => Property 43: Cottage
			n        => This is the last row of the list.
			         => Property 43: Cottage
			p settle => Property 42: Bright flat
			e        => Edit property 42
			fill: title Mine
			esc      => Discard your changes to title?
			y settle => Property 42
			n settle => Property 43
			esc      => row 3 of 3 | ≠ Property 43`)
	}
}

func TestAListingThatTheListDoesNotHaveStandsAlone(t *testing.T) {
	o := listed(t)
	if o.Play(`/ "cott\n" settle => 43 Cottage | ≠ Attic`); o.isBeside() {
		t.Error("a list is beside a list")
	}
	o.Open(screen.ToProperty{ID: "42"})
	o.Play(`settle => > Title`)
	if o.isBeside() {
		t.Errorf("another listing is beside:\n%s", o.Screen())
	}
	o.Play(`n => ≠ Cottage
		esc => 43 Cottage | ≠ > Title`)
}

func TestATypedIdIsUnderTheCursor(t *testing.T) {
	o := listed(t)
	o.Play(`/ "42\n" settle => Property 42: Bright flat`)
	if !o.isBeside() {
		t.Errorf("the list is not beside:\n%s", o.Screen())
	}
}

func TestAClickBesideOpensAnotherListing(t *testing.T) {
	listed(t).Play(`
		enter settle  => Property 41
		click: Cottage => Property 43: Cottage
		click: 41 Attic => Property 41: Attic
		click: 41 Attic => Property 41: Attic
		settle
		e             => Edit property 41
		fill: title Mine
		click: Cottage => The changes to property 41 are not saved
		n             => Edit property 41
		click: Cottage => The changes to property 41 are not saved
		y settle      => Property 43: Cottage
		click: Per week => ≠ Property 43 | Per week ▲`)
}

func TestTheWheelBesideOpensTheNextListing(t *testing.T) {
	o := listed(t)
	o.Play(`enter settle => Property 41`)
	turn := func(button tea.MouseButton) {
		o.Send(tea.MouseMsg{X: 10, Y: 8, Action: tea.MouseActionPress, Button: button})
		o.Settle()
	}
	turn(tea.MouseButtonWheelDown)
	o.See("Property 42: Bright flat")
	turn(tea.MouseButtonWheelUp)
	o.See("Property 41: Attic")
	o.Play(`e
		fill: title Mine`)
	turn(tea.MouseButtonWheelDown)
	o.See("Edit property 41", "Mine") // and no question
	o.Gone("Leave?")
}

// TestTheListBesideIsAsNewAsItsListing changes a listing here and elsewhere.
func TestTheListBesideIsAsNewAsItsListing(t *testing.T) {
	o := listed(t)
	o.Play(`
		enter settle n settle => Property 42: Bright flat
		e
		fill: title Calm flat
		ctrl+s ctrl+s settle  => 42 Calm flat | ≠ 42 Bright flat
		others: {"title":"Loud flat"}
		wait: 3s
		settle                => 42 Loud flat | Property 42: Loud flat`)
	cottage, _, err := o.colleague.Property(t.Context(), "43")
	if err != nil {
		t.Fatal(err)
	}
	renamed := cottage.With(o.patch(`{"title":"Castle"}`))
	if _, err := o.colleague.UpdateProperty(t.Context(), "43", api.PropertyChanges(cottage, renamed), ""); err != nil {
		t.Fatal(err)
	}
	o.Play(`
		wait: 3s
		settle => 43 Castle | Property 42: Loud flat`)
}

// TestAStepWaitsForRowsThatAreLoading goes on from the last row that is loaded while the service does not reply.
func TestAStepWaitsForRowsThatAreLoading(t *testing.T) {
	o := start(t, "42")
	var flats []api.Property
	for id := range 150 {
		p := flat()
		p.ID, p.Title = int64(1000+id), fmt.Sprint("Flat ", id+1)
		flats = append(flats, p)
	}
	o.server.ImportProperties(o.owner, flats...)
	o.Play(`3 => Flat 1
		esc settle
		service: holds GET`)
	last := 151
	for !o.App.Top().(screen.Chooser).Choose(last) {
		last--
	}
	if last == 151 {
		t.Fatal("all rows are loaded")
	}
	opened := fmt.Sprint("Property ", 1000+last-2) // the first row is 42
	next := fmt.Sprint("Property ", 1000+last-1)
	o.Press("enter")
	o.See(opened)
	o.Press("n")
	o.See(opened)
	o.Play(`service: works
		settle`)
	o.See(next)
}
