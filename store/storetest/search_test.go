package storetest_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var filterTests = []test{
	{"without filters every valid perk is listed", func(f *fixture) {
		f.addPerks(perk("a"), perk("b"))
		f.finds("all", store.PerkQuery{}, "a", "b")
	}},
	{"an empty store lists nothing, and the list is not nil", func(f *fixture) {
		f.finds("nothing", store.PerkQuery{})
		f.finds("nothing near", by(api.PerkFilter{Near: &api.Circle{RadiusKM: 10}}))
	}},
	{"text matches when each word begins a word of title, merchant or description", func(f *fixture) {
		f.addPerks(
			perk("a", title("Free Coffee"), description("Fresh every morning."), merchant("Café Röst")),
			perk("b", title("Coffee beans"), description("Ground for you."), merchant("Bean & Co")),
			perk("c", title("Tea"), description("No coffee here, 2for1!")),
		)
		f.finds("a word", by(api.PerkFilter{Query: "coffee"}), "a", "b", "c")
		f.finds("the beginning of a word", by(api.PerkFilter{Query: "cof"}), "a", "b", "c")
		f.finds("one letter", by(api.PerkFilter{Query: "f"}), "a", "b")
		f.finds("another case", by(api.PerkFilter{Query: "COFFEE FREE"}), "a")
		f.finds("an accent in another encoding", by(api.PerkFilter{Query: "cafe\u0301 RO\u0308ST"}), "a")
		f.finds("words of three fields", by(api.PerkFilter{Query: "free morn röst"}), "a")
		f.finds("digits", by(api.PerkFilter{Query: "2for"}), "c")
		f.finds("punctuation separates words", by(api.PerkFilter{Query: "bean&co"}), "b")
		f.finds("the end of a word does not match", by(api.PerkFilter{Query: "offee"}))
		f.finds("one word of two is not enough", by(api.PerkFilter{Query: "coffee cocoa"}))
		f.finds("operators of a query language are words", by(api.PerkFilter{Query: "coffee OR tea NOT"}))
		f.finds("a text without words matches every perk", by(api.PerkFilter{Query: " -* \"' "}), "a", "b", "c")
	}},
	{"a perk without words matches no word", func(f *fixture) {
		f.addPerks(perk("a", title("!!!"), description("?")))
		f.finds("no word", store.PerkQuery{}, "a")
		f.finds("a word", by(api.PerkFilter{Query: "null"}))
	}},
	{"text search follows changes of a perk", func(f *fixture) {
		f.addPerks(perk("a", title("Coffee")), perk("b", title("Coffee")))
		f.addPerks(perk("a", title("Tea")))
		f.finds("the old word", by(api.PerkFilter{Query: "coffee"}), "b")
		f.finds("the new word", by(api.PerkFilter{Query: "tea"}), "a")
	}},
	{"a category is found by name or id, in any case", func(f *fixture) {
		f.addCategories(api.Category{ID: "Eat-1", Name: "Food & Drink"}, api.Category{ID: "fun", Name: "Fun"})
		f.addPerks(perk("a", category("food & DRINK")), perk("b", category("Fun")), perk("c"))
		f.finds("name", by(api.PerkFilter{Category: "FOOD & drink"}), "a")
		f.finds("id", by(api.PerkFilter{Category: "eat-1"}), "a")
		f.finds("part of a name", by(api.PerkFilter{Category: "Food"}))
		f.finds("unknown", by(api.PerkFilter{Category: "Nothing"}))
	}},
	{"a text that is one category's name and another's id finds both", func(f *fixture) {
		f.addCategories(api.Category{ID: "fun", Name: "Games"}, api.Category{ID: "other", Name: "Fun"})
		f.addPerks(perk("a", category("Games")), perk("b", category("Fun")), perk("c", category("Food")))
		f.finds("both", by(api.PerkFilter{Category: "fun"}), "a", "b")
	}},
	{"a city matches in full and in any case", func(f *fixture) {
		f.addPerks(perk("a", city("São Paulo")), perk("b", city("Paulo")), perk("c", city("STRASSE")))
		f.finds("case", by(api.PerkFilter{City: "SÃO PAULO"}), "a")
		f.finds("whole", by(api.PerkFilter{City: "paulo"}), "b")
		f.finds("full folding", by(api.PerkFilter{City: "straße"}), "c")
	}},
	{"a perk is expired from valid_to on", func(f *fixture) {
		f.addPerks(perk("a"), perk("b", to(now)), perk("c", to(now.Add(time.Microsecond))),
			perk("d", to(now.Add(-time.Hour))))
		f.finds("valid", store.PerkQuery{}, "a", "c")
		f.finds("all", by(api.PerkFilter{IncludeExpired: true}), "a", "b", "c", "d")
		f.finds("a moment later", store.PerkQuery{At: now.Add(time.Microsecond)}, "a")
		f.finds("a moment before", store.PerkQuery{At: now.Add(-time.Microsecond)}, "a", "b", "c")
	}},
	{"a perk that is not valid yet is listed", func(f *fixture) {
		f.addPerks(perk("a", from(now.Add(time.Hour))))
		f.finds("all", store.PerkQuery{}, "a")
	}},
	{"near finds what is within the radius", func(f *fixture) {
		f.addPerks(perk("a", position(53.8, -1.55)), perk("b", position(53.8, -1.45)), perk("c", position(54.8, -1.55)),
			perk("d"))
		near := func(km float64) store.PerkQuery {
			return by(api.PerkFilter{Near: &api.Circle{Lat: 53.8, Lng: -1.55, RadiusKM: km}})
		}
		f.finds("6.5 km", near(6.5), "a")
		f.finds("6.6 km", near(6.6), "a", "b")
		f.finds("300 km", near(300), "a", "b", "c")
	}},
	{"near reaches across the antimeridian", func(f *fixture) {
		f.addPerks(perk("east", position(-17, 179.95)), perk("line", position(-17, 180)),
			perk("line2", position(-17, -180)),
			perk("west", position(-17, -179.95)), perk("far", position(-17, 0)))
		for _, lng := range []float64{179.99, -179.99, 180, -180} {
			f.finds("20 km", by(api.PerkFilter{Near: &api.Circle{Lat: -17, Lng: lng,
				RadiusKM: 20}}), "east", "line", "line2", "west")
		}
	}},
	{"near reaches over the poles", func(f *fixture) {
		f.addPerks(perk("a", position(89.9, 0)), perk("b", position(89.9, 180)), perk("c", position(90, 77)),
			perk("d", position(-90, 0)))
		f.finds("north", by(api.PerkFilter{Near: &api.Circle{Lat: 89.95, Lng: 0, RadiusKM: 20}}), "a", "b", "c")
		f.finds("south", by(api.PerkFilter{Near: &api.Circle{Lat: -89.9, Lng: 120, RadiusKM: 20}}), "d")
	}},
	{"filters combine", func(f *fixture) {
		match := []perkChange{title("Coffee"), city("Leeds"), category("Food"), position(53.8, -1.55)}
		f.addPerks(perk("a", match...),
			perk("city", append(match, city("York"))...), perk("category", append(match, category("Fun"))...),
			perk("text", append(match, title("Tea"))...), perk("position", append(match, position(0, 0))...),
			perk("expired", append(match, to(now))...))
		f.finds("all five", by(api.PerkFilter{Query: "coffee", City: "leeds", Category: "food",
			Near: &api.Circle{Lat: 53.8, Lng: -1.55, RadiusKM: 1}}), "a")
	}},
	{"available to a user is what that user could redeem now", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("begun", from(now)), perk("early", from(now.Add(time.Microsecond))), perk("expired", to(now)),
			perk("live"), perk("pending", manual), perk("rejected", manual), perk("last", stock(1)),
			perk("none", stock(0)), perk("two", stock(2)))
		for _, id := range []string{"live", "pending", "rejected"} {
			f.redeem(attempt(id, "ann"))
		}
		f.redeem(attempt("last", "bob"))
		f.redeem(attempt("two", "bob"))
		must(f.DecideRedemption(f.ctx, "rejected-ann", store.Decision{Status: api.StatusRejected}, store.Operator,
			now))(f)
		f.finds("ann", store.PerkQuery{AvailableTo: "ann"}, "begun", "rejected", "two")
		f.finds("bob", store.PerkQuery{AvailableTo: "bob", PerkFilter: api.PerkFilter{IncludeExpired: true}}, "begun",
			"live", "pending", "rejected")
		f.finds("ann, by text", store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{Query: "two"}}, "two")
		f.finds("ann, by the text of a redeemed perk",
			store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{Query: "live"}})
		f.finds("ann, by city", store.PerkQuery{AvailableTo: "ann", PerkFilter: api.PerkFilter{City: "leeds"}}, "begun",
			"rejected", "two")
	}},
	{"a redemption changes what is available at once", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"), perk("b"))
		f.finds("before", store.PerkQuery{AvailableTo: "ann"}, "a", "b")
		f.redeem(attempt("a", "ann"))
		f.finds("after", store.PerkQuery{AvailableTo: "ann"}, "b")
	}},
	{"available to an unknown user is an error", func(f *fixture) {
		f.fails("list", errOf(f.ListPerks(f.ctx, store.PerkQuery{AvailableTo: "nobody", At: now,
			Window: store.Window{Page: 1, PerPage: 1}})), api.CodeNotFound)
	}},
	{"totals and pages show an import at once", func(f *fixture) {
		f.addPerks(perk("a"))
		f.finds("one", by(api.PerkFilter{City: "Leeds"}), "a")
		f.addPerks(perk("b"))
		f.finds("two", by(api.PerkFilter{City: "Leeds"}), "a", "b")
		f.addPerks(perk("a", city("York")))
		f.finds("one again", by(api.PerkFilter{City: "Leeds"}), "b")
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
			f.finds(fmt.Sprintf("available in minute %d", n), store.PerkQuery{At: minute(n), AvailableTo: "ann"},
				available...)
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

var orderTests = []test{
	{"text sorts folded and by code point, nulls last, equal ones by id, in both directions", func(f *fixture) {
		f.addPerks(perk("b", merchant("apple")), perk("a", merchant("Apple")), perk("c", merchant("Éclair")),
			perk("d", merchant("Zoo")),
			perk("e"), perk("f", merchant("eclair")), perk("0"), perk("g", merchant("straße")),
			perk("h", merchant("STRASSEN")))
		f.finds("ascending", store.PerkQuery{Sort: asc("merchant_name")}, "a", "b", "f", "g", "h", "d", "c", "0", "e")
		f.finds("descending", store.PerkQuery{Sort: desc("merchant_name")}, "c", "d", "h", "g", "f", "b", "a", "e", "0")
	}},
	{"without a sort key the order is that of the ids", func(f *fixture) {
		f.addPerks(perk("b"), perk("A"), perk("a"), perk("B"), perk("-"), perk("_"), perk("1"))
		f.finds("all", store.PerkQuery{}, "-", "1", "A", "B", "_", "a", "b")
	}},
	{"dates sort by instant, nulls last in both directions", func(f *fixture) {
		f.addPerks(perk("a", to(now.Add(2*time.Hour))), perk("b"), perk("c", to(now.Add(time.Hour))),
			perk("d", to(now.Add(time.Hour))))
		f.finds("ascending", store.PerkQuery{Sort: asc("valid_to")}, "c", "d", "a", "b")
		f.finds("descending", store.PerkQuery{Sort: desc("valid_to")}, "a", "d", "c", "b")
	}},
	{"an order follows what an import changes", func(f *fixture) {
		terms := func(text string) perkChange { return func(p *store.PerkRecord) { p.Terms = ptr(text) } }
		f.addPerks(perk("a", terms("äb")), perk("b", terms("ÄA")), perk("c", terms("z")))
		f.finds("before", store.PerkQuery{Sort: asc("terms")}, "c", "b", "a")
		f.addPerks(perk("a", terms("y")), perk("b"), perk("c", terms("ÄZ")), perk("d", terms("Ä")))
		f.finds("after", store.PerkQuery{Sort: asc("terms")}, "a", "d", "c", "b")
	}},
	{"distance sorts by distance", func(f *fixture) {
		f.addPerks(perk("far", position(53.9, -1.5)), perk("at", position(53.8, -1.5)),
			perk("near", position(53.81, -1.5)),
			perk("also-at", position(53.8, -1.5)), perk("nowhere"))
		near := &api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 50}
		f.finds("ascending", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, Sort: asc(api.SortDistance)},
			"also-at", "at", "near", "far")
		f.finds("descending", store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, Sort: desc(api.SortDistance)},
			"far", "near", "at", "also-at")
		for _, page := range []int64{1, 2} {
			query := store.PerkQuery{PerkFilter: api.PerkFilter{Near: near}, Sort: asc(api.SortDistance),
				Window: store.Window{Page: page, PerPage: 3}}
			list := must(f.ListPerks(f.ctx, query))(f)
			f.equal("distances", list.DistancesKM, [][]float64{{0, 0, 1.111}, {11.119}}[page-1])
		}
	}},
	{"the first page of 100 perks of a city has their middle", func(f *fixture) {
		f.addPerks(perk("a", position(53.8, -1.5)), perk("b", position(54, -1.5)), perk("c", position(54.2, -1.5)),
			perk("d"), perk("e", func(p *store.PerkRecord) { p.City = "York" }))
		centre := func(filter api.PerkFilter, page int64, perPage int) string {
			list := must(f.ListPerks(f.ctx, store.PerkQuery{PerkFilter: filter,
				Window: store.Window{Page: page, PerPage: perPage}}))(f)
			if list.Centre == nil {
				return "none"
			}
			return list.Centre.String()
		}
		leeds := api.PerkFilter{City: "LEEDS"}
		f.equal("of all", centre(leeds, 1, 100), "54,-1.5")
		f.equal("of a shorter page", centre(leeds, 1, 10), "none")
		f.equal("of a later page", centre(leeds, 2, 100), "none")
		f.equal("of none with a position", centre(api.PerkFilter{City: "York"}, 1, 100), "none")
		f.equal("without a city", centre(api.PerkFilter{}, 1, 100), "none")
		leeds.Near = &api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 100}
		f.equal("of a circle", centre(leeds, 1, 100), "none")
	}},
	{"distances are along great circles", func(f *fixture) {
		for _, test := range []struct{ lat1, lng1, lat2, lng2, want float64 }{
			{51.5, -0.1, 51.5, -0.1, 0},
			{0, 0, 1, 0, 111.195},
			{60, 0, 60, 1, 55.597},
			{51.5074, -0.1278, 48.8566, 2.3522, 343.556}, // London and Paris
			{0, 179.5, 0, -179.5, 111.195},
		} {
			f.addPerks(perk("a", position(test.lat2, test.lng2)))
			near := &api.Circle{Lat: test.lat1, Lng: test.lng1, RadiusKM: 500}
			list := must(f.ListPerks(f.ctx, store.PerkQuery{PerkFilter: api.PerkFilter{Near: near},
				Window: store.Window{Page: 1, PerPage: 10}}))(f)
			f.equal(fmt.Sprint(test), list.DistancesKM, []float64{test.want})
		}
	}},
	{"relevance puts titles with all words first", func(f *fixture) {
		f.addPerks(perk("a", title("A museum"), description("last hour")), perk("b", title("The Last Ticket, TWICE")),
			perk("c", title("Last one"), description("twice the fun")),
			perk("d", title("Ticket"), description("the last, twice")), perk("e", title("At last")))
		relevant := func(words string, keys ...api.SortKey) store.PerkQuery {
			return store.PerkQuery{PerkFilter: api.PerkFilter{Query: words},
				Sort: append([]api.SortKey{{Field: api.SortRelevance}}, keys...)}
		}
		f.finds("one word", relevant("LAST"), "b", "c", "e", "a", "d")
		f.finds("then by title", relevant("last", api.SortKey{Field: "title", Desc: true}), "b", "c", "e", "d", "a")
		f.finds("two words", relevant("last twi"), "b", "c", "d")
		f.finds("no title", relevant("hour"), "a")
		f.finds("descending", store.PerkQuery{PerkFilter: api.PerkFilter{Query: "last"}, Sort: desc(api.SortRelevance)},
			"d", "a", "e", "c", "b")
	}},
	{"the next key sorts equal values", func(f *fixture) {
		f.addPerks(perk("a", title("x"), city("b")), perk("b", title("x"), city("a")), perk("c", title("w"), city("z")))
		f.finds("title, then city", store.PerkQuery{Sort: []api.SortKey{{Field: "title"}, {Field: "city"}}}, "c", "b",
			"a")
		f.finds("title down, then city up",
			store.PerkQuery{Sort: []api.SortKey{{Field: "title", Desc: true}, {Field: "city"}}}, "b", "a", "c")
	}},
	{"followed by cursor, a list has each perk that stays once, while others come and go", followWhileOthersWrite},
	{"every order, filtered or not, is the same by page, at once, and sorted in memory", walkEveryOrder},
}

