package storetest_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var propertyListTests = []test{
	{"every filter selects what it says, in every order, by pages and by cursors", func(f *fixture) {
		records := f.manyProperties(120)
		for name, query := range propertyQueries {
			f.walkEveryPropertyOrder(name, records, query)
		}
	}},
	{"any combination of filters selects what it says", func(f *fixture) {
		records := f.manyProperties(80)
		random := rand.New(rand.NewPCG(7, 7))
		for n := range 25 {
			var query store.PropertyQuery
			for _, part := range propertyQueries {
				if random.IntN(3) == 0 {
					query = both(query, part)
				}
			}
			f.walkEveryPropertyOrder(fmt.Sprintf("%d: %s of %q", n, query.Values().Encode(), query.Owner), records,
				query)
		}
	}},
	{"among many properties, a page is found however late its matches come", func(f *fixture) {
		const many, late = 5000, 2200
		records := f.manyProperties(many)
		for i := range records {
			p := &records[i]
			if i >= many-late { // too many to be collected, and too late to be among the first
				p.Title, p.PricePW, p.Bedrooms, p.City, p.Owner = "late", price(f, fmt.Sprint(10000+i/5)),
					4+max(i%10-7, 0), "Late", "none"
			}
			if i >= many-20 {
				p.Description = "rare"
			}
		}
		f.addProperties(records...)
		queries := map[string]store.PropertyQuery{}
		for name, filter := range map[string]api.PropertyFilter{
			"late": {Query: "late"}, "late, its beginning": {Query: "lat"}, "late and rare": {Query: "late rare"},
			"rare": {Query: "rare"}, "dear": {MinPrice: mustPrice("10000")}, "cheap": {MaxPrice: mustPrice("0.5")},
			"large":          {MinBedrooms: ptr(4)},
			"late and dear":  {Query: "late", MinPrice: mustPrice("10700")},
			"rare and large": {Query: "rare", MinBedrooms: ptr(5)},
			"dear and large": {MinPrice: mustPrice("10700"), MinBedrooms: ptr(5)},
			"a city's dear":  {City: "late", MinPrice: mustPrice("10700")},
		} {
			queries[name] = store.PropertyQuery{PropertyFilter: filter}
		}
		queries["an owner's dear"] = store.PropertyQuery{Owner: "none",
			PropertyFilter: api.PropertyFilter{MinPrice: mustPrice("10700")}}
		queries["an owner's dear and large"] = store.PropertyQuery{Owner: "none",
			PropertyFilter: api.PropertyFilter{MinPrice: mustPrice("10700"), MinBedrooms: ptr(5)}}
		queries["an owner's late in a city"] = store.PropertyQuery{Owner: "none",
			PropertyFilter: api.PropertyFilter{City: "Late", Query: "late"}}
		for number, name := range slices.Sorted(maps.Keys(queries)) {
			query := queries[name]
			for i, field := range api.PropertySortFields() {
				if !storetest.OneIn(3, number+i) {
					continue
				}
				for _, query.Sort = range [][]api.SortKey{asc(field), desc(field)} {
					want := selectedProperties(f, records, query)
					for _, from := range []int{len(want) / 2, len(want) - 3} {
						f.equal(fmt.Sprintf("%s by %s from %d", name, api.FormatSort(query.Sort), from),
							f.propertiesAfter(query, want[from-1], records), want[from:min(from+7, len(want))])
					}
					all, matches := selectedProperties(f, records, store.PropertyQuery{Sort: query.Sort}),
						map[string]bool{}
					for _, id := range want {
						matches[id] = true
					}
					for _, from := range []int{100, many - 100} { // wherever the filter's own begin
						after := slices.DeleteFunc(slices.Clone(all[from:]),
							func(id string) bool { return !matches[id] })
						f.equal(fmt.Sprintf("%s by %s after any %d", name, api.FormatSort(query.Sort), from),
							f.propertiesAfter(query, all[from-1], records), after[:min(7, len(after))])
					}
					query.Window, query.After = store.Window{Page: 2, PerPage: 7}, nil
					f.equal(name+" on page 2 by "+api.FormatSort(query.Sort), idsOf(must(f.ListProperties(f.ctx,
						query))(f).Items), want[min(7, len(want)):min(14, len(want))])
				}
			}
		}
	}},
	{"lists know every change of a property", func(f *fixture) {
		f.addClients("owner")
		listed := func(filter api.PropertyFilter) []string {
			f.Helper()
			query := store.PropertyQuery{PropertyFilter: filter, Window: store.Window{Page: 1, PerPage: 10}}
			var ids []string
			for _, p := range must(f.ListProperties(f.ctx, query))(f).Items {
				ids = append(ids, fmt.Sprint(p.ID))
			}
			return ids
		}
		bath, york, old, new := api.PropertyFilter{City: " BATH"}, api.PropertyFilter{City: "York"},
			api.PropertyFilter{Query: "mill"}, api.PropertyFilter{Query: "barn"}
		dear := api.PropertyFilter{MinPrice: ptr(price(f, "1000"))}
		f.addProperties(property(1, "owner", inCity("Bath"), titled("Old mill")))
		f.equal("imported", []any{listed(bath), listed(old)}, []any{[]string{"1"}, []string{"1"}})
		f.must(f.update(1, func(p *store.PropertyRecord) error {
			p.City, p.Title, p.PricePW = "York", "Barn", price(f, "1000.00")
			return nil
		}))
		f.equal("not as before", []any{listed(bath), listed(old)}, []any{[]string(nil), []string(nil)})
		f.equal("updated", []any{listed(york), listed(new), listed(dear)},
			[]any{[]string{"1"}, []string{"1"}, []string{"1"}})
		f.must(f.delete(1, nil))
		f.equal("deleted", []any{listed(york), listed(new), listed(dear)},
			[]any{[]string(nil), []string(nil), []string(nil)})
		must(f.restore(1))(f)
		f.equal("restored", []any{listed(york), listed(new), listed(dear)},
			[]any{[]string{"1"}, []string{"1"}, []string{"1"}})
		f.addProperties(property(1, "owner", inCity("Bath"), titled("Old mill")))
		f.equal("imported again", []any{listed(york), listed(new), listed(bath), listed(old)},
			[]any{[]string(nil), []string(nil), []string{"1"}, []string{"1"}})
		created := f.create(creation("owner", "", func(p *api.Property) { p.City, p.Title = "bath", "New MILL" }))
		f.equal("created", []any{listed(bath), listed(old)},
			[]any{[]string{"1", fmt.Sprint(created.Property.ID)}, []string{"1", fmt.Sprint(created.Property.ID)}})
	}},
	{"properties are counted up to a bound, in every filter", func(f *fixture) {
		f.addClients("owner")
		var many []store.PropertyRecord
		for i := range store.MaxCounted + 1 {
			many = append(many, property(int64(i+1), "owner", inCity("Bath")))
		}
		for _, more := range []bool{false, true} {
			f.addProperties(many[:store.MaxCounted]...)
			if more {
				f.addProperties(many...)
			}
			for name, query := range map[string]store.PropertyQuery{
				"all": {}, "an owner": {Owner: "owner"}, "a city": {PropertyFilter: api.PropertyFilter{City: "Bath"}},
				"words":    {PropertyFilter: api.PropertyFilter{Query: "flat"}},
				"a price":  {PropertyFilter: api.PropertyFilter{MaxPrice: ptr(price(f, "9999"))}},
				"bedrooms": {PropertyFilter: api.PropertyFilter{MinBedrooms: ptr(0)}},
			} {
				query.Window = store.Window{Page: 1, PerPage: 1}
				list := must(f.ListProperties(f.ctx, query))(f)
				f.equal(name, []any{list.Total, list.IsMore}, []any{int64(store.MaxCounted), more})
			}
		}
	}},
	{"a page of properties past the end is empty, and has the total", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		list := must(f.ListProperties(f.ctx, store.PropertyQuery{Window: store.Window{Page: 3, PerPage: 100}}))(f)
		f.equal("list", list, store.List[api.Property]{Items: []api.Property{}, Total: 1})
	}},
	{"a created property is stored whole, and its creation is in the audit log", func(f *fixture) {
		f.addClients("owner")
		want := property(1, "owner")
		created := f.create(creation("owner", "", func(p *api.Property) { *p = want.Property }))
		f.equal("created", created, store.CreatedProperty{Property: want.Property})
		f.equal("read", f.property(1), want)
		f.equal("audit", f.actions("property/1"), []string{store.ActionCreateProperty})
	}},
	{"a new property never has the id of another one, not of a deleted one either", func(f *fixture) {
		f.addClients("owner")
		f.equal("the first", f.create(creation("owner", "")).Property.ID, int64(1))
		f.addProperties(property(70, "owner"))
		f.equal("after an import", f.create(creation("owner", "")).Property.ID, int64(71))
		f.must(f.delete(71, nil))
		f.must(f.delete(70, nil))
		f.equal("after deletions", f.create(creation("owner", "")).Property.ID, int64(72))
		f.addProperties(property(1<<63-1, "owner"))
		f.fails("after the highest id", errOf(f.CreateProperty(f.ctx, creation("owner", ""))), api.CodeConflict)
	}},
	{"a key gives the first reply again, whatever happened to the property since", func(f *fixture) {
		f.addClients("owner")
		first := f.create(creation("owner", "k"))
		f.must(f.update(first.Property.ID, retitle("Changed")))
		again := first
		again.Replayed = true
		f.equal("changed", f.create(creation("owner", "k")), again)
		f.must(f.delete(first.Property.ID, nil))
		f.equal("deleted", f.create(creation("owner", "k")), again)
	}},
	{"a key belongs to one client and one request, for a day", func(f *fixture) {
		f.addClients("owner", "other")
		f.equal("the first", f.create(creation("owner", "k")).Property.ID, int64(1))
		f.equal("another client", f.create(creation("other", "k")).Property.ID, int64(2))
		another := creation("owner", "k")
		another.Key.Fingerprint[0]++
		f.fails("another request", errOf(f.CreateProperty(f.ctx, another)), api.CodeIdempotencyKeyReused)
		last := creation("owner", "k")
		last.At = now.Add(store.IdempotencyKeyLife)
		f.equal("at its end", f.create(last).Replayed, true)
		last.At = last.At.Add(time.Second)
		f.equal("expired", f.create(last),
			store.CreatedProperty{Property: func() api.Property { p := last.Property; p.ID = 3; return p }()})
		f.equal("purged", must(f.PurgeIdempotencyKeys(f.ctx, last.At))(f), int64(1))
	}},
	{"a key of a redemption is not one of a property, and the other way round", func(f *fixture) {
		f.addClients("shop")
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		redeemed := attempt("p", "ann")
		redeemed.Key = &store.IdempotencyKey{Key: "r"}
		f.redeem(redeemed)
		f.fails("create", errOf(f.CreateProperty(f.ctx, creation("shop", "r"))), api.CodeIdempotencyKeyReused)
		f.create(creation("shop", "c"))
		for range 2 { // PostgreSQL supposes that the next attempt at a perk is new
			redeemed = attempt("p", "bob")
			redeemed.Key = &store.IdempotencyKey{Key: "c", Fingerprint: [32]byte{1}}
			f.refuses("redeem", redeemed, api.CodeIdempotencyKeyReused)
		}
	}},
	{"of many creations at once under one key one is made, and without keys all", func(f *fixture) {
		f.addClients("owner")
		const each = 24
		created := make([]store.CreatedProperty, 2*each)
		var group errgroup.Group
		for i := range created {
			group.Go(func() (err error) {
				key := "same"
				if i%2 == 0 {
					key = ""
				}
				created[i], err = f.CreateProperty(f.ctx, creation("owner", key))
				return err
			})
		}
		f.must(group.Wait())
		ids, replays := map[int64]bool{}, 0
		for _, c := range created {
			ids[c.Property.ID] = true
			if c.Replayed {
				replays++
			}
		}
		f.equal("ids and replays", []int{len(ids), replays}, []int{each + 1, each - 1})
	}},
}

