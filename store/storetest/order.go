package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var orderTests = []test{
	{"text sorts folded and by code point, nulls last in both directions, the id between equals", func(f *fixture) {
		f.addPerks(perk("b", merchant("apple")), perk("a", merchant("Apple")), perk("c", merchant("Éclair")), perk("d", merchant("Zoo")),
			perk("e"), perk("f", merchant("eclair")), perk("0"), perk("g", merchant("straße")), perk("h", merchant("STRASSEN")))
		f.finds("ascending", store.PerkQuery{Sort: asc("merchant_name")}, "a", "b", "f", "g", "h", "d", "c", "0", "e")
		f.finds("descending", store.PerkQuery{Sort: desc("merchant_name")}, "c", "d", "h", "g", "f", "a", "b", "0", "e")
	}},
	{"without a sort key the order is that of the ids", func(f *fixture) {
		f.addPerks(perk("b"), perk("A"), perk("a"), perk("B"), perk("-"), perk("_"), perk("1"))
		f.finds("all", store.PerkQuery{}, "-", "1", "A", "B", "_", "a", "b")
	}},
	{"dates sort by instant, nulls last in both directions", func(f *fixture) {
		f.addPerks(perk("a", to(now.Add(2*time.Hour))), perk("b"), perk("c", to(now.Add(time.Hour))), perk("d", to(now.Add(time.Hour))))
		f.finds("ascending", store.PerkQuery{Sort: asc("valid_to")}, "c", "d", "a", "b")
		f.finds("descending", store.PerkQuery{Sort: desc("valid_to")}, "a", "c", "d", "b")
	}},
	{"an order follows what an import changes", func(f *fixture) {
		terms := func(text string) perkChange { return func(p *store.PerkRecord) { p.Terms = ptr(text) } }
		f.addPerks(perk("a", terms("äb")), perk("b", terms("ÄA")), perk("c", terms("z")))
		f.finds("before", store.PerkQuery{Sort: asc("terms")}, "c", "b", "a")
		f.addPerks(perk("a", terms("y")), perk("b"), perk("c", terms("ÄZ")), perk("d", terms("Ä")))
		f.finds("after", store.PerkQuery{Sort: asc("terms")}, "a", "d", "c", "b")
	}},
	{"distance sorts by distance", func(f *fixture) {
		f.addPerks(perk("far", position(53.9, -1.5)), perk("at", position(53.8, -1.5)), perk("near", position(53.81, -1.5)),
			perk("also-at", position(53.8, -1.5)), perk("nowhere"))
		near := &store.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 50}
		f.finds("ascending", store.PerkQuery{Near: near, Sort: asc(api.SortDistance)}, "also-at", "at", "near", "far")
		f.finds("descending", store.PerkQuery{Near: near, Sort: desc(api.SortDistance)}, "far", "near", "also-at", "at")
	}},
	{"a later key decides between equals of the former", func(f *fixture) {
		f.addPerks(perk("a", title("x"), city("b")), perk("b", title("x"), city("a")), perk("c", title("w"), city("z")))
		f.finds("title, then city", store.PerkQuery{Sort: []api.SortKey{{Field: "title"}, {Field: "city"}}}, "c", "b", "a")
		f.finds("title down, then city up", store.PerkQuery{Sort: []api.SortKey{{Field: "title", Desc: true}, {Field: "city"}}}, "b", "a", "c")
	}},
	{"every order, filtered or not, is the same page by page as at once, and as sorting in memory", walkEveryOrder},
}

func asc(field string) []api.SortKey  { return []api.SortKey{{Field: field}} }
func desc(field string) []api.SortKey { return []api.SortKey{{Field: field, Desc: true}} }

// walkEveryOrder compares pages with what a plain sort of the same records gives, for each field in both directions and
// for pairs of fields, under each filter. Few values in many perks make most of them equal in any one field.
func walkEveryOrder(f *fixture) {
	perks := manyEqualPerks(61)
	f.addPerks(perks...)
	circle := &store.Circle{Lat: 53.8, Lng: -1.5, RadiusKM: 40}
	filters := []struct {
		name  string
		query store.PerkQuery
		match func(store.PerkRecord) bool
	}{
		{"all", store.PerkQuery{IncludeExpired: true}, func(store.PerkRecord) bool { return true }},
		{"valid", store.PerkQuery{}, func(p store.PerkRecord) bool { return p.ValidTo == nil || p.ValidTo.After(now) }},
		{"in a city", store.PerkQuery{IncludeExpired: true, City: "YORK"}, func(p store.PerkRecord) bool { return store.Fold(p.City) == "york" }},
		{"in a category", store.PerkQuery{IncludeExpired: true, Category: "food"}, func(p store.PerkRecord) bool {
			return p.Category != nil && store.Fold(*p.Category) == "food"
		}},
		{"with a word", store.PerkQuery{IncludeExpired: true, Text: "bet"}, func(p store.PerkRecord) bool {
			return store.Fold(p.Title) == "beta"
		}},
		{"near", store.PerkQuery{IncludeExpired: true, Near: circle}, func(p store.PerkRecord) bool {
			return p.Lat != nil && store.DistanceKM(circle.Lat, circle.Lng, *p.Lat, *p.Lng) <= circle.RadiusKM
		}},
	}
	for _, filter := range filters {
		for _, keys := range everyOrder(filter.query.Near != nil) {
			query := filter.query
			query.Sort = keys
			want := sorted(perks, filter.match, keys, circle)
			what := fmt.Sprintf("%s, sorted by %q", filter.name, api.FormatSort(keys))
			f.finds(what, query, want...)
			f.equal(what+", page by page", f.walk(query, 7), want)
		}
	}
}

