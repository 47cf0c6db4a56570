package storetest

import (
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var catalogTests = []test{
	{"a perk is read as it was imported, every field of it", func(f *fixture) {
		want := fullPerk("full")
		f.addPerks(want)
		got, err := f.Perk(f.ctx, "full")
		f.must(err)
		f.equal("perk", got, want.Perk)
	}},
	{"what a perk lacks is null, not empty", func(f *fixture) {
		want := perk("bare")
		f.addPerks(want)
		got, err := f.Perk(f.ctx, "bare")
		f.must(err)
		f.equal("perk", got, want.Perk)
	}},
	{"a perk that is not there is not found", func(f *fixture) {
		_, err := f.Perk(f.ctx, "missing")
		f.fails("read", err, api.CodeNotFound)
	}},
	{"ids differ by case", func(f *fixture) {
		f.addPerks(perk("a"), perk("A"))
		_, total := f.list(store.PerkQuery{})
		f.equal("total", total, int64(2))
	}},
	{"times are kept to the microsecond, in UTC, whatever their zone", func(f *fixture) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.FixedZone("", 3600))
		first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
		f.addPerks(perk("p", created(at), from(first), to(last)))
		got, err := f.Perk(f.ctx, "p")
		f.must(err)
		f.equal("created_at", got.CreatedAt, time.Date(2026, 1, 2, 2, 4, 5, 123_456_000, time.UTC))
		f.equal("valid_from", *got.ValidFrom, first)
		f.equal("valid_to", *got.ValidTo, last)
	}},
	{"hostile text is text", func(f *fixture) {
		hostile := `'); DROP TABLE perks; --" OR "1"="1 % _ \ {} 👾`
		f.addPerks(perk("p", title(hostile), city(hostile), category(hostile)))
		f.finds("by city", store.PerkQuery{City: hostile}, "p")
		f.finds("by category", store.PerkQuery{Category: hostile}, "p")
		f.finds("by text", store.PerkQuery{Text: hostile}, "p")
		f.finds("by a pattern", store.PerkQuery{City: "%"})
	}},
	{"there are no categories at first, and the list is not nil", func(f *fixture) {
		categories, err := f.Categories(f.ctx)
		f.must(err)
		if categories == nil || len(categories) != 0 {
			f.Errorf("got %#v, want an empty list", categories)
		}
	}},
	{"categories come by folded name, then id", func(f *fixture) {
		f.addCategories(api.Category{ID: "z", Name: "éclair"}, api.Category{ID: "c", Name: "apple"}, api.Category{ID: "b", Name: "Apple"},
			api.Category{ID: "a", Name: "Zoo"}, api.Category{ID: "d", Name: "Banana"})
		categories, err := f.Categories(f.ctx)
		f.must(err)
		f.equal("categories", categories, []api.Category{
			{ID: "b", Name: "Apple"}, {ID: "c", Name: "apple"}, {ID: "d", Name: "Banana"}, {ID: "a", Name: "Zoo"}, {ID: "z", Name: "éclair"},
		})
	}},
}