func asc(field string) []api.SortKey  { return []api.SortKey{{Field: field}} }
func desc(field string) []api.SortKey { return []api.SortKey{{Field: field, Desc: true}} }

// walkEveryOrder compares pages with what a plain sort of the same records gives, for each field in both directions and
// for pairs of fields, under each filter. Few values in many perks make most of them equal in any one field.
func walkEveryOrder(f *fixture) {
	perks := manyEqualPerks(61)
	f.addPerks(perks...)
	circle := &api.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 40}
	filters := []struct {
		name  string
		query store.PerkQuery
		match func(store.PerkRecord) bool
	}{
		{"all", by(api.PerkFilter{IncludeExpired: true}), func(store.PerkRecord) bool { return true }},
		{"valid", store.PerkQuery{}, func(p store.PerkRecord) bool { return p.ValidTo == nil || p.ValidTo.After(now) }},
		{"in a city", by(api.PerkFilter{IncludeExpired: true, City: "YORK"}),
			func(p store.PerkRecord) bool { return store.Fold(p.City) == "york" }},
		{"in a category", by(api.PerkFilter{IncludeExpired: true, Category: "food"}), func(p store.PerkRecord) bool {
			return p.Category != nil && store.Fold(*p.Category) == "food"
		}},
		{"with a word", by(api.PerkFilter{IncludeExpired: true, Query: "bet"}), func(p store.PerkRecord) bool {
			return store.Fold(p.Title) == "beta"
		}},
		{"near", by(api.PerkFilter{IncludeExpired: true, Near: circle}), func(p store.PerkRecord) bool {
			return p.Lat != nil && distanceKM(circle.Lat, circle.Lng, *p.Lat, *p.Lng) <= circle.RadiusKM
		}},
	}
	for number, filter := range filters {
		for i, keys := range everyOrder(filter.query) {
			if !storetest.OneIn(3, number+i) {
				continue
			}
			query := filter.query
			query.Sort = keys
			want := sorted(perks, filter.match, keys, circle)
			what := fmt.Sprintf("%s, sorted by %q", filter.name, api.FormatSort(keys))
			f.finds(what, query, want...)
			f.equal(what+", page by page", f.walk(query, 16), want)
			f.equal(what+", by cursor", f.follow(query, 16, func() {}), want)
		}
	}
}

