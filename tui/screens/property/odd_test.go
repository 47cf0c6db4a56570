package property

import (
	"testing"

	"example.com/perks/api"
)

func oddProperty(t *testing.T) (p api.Property) {
	t.Helper()
	text := `{"propertyId":42,"title":"Odd","price_pw":"£295.50","bathrooms":1.5,"lat":"north","images":7}`
	if err := api.ReadProperty([]byte(text), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestOddPropertyIsShownAsItCame(t *testing.T) {
	p := oddProperty(t)
	shown := map[string]string{}
	for _, f := range kind.Fields() {
		shown[f.Label] = valueOf(f, p)
	}
	for label, want := range map[string]string{
		"Price per week": "£295.50 (not a number)", "Bathrooms": "1.5 (not a whole number)", "Bedrooms": "(none)",
		"Deposit": "(none)", "Latitude": "north (not a number)", "Longitude": "(none)", "Images": "7 (not a text)",
	} {
		if shown[label] != want {
			t.Errorf("%s is shown as %q, want %q", label, shown[label], want)
		}
	}
	if price, rooms := cellOf("price_pw")(&p), cellOf("bedrooms")(&p); price != "£295.50" || rooms != "" {
		t.Errorf("the list has %q, %q", price, rooms)
	}
	if price := priceOf(p); price != "£295.50 (not a number)" {
		t.Errorf("the preview has %q", price)
	}
}