// TestPropertiesOfTwoReplicas has two programs add listings, restore and import at once.
func TestPropertiesOfTwoReplicas(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		one := newFixture(t, d.opened(t))
		other := newFixture(t, d.opened(t))
		one.addClients("owner")
		var group errgroup.Group
		for i, f := range []*fixture{one, other} {
			for n := range 20 {
				group.Go(func() error {
					_, err := f.CreateProperty(t.Context(), creation("owner", fmt.Sprint("key", n)))
					return err
				})
			}
			group.Go(func() error {
				// Far apart: an id that was created between the two imports would be replaced by the second.
				_, err := f.ImportProperties(t.Context(), rows(property(int64(500*(i+1)), "owner")), store.Operator,
					now)
				return err
			})
		}
		noError(t, group.Wait())
		one.equal("properties of 20 keys and of two imports", len(collect(one, one.ExportProperties(t.Context()))), 22)
	})
}

func creation(owner, key string, changes ...func(*api.Property)) store.PropertyCreation {
	c := store.PropertyCreation{Property: property(0, owner).Property, Owner: owner, At: now}
	c.Property.Title = "New"
	for _, change := range changes {
		change(&c.Property)
	}
	if key != "" {
		c.Key = &store.IdempotencyKey{Key: key}
	}
	return c
}