// everyOrder is each field alone and each with its neighbour, in all directions.
func everyOrder(withDistance bool) (orders [][]api.SortKey) {
	fields := api.PerkSortFields()
	if !withDistance {
		fields = slices.DeleteFunc(fields, func(field string) bool { return field == api.SortDistance })
	}
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

// manyEqualPerks takes each value from a short list, by steps that share no factor, so that all combinations come up.
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
		p := perk(fmt.Sprintf("%c%02d", "zA_9b"[i%5], i*37%100), title(*pick(i, "Alpha", "beta", "BETA", "gamma", "Ämter", "alpha")),
			city(*pick(i/2, "York", "york", "Leeds")))
		p.Category, p.MerchantName = pick(i/3, "Food", "", "Fun"), pick(i/4, "", "m", "M", "", "n")
		p.Description = *pick(i/2, "about", "About", "straße", "STRASSE", "Zoo", "ZOO é", "zoo E\u0301")
		p.ImageURL = pick(i/3, "", "https://img.example/B", "https://img.example/ä", "HTTPS://img.example/b", "https://img.example/Ä")
		p.DiscountText, p.Terms = pick(i/4, "10%", "", "ÉTÉ", "été", "Zehn", "10%"), pick(i/5, "Σίσυφος", "ΣΊΣΥΦΟΣ", "", "a", "A", "Ω")
		p.ValidFrom, p.ValidTo = when(i/5, 0, -2, -1), when(i/2, 0, 1, -1, 1, 0, 5, 9)
		p.CreatedAt, p.UpdatedAt = *when(i/7, 1, 2, 3), *when(i, 1, 2)
		if i%4 != 0 {
			position(53.5+float64(i%7)/10, -1.5+float64(i%3)/10)(&p)
		}
		perks = append(perks, p)
	}
	return perks
}

// sorted is what a list must give: the ids of the perks that match, by a plain sort.
func sorted(perks []store.PerkRecord, match func(store.PerkRecord) bool, keys []api.SortKey, from *store.Circle) []string {
	perks = slices.DeleteFunc(slices.Clone(perks), func(p store.PerkRecord) bool { return !match(p) })
	slices.SortFunc(perks, func(a, b store.PerkRecord) int {
		for _, key := range keys {
			if order := compareField(key, a, b, from); order != 0 {
				return order
			}
		}
		return strings.Compare(a.ID, b.ID)
	})
	ids := []string{}
	for _, p := range perks {
		ids = append(ids, p.ID)
	}
	return ids
}

func compareField(key api.SortKey, a, b store.PerkRecord, from *store.Circle) int {
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

// sortValue is a field as a text that compares as the field does, or nil for null.
func sortValue(field string, p store.PerkRecord, from *store.Circle) *string {
	text := func(s *string) *string {
		if s == nil {
			return nil
		}
		return ptr(store.Fold(*s))
	}
	instant := func(t *time.Time) *string {
		if t == nil {
			return nil
		}
		return ptr(t.UTC().Format("2006-01-02T15:04:05.000000"))
	}
	switch field {
	case "id":
		return &p.ID
	case "title":
		return text(&p.Title)
	case "description":
		return text(&p.Description)
	case "image_url":
		return text(p.ImageURL)
	case "discount_text":
		return text(p.DiscountText)
	case "terms":
		return text(p.Terms)
	case "category":
		return text(p.Category)
	case "merchant_name":
		return text(p.MerchantName)
	case "city":
		return text(&p.City)
	case "valid_from":
		return instant(p.ValidFrom)
	case "valid_to":
		return instant(p.ValidTo)
	case "created_at":
		return instant(&p.CreatedAt)
	case "updated_at":
		return instant(&p.UpdatedAt)
	case api.SortDistance:
		return ptr(fmt.Sprintf("%020.6f", store.DistanceKM(from.Lat, from.Lng, *p.Lat, *p.Lng)))
	}
	panic("no field " + field)
}