// everyOrder returns each field alone and each with the next one, in all directions.
func everyOrder(query store.PerkQuery) (orders [][]api.SortKey) {
	fields := slices.DeleteFunc(api.PerkSortFields(), func(field string) bool { return !query.CanSortBy(field) })
	directions := []bool{false, true}
	for i, field := range fields {
		next := fields[(i+1)%len(fields)]
		for _, down := range directions {
			orders = append(orders, []api.SortKey{{Field: field, Desc: down}})
			for _, nextDown := range directions {
				orders = append(orders, []api.SortKey{{Field: field, Desc: down}, {Field: next, Desc: nextDown}})
			}
		}
	}
	return orders
}

// distanceKM is the great-circle distance between two points in degrees.
func distanceKM(lat1, lng1, lat2, lng2 float64) float64 {
	const degree = math.Pi / 180
	sinLat, sinLng := math.Sin((lat2-lat1)*degree/2), math.Sin((lng2-lng1)*degree/2)
	h := sinLat*sinLat + math.Cos(lat1*degree)*math.Cos(lat2*degree)*sinLng*sinLng
	return 2 * store.EarthRadiusKM * math.Asin(math.Min(1, math.Sqrt(h)))
}

func (f *fixture) walk(query store.PerkQuery, perPage int) []string {
	f.Helper()
	var ids []string
	for page := int64(1); ; page++ {
		query.Window = store.Window{Page: page, PerPage: perPage}
		items, _ := f.list(query)
		if len(items) == 0 {
			return ids
		}
		ids = append(ids, items...)
	}
}

