package property_test

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
)

// startMany shows the list of properties 42 to 48 of this client, which cost 250.50, 251.50 and so on, and of 90, which
// is another's.
func startMany(t *testing.T, changes ...func(*tui.Options)) *fixture {
	t.Helper()
	o := start(t, "42", changes...)
	var mine []api.Property
	for n := range int64(7) {
		p := flat()
		p.ID, p.Title = 42+n, "Flat "+string(rune('A'+n))
		p.PricePW, _ = api.ParsePrice("25" + string(rune('0'+n)) + ".50")
		mine = append(mine, p)
	}
	o.server.ImportProperties(o.owner, mine...)
	other, _ := o.server.Client()
	theirs := flat()
	theirs.ID, theirs.Title = 90, "Their flat"
	o.server.ImportProperties(other, theirs)
	o.Commands["prices"] = func(want string) {
		page, err := o.colleague.Properties(t.Context(), api.PropertyFilter{},
			client.ListOptions{Sort: "propertyId"})
		var got []string
		for _, p := range page.Data {
			got = append(got, p.PricePW.String())
		}
		if text := strings.Join(got, " "); text != want || err != nil {
			t.Errorf("the prices are %s, want %s (%v)", text, want, err)
		}
	}
	o.Commands["raise"] = func(id string) { // as somebody else
		if _, err := o.colleague.UpdateProperty(t.Context(), api.PropertyID(id), o.patch(`{"price_pw":"999.00"}`),
			""); err != nil {
			t.Fatal(err)
		}
	}
	o.Commands["golden"] = func(name string) { o.Golden(name, false) }
	o.Commands["says"] = func(text string) { o.Says(text) }
	o.Commands["accessible"] = func(want string) {
		if got := o.App.Top().AccessibleText(); !strings.Contains(got, want) {
			t.Errorf("%q is missing:\n%s", want, got)
		}
	}
	o.Send(screen.Back{})
	o.Open(screen.ToProperties{})
	o.Play(`
		settle esc       => row 1 of 8
		settle`)
	return o
}

// manyFlows are sessions on the list of eight properties.
var manyFlows = map[string]string{
	"marked properties are changed and changed back": `
		e                => Edit: not possible now. Nothing is marked: space marks. enter opens one.
		wait: 2s
		space space space => 3 marked | e edit 3 marked
		e                => Edit 3 properties | What stays empty is left as it is.
		golden: many-form
		ctrl+s           => Nothing was changed.
		fill: price_pw +5%
		fill: round 0.50
		fill: city York
		unsaved: The changes to 3 properties are not saved.
		ctrl+s           => 3 properties change: city, price per week
		                 => Price per week in all: 754.50 → 792.00 (+37.50)
		=> 42 Flat A | City: Leeds → York | Price per week: 250.50 → 263.00
		settle
		golden: many-review
		accessible: Price per week: 251.50 → 264.00
		got:
		esc              => 2 change: city, price per week
		ctrl+s           => 3 properties change
		ctrl+s           => Done: 3 changed.
		=> [changed] | 42 Flat A | z undo all
		settle
		golden: many-results
		accessible: 1. 42 Flat A: changed.
		prices: 263.00 264.00 265.00 253.50 254.50 255.50 256.50 250.50
		unsaved:
		z                => Undo in 3 properties | 792.00 → 754.50 (-37.50) | ctrl+s undoes this, esc cancels
		esc              => Done: 3 changed. | [changed]
		z ctrl+s         => 3 undone. | [undone]
		prices: 250.50 251.50 252.50 253.50 254.50 255.50 256.50 250.50
		z ctrl+s settle
		prices: 263.00 264.00 265.00 253.50 254.50 255.50 256.50 250.50
		esc              => row 4 of 8 | ≠ marked`,

	"what changed meanwhile stays, and is listed": `
		space space space e
		fill: price_pw *2
		ctrl+s           => 3 properties change
		raise: 43
		ctrl+s           => 2 changed, 1 not changed.
		=> [not changed] 43 Flat B | Somebody else changed it. Changed: price per week from 251.50 to 999.00.
		settle
		says: 999.00
		prices: 501.00 999.00 505.00 253.50 254.50 255.50 256.50 250.50
		raise: 42
		z                => Undo in 2 properties
		ctrl+s           => 1 undone, 1 not undone. | Changed: price per week from 501.00 to 999.00.
		prices: 999.00 999.00 252.50 253.50 254.50 255.50 256.50 250.50`,

	"lost replies are settled": `
		space space e
		fill: deposit 7
		service: loses replies: PATCH
		ctrl+s           => Deposit in all: 1000 → 14 (-986)
		ctrl+s           => 2 changed.
		service: works
		z ctrl+s         => 2 undone.
		got: PATCH {"deposit":7} | PATCH {"deposit":7} | PATCH {"deposit":500} | PATCH {"deposit":500}`,

	"what cannot be changed is said before": `
		A e
		fill: bedrooms -3
		ctrl+s           => Nothing would change. | ≠ in all: 0
		settle esc
		fill: bedrooms +1
		ctrl+s           => 7 properties change: bedrooms. 1 stays as it is
		                 => 90 Their flat | It belongs to another client.
		=> … 2 more (enter shows all) | Bedrooms: 2 → 3 | ≠ Flat G
		enter            => Flat G
		G                => Flat G
		ctrl+s           => 7 changed. | [left as it is] 90 Their flat`,

	"values are checked as they are typed": `
		space e
		fill: price_pw 12,5
		tab              => must be
		fill: round 0.5
		ctrl+s           => ! | >*Price per week
		got:`,

	"a step alone says why": `
		space e
		fill: city York
		fill: round 0.50
		ctrl+s           => needs a change to round`,

	"leaving the form asks": `
		space e "!" esc  => Discard your changes? | 1 property stays as it is.
		n
		form: title=!
		esc y            => row 2 of 8`,

	"leaving what is under way asks": `
		space space e
		fill: deposit 7
		ctrl+s           => 2 properties change
		service: holds: PATCH
		ctrl+s           => Changing 0 of 2 ... | esc stop
		unsaved: Changing 0 of 2: those that are left would not be sent, and you would not see the outcome.
		says: Changing 0 of 2
		service: works   => 2 changed.`,

	"a failed read sends nothing": `
		space space e
		fill: deposit 7
		service: drops: GET
		ctrl+s           => Nothing was sent: not all properties were read.
		form: deposit=7
		service: works
		ctrl+s           => 2 properties change
		got:`,

	"a service without ETags is said to be": `
		service: has no ETags
		space e
		fill: deposit 7
		ctrl+s           => This service has no ETags
		raise: 42
		ctrl+s           => 1 not changed. | Changed: price per week from 250.50 to 999.00.
		got:`,
}

func TestManyFlows(t *testing.T) {
	t.Parallel()
	for name, flow := range manyFlows {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			startMany(t).Play(flow)
		})
	}
}
