package api_test

import (
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

func validPerk() api.Perk {
	return api.Perk{Title: "Coffee", Description: "Two for one.", City: "Berlin"}
}

func TestValidPerk(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	to := from.Add(time.Microsecond)
	for name, change := range map[string]func(*api.PerkRecord){
		"required fields only":   func(*api.PerkRecord) {},
		"with an id":             func(p *api.PerkRecord) { p.ID = "Coffee_2-1" },
		"with the longest id":    func(p *api.PerkRecord) { p.ID = strings.Repeat("a", 64) },
		"with the longest title": func(p *api.PerkRecord) { p.Title = strings.Repeat("é", 200) },
		"with every optional text": func(p *api.PerkRecord) {
			p.Category, p.MerchantName, p.DiscountText, p.Terms = new("a"), new("b"), new("c"), new("d")
		},
		"with an image": func(p *api.PerkRecord) { p.ImageURL = new("https://img.example.com/1.jpg?s=2#x") },
		"with dates":    func(p *api.PerkRecord) { p.ValidFrom, p.ValidTo = &from, &to },
		"with a start":  func(p *api.PerkRecord) { p.ValidFrom = &to },
		"with an end":   func(p *api.PerkRecord) { p.ValidTo = &from },
	} {
		perk := api.PerkRecord{Perk: validPerk(), Approval: api.ApprovalAuto}
		change(&perk)
		if err := perk.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestInvalidPerk(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		field, want string
		change      func(*api.PerkRecord)
	}{
		{"id", "1 to 64 characters of", func(p *api.PerkRecord) { p.ID = "a b" }},
		{"id", "1 to 64 characters of", func(p *api.PerkRecord) { p.ID = strings.Repeat("a", 65) }},
		{"id", `must not be "categories"`, func(p *api.PerkRecord) { p.ID = "categories" }},
		{"title", "must not be blank", func(p *api.PerkRecord) { p.Title = " " }},
		{"title", "at most 200 characters", func(p *api.PerkRecord) { p.Title = strings.Repeat("é", 201) }},
		{"description", "must not be blank", func(p *api.PerkRecord) { p.Description = "" }},
		{"description", "at most 10000 characters",
			func(p *api.PerkRecord) { p.Description = strings.Repeat("a", 10_001) }},
		{"city", "must not be blank", func(p *api.PerkRecord) { p.City = "" }},
		{"city", "NUL", func(p *api.PerkRecord) { p.City = "a\x00" }},
		{"category", "must not be blank", func(p *api.PerkRecord) { p.Category = new("") }},
		{"category", "at most 120 characters", func(p *api.PerkRecord) { p.Category = new(strings.Repeat("a", 121)) }},
		{"merchant_name", "valid UTF-8", func(p *api.PerkRecord) { p.MerchantName = new("\xff") }},
		{"discount_text", "must not be blank", func(p *api.PerkRecord) { p.DiscountText = new("\t") }},
		{"terms", "must not be blank", func(p *api.PerkRecord) { p.Terms = new("") }},
		{"image_url", "absolute http or https URL", func(p *api.PerkRecord) { p.ImageURL = new("ftp://a/b") }},
		{"valid_to", "must be after valid_from", func(p *api.PerkRecord) { p.ValidFrom, p.ValidTo = &at, &at }},
	} {
		perk := api.PerkRecord{Perk: validPerk(), Approval: api.ApprovalAuto}
		c.change(&perk)
		wantFault(t, "the perk", perk.Validate(), c.field, c.want)
	}
}

func TestCategoryRules(t *testing.T) {
	if err := (&api.Category{ID: "food-drink", Name: "Food & Drink"}).Validate(); err != nil {
		t.Error(err)
	}
	wantFault(t, "the category", (&api.Category{Name: "Food"}).Validate(), "id", "1 to 64 characters of")
	wantFault(t, "the category", (&api.Category{ID: "food"}).Validate(), "category_name", "must not be blank")
	wantFault(t, "the category", (&api.Category{ID: "food", Name: strings.Repeat("a", 121)}).Validate(),
		"category_name", "at most 120 characters")
}

func TestMiddleOfPoints(t *testing.T) {
	for name, test := range map[string]struct {
		points []api.Point
		want   string
	}{
		"of one":                        {[]api.Point{{Lat: 52.52, Lng: 13.405}}, "52.52,13.405"},
		"of two":                        {[]api.Point{{Lat: 52, Lng: 13}, {Lat: 54, Lng: 13}}, "53,13"},
		"on both sides of the 180th":    {[]api.Point{{Lat: 0, Lng: 179}, {Lat: 0, Lng: -177}}, "0,-179"},
		"around the pole":               {[]api.Point{{Lat: 80, Lng: 0}, {Lat: 80, Lng: 120}, {Lat: 80, Lng: -120}}, "90,0"},
		"of opposite points, it is not": {[]api.Point{{Lat: 0, Lng: 0}, {Lat: 0, Lng: 180}}, "none"},
		"of none":                       {nil, "none"},
	} {
		got := "none"
		if middle := api.Middle(test.points); middle != nil {
			got = middle.String()
		}
		if test.want == "90,0" { // at the pole, any longitude is right
			got = got[:len("90,")] + "0"
		}
		if got != test.want {
			t.Errorf("the middle %s is %s, want %s", name, got, test.want)
		}
	}
}

func TestPointsAsText(t *testing.T) {
	for text, want := range map[string]*api.Point{
		"52.52,13.405": {Lat: 52.52, Lng: 13.405}, "-0.00001,180": {Lat: -0.00001, Lng: 180},
		"": nil, "Rome": nil, "91,0": nil, "1": nil,
	} {
		got := api.ParsePoint(text)
		if (got == nil) != (want == nil) || got != nil && (*got != *want || got.String() != text) {
			t.Errorf("%q is read as %v", text, got)
		}
	}
}