// followWhileOthersWrite adds perks before and after the place of each cursor, and has every fourth perk expire.
func followWhileOthersWrite(f *fixture) {
	some := func(i int, changes ...perkChange) store.PerkRecord {
		return perk(fmt.Sprintf("p%02d", i),
			append(changes, title(fmt.Sprintf("m%02d", i*7%40)), city([]string{"York", "Leeds"}[i%2]))...)
	}
	orders := [][]api.SortKey{nil, asc("title"), desc("title"), asc("category"), desc("city"), asc("description"),
		{{Field: "city"}, {Field: "title", Desc: true}}}
	for number, keys := range orders {
		if !storetest.OneIn(2, number) {
			continue
		}
		for i := range 40 {
			f.addPerks(some(i))
		}
		n := 0
		seen := map[string]int{}
		for _, id := range f.follow(store.PerkQuery{Sort: keys}, 6, func() {
			n++
			for _, end := range []string{"a", "z"} {
				f.addPerks(perk(fmt.Sprintf("%s%d-%d", end, number, n), title(end), city(end), category(end)))
			}
			f.addPerks(some(4*n%40, to(now)))
		}) {
			seen[id]++
		}
		for id, times := range seen {
			if times > 1 {
				f.Errorf("sorted by %q, %s comes %d times", api.FormatSort(keys), id, times)
			}
		}
		for i := range 40 {
			if id := some(i).ID; i%4 != 0 && seen[id] == 0 {
				f.Errorf("sorted by %q, %s is missing", api.FormatSort(keys), id)
			}
		}
	}
}