func (f *fixture) create(c store.PropertyCreation) store.CreatedProperty {
	f.Helper()
	return must(f.CreateProperty(f.ctx, c))(f)
}

func titled(title string) func(*store.PropertyRecord) {
	return func(p *store.PropertyRecord) { p.Title = title }
}
func inCity(city string) func(*store.PropertyRecord) {
	return func(p *store.PropertyRecord) { p.City = city }
}

func price(t testing.TB, digits string) api.Price {
	t.Helper()
	return must(api.ParsePrice(digits))(t)
}

var (
	somePrices = []string{"0", "0.00", "0.5", "9.99", "10", "10.0", "99.999999999999999999", "100", "100.00",
		"100.000000000000000001", "9007199254740993", "9007199254740992.5"}
	someCities = []string{"Bath", " bath", "BATH\t", "Straße", "STRASSE", "Ähren", "a\u0308hren", ""}
	someWords  = []string{"Sunny", "sunset", "ΣΊΣΥΦΟΣ", "σίσυφος", "flat", "it's", "7b", "x_y", "日本"}
)

// manyProperties adds listings with many equal values.
func (f *fixture) manyProperties(n int) (records []store.PropertyRecord) {
	f.Helper()
	f.addClients("owner", "other", "none")
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	for i := range n {
		records = append(records, property(int64(i*3+1), []string{"owner", "other"}[random.IntN(2)],
			func(p *store.PropertyRecord) {
				p.PricePW, p.City, p.Bedrooms = price(f, pick(somePrices)), pick(someCities), random.IntN(4)
				p.Title, p.Description, p.Address, p.Postcode = pick(someWords), pick(someWords)+", "+pick(someWords),
					pick(someWords), pick(someWords)
			}))
	}
	f.addProperties(records...)
	return records
}

