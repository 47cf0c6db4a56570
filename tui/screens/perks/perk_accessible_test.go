package perks_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAccessibleTextOfAPerk(t *testing.T) {
	for name, want := range map[string]string{
		"everything": `Discount: -20 %
Validity: Valid until 22 Mar 2026, 12 days left
Merchant: Café Anna
City: Warszawa
Category: Food
About: Two cups of filter coffee, and a slice of whatever cake there is that day.  Ask for the table at the window.
Terms: One for each person and month. Not together with other offers.
Valid from: 8 Feb 2026 12:00 UTC
Valid to: 22 Mar 2026 12:00 UTC
Id: coffee-for-two
Image: https://images.test/coffee.png
Created: 9 Jan 2026 12:00 UTC
Updated: 7 Mar 2026 12:00 UTC`,
		"bare": `Validity: Valid, no end date
City: Berlin
About: Along the river.
Valid from: any time
Valid to: no end date
Id: bare
Created: 9 Jan 2026 12:00 UTC
Updated: 9 Jan 2026 12:00 UTC
Without: discount, merchant, category, terms, image`,
		"loading": "Loading perk coffee-for-two ...",
		"no-such": `Problem: There is no perk coffee-for-two.
esc goes back. R retries.`,
	} {
		if diff := cmp.Diff(want, perkStates[name](t).App.Top().AccessibleText()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	for name, want := range map[string]string{
		"gone":         "Problem: There is no perk coffee-for-two any more. Below is what it was.",
		"failed-again": "Problem: Not allowed for this client. L switches the profile.",
		"reloading":    "State: As in the list, loading ...",
	} {
		if got := perkStates[name](t).App.Top().AccessibleText(); !strings.Contains(got, want) {
			t.Errorf("%s: %q is not in\n%s", name, want, got)
		}
	}
}
