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