// follow walks a list by its cursors, which cross the wire as text. Between pages it calls between.
func (f *fixture) follow(query store.PerkQuery, perPage int, between func()) (ids []string) {
	f.Helper()
	query.At, query.Window = now, store.Window{Page: 1, PerPage: perPage}
	for {
		page := must(f.ListPerks(f.ctx, query))(f)
		for _, p := range page.Items {
			ids = append(ids, p.ID)
		}
		if page.Next == nil {
			return ids
		}
		query.After = must(store.ParseCursor(page.Next.Text(query.Sort), query.Sort))(f)
		query.Window.Page++
		between()
	}
}

// manyEqualPerks picks each value from a short list, at steps without a common factor, so that all combinations occur.
func manyEqualPerks(n int) (perks []store.PerkRecord) {
	pick := func(i int, values ...string) *string {
		if value := values[i%len(values)]; value != "" {
			return &value
		}
		return nil
	}
	when := func(i int, hours ...int) *time.Time {
		if h := hours[i%len(hours)]; h != 0 {
			return ptr(now.Add(time.Duration(h) * time.Hour))
		}
		return nil
	}
	for i := range n {
		p := perk(fmt.Sprintf("%c%02d", "zA_9b"[i%5], i*37%100),
			title(*pick(i, "Alpha", "beta", "BETA", "gamma", "Ämter", "alpha")),
			city(*pick(i/2, "York", "york", "Leeds")))
		p.Category, p.MerchantName = pick(i/3, "Food", "", "Fun"), pick(i/4, "", "m", "M", "", "n")
		p.Description = *pick(i/2, "about", "About", "straße", "STRASSE", "Zoo", "ZOO é", "zoo E\u0301")
		p.ImageURL = pick(i/3, "", "https://img.example/B", "https://img.example/ä", "HTTPS://img.example/b",
			"https://img.example/Ä")
		p.DiscountText, p.Terms = pick(i/4, "10%", "", "ÉTÉ", "été", "Zehn", "10%"),
			pick(i/5, "Σίσυφος", "ΣΊΣΥΦΟΣ", "", "a", "A", "Ω")
		p.ValidFrom, p.ValidTo = when(i/5, 0, -2, -1), when(i/2, 0, 1, -1, 1, 0, 5, 9)
		p.CreatedAt, p.UpdatedAt = *when(i/7, 1, 2, 3), *when(i, 1, 2)
		if i%4 != 0 {
			position(53.5+float64(i%7)/10, -1.5+float64(i%3)/10)(&p)
		}
		perks = append(perks, p)
	}
	return perks
}