func mustPrice(digits string) *api.Price {
	p, err := api.ParsePrice(digits)
	if err != nil {
		panic(err)
	}
	return &p
}

var propertyQueries = map[string]store.PropertyQuery{
	"all": {}, "of an owner": {Owner: "owner"}, "of an owner without any": {Owner: "none"},
	"in a city":          {PropertyFilter: api.PropertyFilter{City: "strasse"}},
	"in another case":    {PropertyFilter: api.PropertyFilter{City: "\tÄHREN "}},
	"in an unknown city": {PropertyFilter: api.PropertyFilter{City: "Atlantis"}},
	"a word":             {PropertyFilter: api.PropertyFilter{Query: "SUN"}},
	"two words":          {PropertyFilter: api.PropertyFilter{Query: "σίσυ fla"}},
	"parts of words":     {PropertyFilter: api.PropertyFilter{Query: "x y s 7"}},
	"no word":            {PropertyFilter: api.PropertyFilter{Query: "' % _"}},
	"an inner part":      {PropertyFilter: api.PropertyFilter{Query: "unny"}},
	"from a price":       {PropertyFilter: api.PropertyFilter{MinPrice: mustPrice("100")}},
	"up to a price":      {PropertyFilter: api.PropertyFilter{MaxPrice: mustPrice("10.00")}},
	"between prices": {PropertyFilter: api.PropertyFilter{MinPrice: mustPrice("100.0000000000000000001"),
		MaxPrice: mustPrice("9007199254740992.50")}},
	"bedrooms":             {PropertyFilter: api.PropertyFilter{MinBedrooms: ptr(2)}},
	"few bedrooms":         {PropertyFilter: api.PropertyFilter{MaxBedrooms: ptr(1)}},
	"a number of bedrooms": {PropertyFilter: api.PropertyFilter{MinBedrooms: ptr(1), MaxBedrooms: ptr(1)}},
	"too many bedrooms":    {PropertyFilter: api.PropertyFilter{MinBedrooms: ptr(9)}},
}

// both adds the filters of another query.
func both(a, b store.PropertyQuery) store.PropertyQuery {
	return store.PropertyQuery{Owner: cmp.Or(a.Owner, b.Owner), PropertyFilter: api.PropertyFilter{
		Query: strings.TrimSpace(a.Query + " " + b.Query), City: cmp.Or(a.City, b.City),
		MinPrice: cmp.Or(a.MinPrice, b.MinPrice), MaxPrice: cmp.Or(a.MaxPrice, b.MaxPrice),
		MinBedrooms: cmp.Or(a.MinBedrooms, b.MinBedrooms), MaxBedrooms: cmp.Or(a.MaxBedrooms, b.MaxBedrooms),
	}}
}

