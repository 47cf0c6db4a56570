package storetest

import (
	"fmt"
	"math"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var filterTests = []test{
	{"without filters every valid perk is listed", func(f *fixture) {
		f.addPerks(perk("a"), perk("b"))
		f.finds("all", store.PerkQuery{}, "a", "b")
	}},
	{"an empty store lists nothing, and the list is not nil", func(f *fixture) {
		f.finds("nothing", store.PerkQuery{})
		f.finds("nothing near", store.PerkQuery{Near: &store.Circle{RadiusKM: 10}})
	}},
	{"text matches when each word begins a word of title, merchant or description", func(f *fixture) {
		f.addPerks(
			perk("a", title("Free Coffee"), description("Fresh every morning."), merchant("Café Röst")),
			perk("b", title("Coffee beans"), description("Ground for you."), merchant("Bean & Co")),
			perk("c", title("Tea"), description("No coffee here, 2for1!")),
		)
		f.finds("a word", store.PerkQuery{Text: "coffee"}, "a", "b", "c")
		f.finds("the beginning of a word", store.PerkQuery{Text: "cof"}, "a", "b", "c")
		f.finds("one letter", store.PerkQuery{Text: "f"}, "a", "b")
		f.finds("another case", store.PerkQuery{Text: "COFFEE FREE"}, "a")
		f.finds("an accent in another encoding", store.PerkQuery{Text: "cafe\u0301 RO\u0308ST"}, "a")
		f.finds("words of three fields", store.PerkQuery{Text: "free morn röst"}, "a")
		f.finds("digits", store.PerkQuery{Text: "2for"}, "c")
		f.finds("signs part words", store.PerkQuery{Text: "bean&co"}, "b")
		f.finds("an end of a word is no beginning", store.PerkQuery{Text: "offee"})
		f.finds("one word of two is not enough", store.PerkQuery{Text: "coffee cocoa"})
		f.finds("words of a query language are words", store.PerkQuery{Text: "coffee OR tea NOT"})
		f.finds("no word at all asks for nothing", store.PerkQuery{Text: " -* \"' "}, "a", "b", "c")
	}},
	{"text follows a perk that is changed", func(f *fixture) {
		f.addPerks(perk("a", title("Coffee")), perk("b", title("Coffee")))
		f.addPerks(perk("a", title("Tea")))
		f.finds("the old word", store.PerkQuery{Text: "coffee"}, "b")
		f.finds("the new word", store.PerkQuery{Text: "tea"}, "a")
	}},
	{"a category goes by its name or its id, without regard to case", func(f *fixture) {
		f.addCategories(api.Category{ID: "Eat-1", Name: "Food & Drink"}, api.Category{ID: "fun", Name: "Fun"})
		f.addPerks(perk("a", category("food & DRINK")), perk("b", category("Fun")), perk("c"))
		f.finds("name", store.PerkQuery{Category: "FOOD & drink"}, "a")
		f.finds("id", store.PerkQuery{Category: "eat-1"}, "a")
		f.finds("part of a name", store.PerkQuery{Category: "Food"})
		f.finds("unknown", store.PerkQuery{Category: "Nothing"})
	}},
	{"a text that is one category's name and another's id finds both", func(f *fixture) {
		f.addCategories(api.Category{ID: "fun", Name: "Games"}, api.Category{ID: "other", Name: "Fun"})
		f.addPerks(perk("a", category("Games")), perk("b", category("Fun")), perk("c", category("Food")))
		f.finds("both", store.PerkQuery{Category: "fun"}, "a", "b")
	}},
	{"a city matches whole and without regard to case", func(f *fixture) {
		f.addPerks(perk("a", city("São Paulo")), perk("b", city("Paulo")), perk("c", city("STRASSE")))
		f.finds("case", store.PerkQuery{City: "SÃO PAULO"}, "a")
		f.finds("whole", store.PerkQuery{City: "paulo"}, "b")
		f.finds("full folding", store.PerkQuery{City: "straße"}, "c")
	}},
	{"a perk is expired from valid_to on", func(f *fixture) {
		f.addPerks(perk("a"), perk("b", to(now)), perk("c", to(now.Add(time.Microsecond))), perk("d", to(now.Add(-time.Hour))))
		f.finds("valid", store.PerkQuery{}, "a", "c")
		f.finds("all", store.PerkQuery{IncludeExpired: true}, "a", "b", "c", "d")
		f.finds("a moment later", store.PerkQuery{At: now.Add(time.Microsecond)}, "a")
		f.finds("a moment before", store.PerkQuery{At: now.Add(-time.Microsecond)}, "a", "b", "c")
	}},
	{"a perk that has not begun is listed", func(f *fixture) {
		f.addPerks(perk("a", from(now.Add(time.Hour))))
		f.finds("all", store.PerkQuery{}, "a")
	}},
	{"near finds what is within the radius", func(f *fixture) {
		f.addPerks(perk("a", position(53.8, -1.55)), perk("b", position(53.8, -1.45)), perk("c", position(54.8, -1.55)), perk("d"))
		near := func(km float64) store.PerkQuery {
			return store.PerkQuery{Near: &store.Circle{Lat: 53.8, Lng: -1.55, RadiusKM: km}}
		}
		f.finds("6.5 km", near(6.5), "a")
		f.finds("6.6 km", near(6.6), "a", "b")
		f.finds("300 km", near(300), "a", "b", "c")
	}},
	{"near reaches across the antimeridian", func(f *fixture) {
		f.addPerks(perk("east", position(-17, 179.95)), perk("line", position(-17, 180)), perk("line2", position(-17, -180)),
			perk("west", position(-17, -179.95)), perk("far", position(-17, 0)))
		for _, lng := range []float64{179.99, -179.99, 180, -180} {
			f.finds("20 km", store.PerkQuery{Near: &store.Circle{Lat: -17, Lng: lng, RadiusKM: 20}}, "east", "line", "line2", "west")
		}
	}},
	{"near reaches over the poles", func(f *fixture) {
		f.addPerks(perk("a", position(89.9, 0)), perk("b", position(89.9, 180)), perk("c", position(90, 77)), perk("d", position(-90, 0)))
		f.finds("north", store.PerkQuery{Near: &store.Circle{Lat: 89.95, Lng: 0, RadiusKM: 20}}, "a", "b", "c")
		f.finds("south", store.PerkQuery{Near: &store.Circle{Lat: -89.9, Lng: 120, RadiusKM: 20}}, "d")
	}},
	{"filters go together", func(f *fixture) {
		match := []perkChange{title("Coffee"), city("Leeds"), category("Food"), position(53.8, -1.55)}
		f.addPerks(perk("a", match...),
			perk("city", append(match, city("York"))...), perk("category", append(match, category("Fun"))...),
			perk("text", append(match, title("Tea"))...), perk("place", append(match, position(0, 0))...),
			perk("expired", append(match, to(now))...))
		f.finds("all five", store.PerkQuery{Text: "coffee", City: "leeds", Category: "food",
			Near: &store.Circle{Lat: 53.8, Lng: -1.55, RadiusKM: 1}}, "a")
	}},
	{"available to a user is what that user could redeem now", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("begun", from(now)), perk("early", from(now.Add(time.Microsecond))), perk("expired", to(now)),
			perk("live"), perk("pending", manual), perk("rejected", manual), perk("last", stock(1)), perk("none", stock(0)), perk("two", stock(2)))
		for _, id := range []string{"live", "pending", "rejected"} {
			f.redeem(attempt(id, "ann"))
		}
		f.redeem(attempt("last", "bob"))
		f.redeem(attempt("two", "bob"))
		_, err := f.DecideRedemption(f.ctx, "rejected-ann", api.StatusRejected, store.Operator, now)
		f.must(err)
		f.finds("ann", store.PerkQuery{AvailableTo: "ann"}, "begun", "rejected", "two")
		f.finds("bob", store.PerkQuery{AvailableTo: "bob", IncludeExpired: true}, "begun", "live", "pending", "rejected")
		f.finds("ann, by text", store.PerkQuery{AvailableTo: "ann", Text: "two"}, "two")
		f.finds("ann, by text of what she has", store.PerkQuery{AvailableTo: "ann", Text: "live"})
		f.finds("ann, by city", store.PerkQuery{AvailableTo: "ann", City: "leeds"}, "begun", "rejected", "two")
	}},
	{"a redemption changes what is available at once", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"), perk("b"))
		f.finds("before", store.PerkQuery{AvailableTo: "ann"}, "a", "b")
		f.redeem(attempt("a", "ann"))
		f.finds("after", store.PerkQuery{AvailableTo: "ann"}, "b")
	}},
	{"available to an unknown user is an error", func(f *fixture) {
		_, err := f.ListPerks(f.ctx, store.PerkQuery{AvailableTo: "nobody", At: now, Window: store.Window{Page: 1, PerPage: 1}})
		f.fails("list", err, api.CodeNotFound)
	}},
	{"an import shows in totals and pages at once", func(f *fixture) {
		f.addPerks(perk("a"))
		f.finds("one", store.PerkQuery{City: "Leeds"}, "a")
		f.addPerks(perk("b"))
		f.finds("two", store.PerkQuery{City: "Leeds"}, "a", "b")
		f.addPerks(perk("a", city("York")))
		f.finds("one again", store.PerkQuery{City: "Leeds"}, "b")
	}},
	{"totals follow the clock, forwards and back", func(f *fixture) {
		f.addUsers("ann")
		minute := func(n int) time.Time { return now.Add(time.Duration(n) * time.Minute) }
		for i := range 10 {
			f.addPerks(perk(fmt.Sprint(i), from(minute(i)), to(minute(i+5))))
		}
		for _, n := range []int{0, 1, 0, 7, 6, 12, 14, 15, 3} {
			var listed, available []string
			for i := range 10 {
				if n < i+5 {
					listed = append(listed, fmt.Sprint(i))
				}
				if i <= n && n < i+5 {
					available = append(available, fmt.Sprint(i))
				}
			}
			f.finds(fmt.Sprintf("all in minute %d", n), store.PerkQuery{At: minute(n)}, listed...)
			f.finds(fmt.Sprintf("available in minute %d", n), store.PerkQuery{At: minute(n), AvailableTo: "ann"}, available...)
		}
	}},
	{"a page past the end is empty and has the right total", func(f *fixture) {
		f.addPerks(perk("a"), perk("b"), perk("c"))
		for _, page := range []int64{3, 4, 1000, math.MaxInt64} {
			ids, total := f.list(store.PerkQuery{Window: store.Window{Page: page, PerPage: 2}})
			f.equal("items", ids, []string{})
			f.equal("total", total, int64(3))
		}
	}},
}