// sorted returns the ids that a list must have: the matching perks, by a plain sort.
func sorted(
	perks []store.PerkRecord, match func(store.PerkRecord) bool, keys []api.SortKey, from *api.Circle,
) []string {
	perks = slices.DeleteFunc(slices.Clone(perks), func(p store.PerkRecord) bool { return !match(p) })
	slices.SortFunc(perks, func(a, b store.PerkRecord) int {
		for _, key := range keys {
			if order := compareField(key, a, b, from); order != 0 {
				return order
			}
		}
		if len(keys) > 0 && keys[len(keys)-1].Desc {
			return strings.Compare(b.ID, a.ID)
		}
		return strings.Compare(a.ID, b.ID)
	})
	ids := []string{}
	for _, p := range perks {
		ids = append(ids, p.ID)
	}
	return ids
}

func compareField(key api.SortKey, a, b store.PerkRecord, from *api.Circle) int {
	x, y := sortValue(key.Field, a, from), sortValue(key.Field, b, from)
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	case key.Desc:
		return strings.Compare(*y, *x)
	}
	return strings.Compare(*x, *y)
}

// sortValue returns a text that sorts like the field, or nil for null.
func sortValue(field string, p store.PerkRecord, from *api.Circle) *string {
	switch field {
	case "id":
		return &p.ID
	case api.SortRelevance:
		return ptr(fmt.Sprint(!strings.Contains(store.Fold(p.Title), "bet")))
	case api.SortDistance:
		return ptr(fmt.Sprintf("%020.6f", distanceKM(from.Lat, from.Lng, *p.Lat, *p.Lng)))
	}
	switch value := map[string]any{
		"title": &p.Title, "description": &p.Description, "image_url": p.ImageURL, "discount_text": p.DiscountText,
		"terms": p.Terms, "category": p.Category, "merchant_name": p.MerchantName, "city": &p.City,
		"valid_from": p.ValidFrom, "valid_to": p.ValidTo, "created_at": &p.CreatedAt, "updated_at": &p.UpdatedAt,
	}[field].(type) {
	case *string:
		if value != nil {
			return ptr(store.Fold(*value))
		}
	case *time.Time:
		if value != nil {
			return ptr(value.UTC().Format("2006-01-02T15:04:05.000000"))
		}
	default:
		panic("no field " + field)
	}
	return nil
}