func (f *fixture) walkEveryPropertyOrder(name string, records []store.PropertyRecord, query store.PropertyQuery) {
	f.Helper()
	for _, field := range api.PropertySortFields() {
		for _, query.Sort = range [][]api.SortKey{asc(field), desc(field)} {
			want := selectedProperties(f, records, query)
			what := name + " by " + api.FormatSort(query.Sort)
			for _, byCursor := range []bool{false, true} {
				f.equal(fmt.Sprintf("%s, by cursors: %t", what, byCursor),
					f.walkProperties(query, int64(len(want)), byCursor), want)
			}
		}
	}
}

// selectedProperties returns the ids of the matching listings in the order of the query, a second opinion on the SQL.
func selectedProperties(t testing.TB, records []store.PropertyRecord, query store.PropertyQuery) []string {
	number := func(p api.Price) []string { // of the same length, so that they compare as numbers
		whole, part, _ := strings.Cut(p.String(), ".")
		return []string{fmt.Sprintf("%024s", whole), part + strings.Repeat("0", 24-len(part))}
	}
	records = slices.DeleteFunc(slices.Clone(records), func(r store.PropertyRecord) bool {
		words := store.Words(strings.Join([]string{r.Title, r.Description, r.Address, r.City, r.Postcode}, " "))
		lacksWord := slices.ContainsFunc(store.QueryWords(query.Query), func(wanted string) bool {
			return !slices.ContainsFunc(words, func(word string) bool { return strings.HasPrefix(word, wanted) })
		})
		return lacksWord || query.Owner != "" && r.Owner != query.Owner || strings.TrimSpace(query.City) != "" &&
			store.Fold(strings.TrimSpace(r.City)) != store.Fold(strings.TrimSpace(query.City)) ||
			query.MinPrice != nil && slices.Compare(number(r.PricePW), number(*query.MinPrice)) < 0 ||
			query.MaxPrice != nil && slices.Compare(number(r.PricePW), number(*query.MaxPrice)) > 0 ||
			query.MinBedrooms != nil && r.Bedrooms < *query.MinBedrooms ||
			query.MaxBedrooms != nil && r.Bedrooms > *query.MaxBedrooms
	})
	slices.SortFunc(records, func(a, b store.PropertyRecord) int {
		order := 0
		switch query.Sort[0].Field {
		case "price_pw":
			order = slices.Compare(number(a.PricePW), number(b.PricePW))
		case "bedrooms":
			order = cmp.Compare(a.Bedrooms, b.Bedrooms)
		}
		if order = cmp.Or(order, cmp.Compare(a.ID, b.ID)); query.Sort[0].Desc {
			return -order
		}
		return order
	})
	ids := []string{}
	for _, r := range records {
		ids = append(ids, strconv.FormatInt(r.ID, 10))
	}
	return ids
}

func idsOf(properties []api.Property) []string {
	ids := []string{}
	for _, p := range properties {
		ids = append(ids, strconv.FormatInt(p.ID, 10))
	}
	return ids
}

// propertiesAfter returns the ids of the page after a listing.
func (f *fixture) propertiesAfter(query store.PropertyQuery, id string, records []store.PropertyRecord) []string {
	f.Helper()
	query.After = &store.Cursor{ID: id}
	for _, r := range records {
		if strconv.FormatInt(r.ID, 10) == id {
			query.After.Values = []any{map[string]any{"propertyId": r.ID, "price_pw": r.PricePW.SortKey(),
				"bedrooms": int64(r.Bedrooms)}[query.Sort[0].Field]}
		}
	}
	query.Window = store.Window{Page: 1, PerPage: 7}
	return idsOf(must(f.ListProperties(f.ctx, query))(f).Items)
}

// walkProperties returns the ids of a list, page by page.
func (f *fixture) walkProperties(query store.PropertyQuery, total int64, byCursor bool) []string {
	f.Helper()
	const perPage = 7
	ids := []string{}
	for query.Window = (store.Window{Page: 1, PerPage: perPage}); ; query.Window.Page++ {
		list := must(f.ListProperties(f.ctx, query))(f)
		f.equal("total", list.Total, total)
		ids = append(ids, idsOf(list.Items)...)
		if (list.Next == nil) != (query.Window.Offset()+perPage >= total) {
			f.Fatalf("after %d of %d properties, the next page begins after %v", len(ids), total, list.Next)
		}
		if list.Next == nil {
			return ids
		}
		if byCursor {
			query.After = must(store.ParseCursor(list.Next.Text(query.Sort), query.Sort))(f)
			f.must(store.CheckPropertyCursor(query.After))
		}
	}
}
