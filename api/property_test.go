package api_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestValidProperty(t *testing.T) {
	for name, property := range map[string]api.Property{
		"required fields only": {ID: 1, Title: "A"},
		"largest values": {ID: math.MaxInt64, Title: strings.Repeat("é", 200),
			Description: strings.Repeat("é", 10_000),
			Address:     strings.Repeat("é", 500), City: strings.Repeat("é", 120),
			Postcode: strings.Repeat("é", 120),
			Images:   slices.Repeat([]string{"https://a/" + strings.Repeat("b", 2038)}, api.MaxImages),
			Bedrooms: math.MaxInt32, Bathrooms: math.MaxInt32, Lat: new(90.0), Lng: new(180.0),
			Deposit: math.MaxFloat64},
		"smallest values": {ID: 1, Title: "A", Lat: new(-90.0), Lng: new(-180.0), Deposit: 0},
	} {
		if err := property.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInvalidProperty has what no patch can have, and a few others: TestPatchRefusesInvalidJSON has all rules.
func TestInvalidProperty(t *testing.T) {
	for _, c := range []struct {
		field, want string
		change      func(*api.Property)
	}{
		{"propertyId", "above 0", func(p *api.Property) { p.ID = 0 }},
		{"propertyId", "above 0", func(p *api.Property) { p.ID = -1 }},
		{"title", "must not be blank", func(p *api.Property) { p.Title = "" }},
		{"images", "number 2 must be an absolute",
			func(p *api.Property) { p.Images = []string{"http://a/1", "b", "c"} }},
		{"bathrooms", "at most 2147483647", func(p *api.Property) { p.Bathrooms = math.MaxInt32 + 1 }},
		{"lat", "between -90 and 90", func(p *api.Property) { p.Lat = new(math.Nextafter(90, 91)) }},
		{"lat", "between -90 and 90", func(p *api.Property) { p.Lat = new(math.NaN()) }},
		{"lng", "between -180 and 180", func(p *api.Property) { p.Lng = new(math.Inf(-1)) }},
		{"deposit", "finite number", func(p *api.Property) { p.Deposit = math.Inf(1) }},
		{"deposit", "finite number", func(p *api.Property) { p.Deposit = math.NaN() }},
		{"deposit", "must not be negative", func(p *api.Property) { p.Deposit = -0.01 }},
	} {
		property := api.Property{ID: 1, Title: "A"}
		c.change(&property)
		wantFault(t, "the property", property.Validate(), c.field, c.want)
	}
}