var catalogTests = []test{
	{"a perk is read as imported, with every field", func(f *fixture) {
		want := fullPerk("full")
		f.addPerks(want)
		got := must(f.Perk(f.ctx, "full"))(f)
		f.equal("perk", got, want.Perk)
	}},
	{"missing fields of a perk are null, not empty", func(f *fixture) {
		want := perk("bare")
		f.addPerks(want)
		got := must(f.Perk(f.ctx, "bare"))(f)
		f.equal("perk", got, want.Perk)
	}},
	{"an unknown perk is not found", func(f *fixture) {
		f.fails("read", errOf(f.Perk(f.ctx, "missing")), api.CodeNotFound)
	}},
	{"ids differ by case", func(f *fixture) {
		f.addPerks(perk("a"), perk("A"))
		_, total := f.list(store.PerkQuery{})
		f.equal("total", total, int64(2))
	}},
	{"times are stored to the microsecond, in UTC, whatever their zone", func(f *fixture) {
		at := time.Date(2026, 1, 2, 3, 4, 5, 123_456_789, time.FixedZone("", 3600))
		first, last := time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
			time.Date(9999, 12, 31, 23, 59, 59, 999_999_000, time.UTC)
		f.addPerks(perk("p", created(at), from(first), to(last)))
		got := must(f.Perk(f.ctx, "p"))(f)
		f.equal("created_at", got.CreatedAt, time.Date(2026, 1, 2, 2, 4, 5, 123_456_000, time.UTC))
		f.equal("valid_from", *got.ValidFrom, first)
		f.equal("valid_to", *got.ValidTo, last)
	}},
	{"hostile text is stored as text", func(f *fixture) {
		hostile := `'); DROP TABLE perks; --" OR "1"="1 % _ \ {} 👾`
		f.addPerks(perk("p", title(hostile), city(hostile), category(hostile)))
		f.finds("by city", by(api.PerkFilter{City: hostile}), "p")
		f.finds("by category", by(api.PerkFilter{Category: hostile}), "p")
		f.finds("by text", by(api.PerkFilter{Query: hostile}), "p")
		f.finds("by a pattern", by(api.PerkFilter{City: "%"}))
	}},
	{"there are no categories at first, and the list is not nil", func(f *fixture) {
		categories := must(f.Categories(f.ctx))(f)
		if categories == nil || len(categories) != 0 {
			f.Errorf("got %#v, want an empty list", categories)
		}
	}},
	{"categories are sorted by folded name, then id", func(f *fixture) {
		f.addCategories(api.Category{ID: "z", Name: "éclair"}, api.Category{ID: "c", Name: "apple"},
			api.Category{ID: "b", Name: "Apple"},
			api.Category{ID: "a", Name: "Zoo"}, api.Category{ID: "d", Name: "Banana"})
		categories := must(f.Categories(f.ctx))(f)
		f.equal("categories", categories, []api.Category{
			{ID: "b", Name: "Apple"}, {ID: "c", Name: "apple"}, {ID: "d", Name: "Banana"}, {ID: "a", Name: "Zoo"},
			{ID: "z", Name: "éclair"},
		})
	}},
}
