package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var errBadRow = errors.New("line 3 is wrong")

var importTests = []test{
	{"what is exported is what was imported, in the order of the ids", func(f *fixture) {
		f.addClients("owner")
		perks := []store.PerkRecord{fullPerk("full"), perk("bare"), perk("Zero", stock(0), position(0, -180))}
		properties := []store.PropertyRecord{property(10, "owner"), property(9, "owner")}
		f.addPerks(perks...)
		f.addUsers("b", "a", "B")
		f.addProperties(properties...)
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{perks[2], perks[1], perks[0]})
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "B"}, {ID: "a"}, {ID: "b"}})
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)),
			[]api.Category{{ID: "food-drink", Name: "Food & Drink"}})
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)),
			[]store.PropertyRecord{properties[1], properties[0]})
	}},
	{"importing an export changes nothing", func(f *fixture) {
		f.addClients("owner")
		f.addPerks(manyEqualPerks(20)...)
		f.addProperties(property(1, "owner"))
		before := collect(f, f.ExportPerks(f.ctx))
		n := must(f.ImportPerks(f.ctx, f.ExportPerks(f.ctx), f.noNewID, store.Operator, now.Add(time.Hour)))(f)
		f.equal("perks taken", n, store.Imported{Count: 20, Unchanged: 20})
		n = must(f.ImportCategories(f.ctx, f.ExportCategories(f.ctx), store.Operator, now))(f)
		f.equal("categories taken", n, store.Imported{Count: 2, Unchanged: 2})
		n = must(f.ImportProperties(f.ctx, f.ExportProperties(f.ctx), store.Operator, now))(f)
		f.equal("properties taken", n, store.Imported{Count: 1, Unchanged: 1})
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), before)
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{property(1, "owner")})
	}},
	{"a new perk without times or id gets them", func(f *fixture) {
		record := perk("")
		record.CreatedAt, record.UpdatedAt = time.Time{}, time.Time{}
		must(f.ImportPerks(f.ctx, rows(record), func() string { return "made" }, store.Operator, now.Add(time.Hour)))(f)
		got := must(f.Perk(f.ctx, "made"))(f)
		f.equal("created_at", got.CreatedAt, now.Add(time.Hour))
		f.equal("updated_at", got.UpdatedAt, now.Add(time.Hour))
	}},
	{"a known perk is replaced, but keeps its creation time and the units held", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(fullPerk("p"))
		f.redeem(attempt("p", "ann"))
		record := perk("p", stock(1))
		record.CreatedAt, record.UpdatedAt = time.Time{}, time.Time{}
		must(f.ImportPerks(f.ctx, rows(record), f.noNewID, store.Operator, now.Add(time.Hour)))(f)
		record.CreatedAt, record.UpdatedAt = fullPerk("p").CreatedAt, now.Add(time.Hour)
		f.equal("perk", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{record})
		f.refuses("the one unit is held", attempt("p", "bob"), api.CodeSoldOut)
	}},
	{"of two rows for one perk the last one counts", func(f *fixture) {
		f.addPerks(perk("p", title("First")), perk("q"), perk("p", title("Second")))
		f.equal("title", must(f.Perk(f.ctx, "p"))(f).Title, "Second")
		f.finds("by text", by(api.PerkFilter{Query: "first"}))
		f.finds("all", store.PerkQuery{}, "p", "q")
	}},
	{"a perk without an approval is auto", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", func(p *store.PerkRecord) { p.Approval = "" }))
		f.equal("status", f.redeem(attempt("p", "ann")).Redemption.Status, api.StatusApproved)
		f.equal("approval", collect(f, f.ExportPerks(f.ctx))[0].Approval, store.ApprovalAuto)
	}},
	{"unknown categories are made, with slugs of their names as ids", func(f *fixture) {
		f.addCategories(api.Category{ID: "taken", Name: "Something"})
		f.addPerks(perk("a", category("Food & Drink")), perk("b", category("Food: Drink")),
			perk("c", category("food & drink")),
			perk("d", category("Taken")), perk("e", category("Categories")), perk("f", category("食")),
			perk("g", category("Something")), perk("h"))
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{
			{ID: "categories-2", Name: "Categories"}, {ID: "category", Name: "食"},
			{ID: "food-drink", Name: "Food & Drink"},
			{ID: "food-drink-2", Name: "Food: Drink"}, {ID: "taken", Name: "Something"}, {ID: "taken-2", Name: "Taken"},
		})
		got := must(f.Perk(f.ctx, "c"))(f)
		f.equal("a perk has the exact name of its category", *got.Category, "Food & Drink")
	}},
	{"perks follow their category to a new name", func(f *fixture) {
		f.addCategories(api.Category{ID: "food", Name: "Food"}, api.Category{ID: "fun", Name: "Fun"})
		f.addPerks(perk("a", category("Food")), perk("b", category("Fun")), perk("c"))
		// the names are swapped
		f.addCategories(api.Category{ID: "food", Name: "Fun"}, api.Category{ID: "fun", Name: "Food"})
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)),
			[]api.Category{{ID: "food", Name: "Fun"}, {ID: "fun", Name: "Food"}})
		f.finds("the old Food", store.PerkQuery{PerkFilter: api.PerkFilter{Category: "food"}, Sort: asc("category")},
			"b", "a")
		a := must(f.Perk(f.ctx, "a"))(f)
		f.equal("a's category", *a.Category, "Fun")
		f.addCategories(api.Category{ID: "food", Name: "FUN!"})
		f.finds("by the new name", by(api.PerkFilter{Category: "fun!"}), "a")
		f.finds("by the id, which is another category's name", by(api.PerkFilter{Category: "food"}), "a", "b")
	}},
	{"perks whose category name is ambiguous belong to the category with the lower id", func(f *fixture) {
		f.addCategories(api.Category{ID: "a", Name: "Food"}, api.Category{ID: "b", Name: "Food"})
		f.addPerks(perk("p", category("Food")))
		f.addCategories(api.Category{ID: "b", Name: "Drink"})
		f.finds("the other is renamed", by(api.PerkFilter{Category: "a"}), "p")
		f.addCategories(api.Category{ID: "a", Name: "Meals"})
		f.finds("their category is renamed", by(api.PerkFilter{Category: "meals"}), "p")
	}},
	{"known users stay", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addUsers("bob", "eve", "eve")
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}, {ID: "bob"}, {ID: "eve"}})
	}},
	{"a known property is replaced, its owner too", func(f *fixture) {
		f.addClients("a", "b")
		f.addProperties(property(1, "a"))
		want := store.PropertyRecord{Property: api.Property{ID: 1, Title: "Only a title"}, Owner: "b"}
		f.addProperties(want)
		f.equal("property", f.property(1), want)
	}},
	{"a property needs a known owner", func(f *fixture) {
		f.addClients("a")
		_, err := f.ImportProperties(f.ctx, rows(property(1, "a"), property(2, "nobody")), store.Operator, now)
		f.fails("import", err, api.CodeNotFound)
		f.equal("the message", err.Error(), store.ClientNotFound("nobody").Error())
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{})
	}},
	{"an error of the rows is returned as it is and changes nothing", func(f *fixture) {
		f.addClients("owner")
		f.addPerks(perk("p", category("Old")))
		_, perks := f.ImportPerks(f.ctx, rowsThen(errBadRow, perk("p", title("Lost")), perk("q", category("Lost"))),
			f.noNewID, store.Operator, now)
		_, users := f.ImportUsers(f.ctx, rowsThen(errBadRow, store.User{ID: "lost"}), store.Operator, now)
		_, categories := f.ImportCategories(f.ctx, rowsThen(errBadRow, api.Category{ID: "old", Name: "Lost"}),
			store.Operator, now)
		_, properties := f.ImportProperties(f.ctx, rowsThen(errBadRow, property(1, "owner")), store.Operator, now)
		for _, err := range []error{perks, users, categories, properties} {
			if err != errBadRow {
				f.Errorf("got %v, want the error of the rows itself", err)
			}
		}
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{perk("p", category("Old"))})
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{})
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{{ID: "old", Name: "Old"}})
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{})
	}},
	{"an error of the rows is never treated as an error of the database", func(f *fixture) {
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled,
			store.PerkNotFound("p")} {
			if _, err := f.ImportPerks(f.ctx, rowsThen(want, perk("p")), f.noNewID, store.Operator,
				now); !errors.Is(err, want) || api.CodeOf(err) == api.CodeUnavailable {
				f.Errorf("got %v, want the error of the rows, %v", err, want)
			}
		}
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{})
	}},
	{"a cancelled import changes nothing", func(f *fixture) {
		ctx, cancel := context.WithCancel(f.ctx)
		asked := 0
		_, err := f.ImportUsers(ctx, func(yield func(store.User, error) bool) {
			for asked = range 1000 {
				if asked == 5 {
					cancel()
				}
				if !yield(store.User{ID: fmt.Sprint(asked)}, nil) {
					return
				}
			}
		}, store.Operator, now)
		if err == nil || asked > 500 {
			f.Errorf("the import returned %v after %d records", err, asked)
		}
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{})
	}},
	{"writes and reads continue while the rows of an import arrive", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		must(f.ImportPerks(f.ctx, func(yield func(store.PerkRecord, error) bool) {
			if !yield(perk("p", title("New")), nil) {
				return
			}
			f.redeem(attempt("p", "ann"))
			f.equal("title during the import", must(f.Perk(f.ctx, "p"))(f).Title, perk("p").Title)
			yield(perk("q"), nil)
		}, f.noNewID, store.Operator, now))(f)
		f.equal("redemptions", len(f.redemptions("ann")), 1)
		f.finds("all", store.PerkQuery{Sort: asc("title")}, "p", "q")
	}},
	{"an export can be stopped early", func(f *fixture) {
		f.addUsers("a", "b", "c")
		for range 50 { // an export must release its resources
			for user, err := range f.ExportUsers(f.ctx) {
				f.must(err)
				f.equal("first", user.ID, "a")
				break
			}
		}
	}},
	{"thousands of records are imported and exported in order", func(f *fixture) {
		var perks []store.PerkRecord
		for i := range 3000 {
			perks = append(perks, perk(fmt.Sprintf("%x", i*7919%3000), category(fmt.Sprint("Category ", i%10))))
		}
		f.addPerks(perks...)
		slices.SortFunc(perks, func(a, b store.PerkRecord) int { return cmp.Compare(a.ID, b.ID) })
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), perks)
		_, total := f.list(by(api.PerkFilter{Category: "category 3"}))
		f.equal("in a category", total, int64(300))
	}},
}

// partialImportTests are imports whose rows do not have every field.
var partialImportTests = []test{
	{"a known perk keeps the fields that its row does not have", func(f *fixture) {
		f.addPerks(fullPerk("p"), fullPerk("other"))
		later := now.Add(time.Hour)
		taken := must(f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","title":"Hot Cocoa"}`)), f.noNewID,
			store.Operator, later))(f)
		f.equal("taken", taken, store.Imported{Count: 1, Changed: 1})
		want := fullPerk("p")
		want.Title, want.UpdatedAt = "Hot Cocoa", later
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{fullPerk("other"), want})
		f.finds("by a word of the new title", by(api.PerkFilter{Query: "cocoa"}), "p")
		f.finds("by a word of the former title", by(api.PerkFilter{Query: "free"}), "other")
		f.finds("by a kept word", by(api.PerkFilter{Query: "röst"}), "other", "p")
		f.finds("by its position", by(api.PerkFilter{Near: &api.Circle{Lat: 53.96, Lng: -1.08,
			RadiusKM: 1}}), "other", "p")
		f.finds("by the kept category", by(api.PerkFilter{Category: "food-drink"}), "other", "p")
		f.finds("by the kept city", by(api.PerkFilter{City: "york"}), "other", "p")
	}},
	{"a known perk loses the fields that are empty in its row", func(f *fixture) {
		f.addPerks(fullPerk("p"))
		row := f.perkRow(2, `{"id":"p","category":null,"merchant_name":null,"image_url":null,
			"discount_text":null,"terms":null,
			"valid_from":null,"valid_to":null,"lat":null,"lng":null,"stock":null,"approval":null,"hold_for":null}`)
		must(f.ImportPerks(f.ctx, rows(row), f.noNewID, store.Operator, now))(f)
		want := perk("p", title("Free Coffee"), description("One cup, any size."), city("York"))
		want.CreatedAt = fullPerk("p").CreatedAt
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{want})
		f.finds("by a removed word", by(api.PerkFilter{Query: "röst"}))
		f.finds("by its former position", by(api.PerkFilter{Near: &api.Circle{Lat: 53.96, Lng: -1.08, RadiusKM: 1}}))
	}},
	{"an unchanged perk keeps its update time", func(f *fixture) {
		f.addPerks(fullPerk("p"))
		for _, row := range []string{`{"id":"p"}`, `{"id":"p","stock":7,"approval":"manual","category":"food & drink"}`,
			`{"id":"p","created_at":null,"updated_at":null}`} {
			taken := must(f.ImportPerks(f.ctx, rows(f.perkRow(2, row)), f.noNewID, store.Operator,
				now.Add(time.Hour)))(f)
			f.equal(row, taken, store.Imported{Count: 1, Unchanged: 1})
		}
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{fullPerk("p")})
		f.equal("entries about it", f.actions("perk/p"), []string{})
	}},
	{"the creation or update time of a perk can be imported alone", func(f *fixture) {
		f.addPerks(fullPerk("p"))
		want := fullPerk("p")
		for _, test := range []struct {
			row     string
			created time.Time
			updated time.Time
		}{
			{`{"id":"p","updated_at":"2020-01-02T00:00:00Z"}`, want.CreatedAt,
				time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)},
			{`{"id":"p","created_at":"2020-01-01T00:00:00Z"}`, time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC),
				now.Add(time.Hour)},
		} {
			taken := must(f.ImportPerks(f.ctx, rows(f.perkRow(2, test.row)), f.noNewID, store.Operator,
				now.Add(time.Hour)))(f)
			f.equal(test.row, taken, store.Imported{Count: 1, Changed: 1})
			want.CreatedAt, want.UpdatedAt = test.created, test.updated
			f.equal(test.row, collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{want})
		}
	}},
	{"an import counts what was created, changed and left unchanged", func(f *fixture) {
		f.addClients("owner")
		f.addUsers("ann")
		f.addCategories(api.Category{ID: "food", Name: "Food"}, api.Category{ID: "fun", Name: "Fun"})
		f.addPerks(perk("changed"), perk("left"))
		f.addProperties(property(1, "owner"), property(2, "owner"))
		want := store.Imported{Count: 3, Created: 1, Changed: 1, Unchanged: 1}
		perks := must(f.ImportPerks(f.ctx, rows(
			f.perkRow(2, `{"id":"changed","stock":1}`),
			f.perkRow(3, `{"id":"new","title":"Perk new","description":"About it.","city":"Leeds"}`), perk("left"),
		), f.noNewID, store.Operator, now))(f)
		f.equal("perks", perks, want)
		f.equal("perks after that", collect(f, f.ExportPerks(f.ctx)),
			[]store.PerkRecord{perk("changed", stock(1)), perk("left"), perk("new")})
		f.equal("their entry", f.lastEntry("perks").After, asJSON(want))
		properties := must(f.ImportProperties(f.ctx, rows(property(2, "owner",
			func(p *store.PropertyRecord) { p.Images = nil }), property(1, "owner"), property(3, "owner")),
			store.Operator, now))(f)
		f.equal("properties", properties, want)
		f.equal("their entry", f.lastEntry("properties").After, asJSON(want))
		categories := must(f.ImportCategories(f.ctx, rows(api.Category{ID: "food", Name: "Food"},
			api.Category{ID: "fun", Name: "FUN"}, api.Category{ID: "new", Name: "New"}), store.Operator, now))(f)
		f.equal("categories", categories, want)
		users := must(f.ImportUsers(f.ctx, rows(store.User{ID: "ann"}, store.User{ID: "bob"}, store.User{ID: "bob"}),
			store.Operator, now))(f)
		f.equal("users", users, store.Imported{Count: 2, Created: 1, Unchanged: 1})
	}},
	{"of two rows with one id the last counts, whatever fields it lacks", func(f *fixture) {
		f.addPerks(fullPerk("p"))
		taken := must(f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","title":"Lost","terms":null}`),
			f.perkRow(3, `{"id":"p","stock":8}`)), f.noNewID, store.Operator, now))(f)
		f.equal("taken", taken, store.Imported{Count: 1, Changed: 1})
		want := fullPerk("p")
		want.Stock, want.UpdatedAt = ptr[int64](8), now
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{want})
	}},
	{"a new perk needs its required fields, and gets defaults for the others", func(f *fixture) {
		must(f.ImportPerks(f.ctx, rows(f.perkRow(2,
			`{"id":"p","title":"Perk p","description":"About it.","city":"Leeds","stock":3}`)), f.noNewID,
			store.Operator, now))(f)
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{perk("p", stock(3))})
		_, err := f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","stock":9}`), f.perkRow(3,
			`{"id":"q","stock":9,"category":"Lost"}`), f.perkRow(5, `{"id":"r","city":"Bath","title":"R"}`)), f.noNewID,
			store.Operator, now)
		f.refusesRows("new perks without them", err, map[int]string{
			3: `there is no perk "q" yet, and a new one needs title, description, city`,
			5: `there is no perk "r" yet, and a new one needs description`,
		})
		f.equal("perks after that", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{perk("p", stock(3))})
		f.equal("categories after that", collect(f, f.ExportCategories(f.ctx)), []api.Category{})
	}},
	{"a row that is invalid together with the kept fields is refused by its line", func(f *fixture) {
		f.addPerks(fullPerk("p"), fullPerk("q"))
		_, err := f.ImportPerks(f.ctx, rows(
			f.perkRow(2, `{"id":"p","valid_to":"2020-01-01T00:00:00Z"}`), f.perkRow(3, `{"id":"q","lat":null}`),
			f.perkRow(4, `{"id":"new"}`),
		), f.noNewID, store.Operator, now)
		f.refusesRows("rows", err, map[int]string{
			2: "Some values are not valid. (valid_to must be after valid_from)",
			3: "Some values are not valid. (lat is required with lng)",
			4: `there is no perk "new" yet, and a new one needs title, description, city`,
		})
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{fullPerk("p"), fullPerk("q")})
	}},
	{"stock and approval before and after are recorded for each known perk in which they change", func(f *fixture) {
		f.addPerks(fullPerk("a"), fullPerk("b"), fullPerk("c"), perk("d"))
		by, at := store.OperatorActor("ann"), now.Add(time.Hour)
		must(f.ImportPerks(f.ctx, rows(
			f.perkRow(2, `{"id":"a","stock":null}`), f.perkRow(3, `{"id":"b","approval":"auto","hold_for":"2s"}`),
			f.perkRow(4, `{"id":"c","title":"Other"}`),
			f.perkRow(5, `{"id":"d","stock":0,"approval":"manual"}`), perk("new", stock(1)),
		), f.noNewID, by, at))(f)
		entry := func(before, after string) []store.AuditEntry {
			return []store.AuditEntry{{At: at, Actor: by, Action: "perk.update", Before: []byte(before),
				After: []byte(after)}}
		}
		f.sameEntries("perk/a", entry(`{"stock":7,"approval":"manual","hold_for":"172800s"}`,
			`{"stock":null,"approval":"manual","hold_for":"172800s"}`))
		f.sameEntries("perk/b", entry(`{"stock":7,"approval":"manual","hold_for":"172800s"}`,
			`{"stock":7,"approval":"auto","hold_for":"2s"}`))
		f.sameEntries("perk/c", nil)
		f.sameEntries("perk/d", entry(`{"stock":null,"approval":"auto","hold_for":null}`,
			`{"stock":0,"approval":"manual","hold_for":null}`))
		f.sameEntries("perk/new", nil)
	}},
	{"changes made while rows arrive stay where the rows have no value", func(f *fixture) {
		f.addClients("owner")
		f.addUsers("ann")
		f.addPerks(fullPerk("p"))
		f.addProperties(property(1, "owner"))
		must(f.ImportPerks(f.ctx, func(yield func(store.PerkRecord, error) bool) {
			if yield(f.perkRow(2, `{"id":"p","title":"New"}`), nil) {
				f.addPerks(f.perkRow(1, `{"id":"p","stock":1}`))
				f.redeem(attempt("p", "ann"))
			}
		}, f.noNewID, store.Operator, now))(f)
		got := collect(f, f.ExportPerks(f.ctx))[0]
		f.equal("title", got.Title, "New")
		f.equal("stock", got.Stock, ptr[int64](1))
		f.addUsers("bob")
		f.refuses("the one unit is held", attempt("p", "bob"), api.CodeSoldOut)
		must(f.ImportProperties(f.ctx, func(yield func(store.PropertyRecord, error) bool) {
			if yield(f.propertyRow(2, `{"propertyId":1,"city":"York"}`), nil) {
				f.must(f.update(1, retitle("New")))
			}
		}, store.Operator, now))(f)
		want := property(1, "owner", func(p *store.PropertyRecord) { p.Title, p.City = "New", "York" })
		f.equal("property", f.property(1), want)
	}},
	{"a known property keeps the fields that its row does not have, its owner too", func(f *fixture) {
		f.addClients("owner", "other")
		f.addProperties(property(1, "owner"), property(2, "owner"))
		taken := must(f.ImportProperties(f.ctx, rows(f.propertyRow(2,
			`{"propertyId":1,"price_pw":99,"images":null,"lat":null}`),
			f.propertyRow(3, `{"propertyId":2,"owner":"other"}`)), store.Operator, now))(f)
		f.equal("taken", taken, store.Imported{Count: 2, Changed: 2})
		price := must(api.ParsePrice("99"))(f)
		f.equal("price, images and position", f.property(1),
			property(1, "owner", func(p *store.PropertyRecord) { p.PricePW, p.Images, p.Lat = price, nil, nil }))
		f.equal("owner", f.property(2), property(2, "other"))
	}},
	{"a new or deleted property needs its required fields", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.delete(1, nil))
		_, err := f.ImportProperties(f.ctx, rows(f.propertyRow(2, `{"propertyId":1,"city":"York","owner":"owner"}`),
			f.propertyRow(3, `{"propertyId":2,"title":"Flat","price_pw":1}`)), store.Operator, now)
		f.refusesRows("new properties without them", err, map[int]string{
			2: `there is no property "1" yet, and a new one needs title, price_pw`,
			3: `there is no property "2" yet, and a new one needs owner`,
		})
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{})
	}},
	{"categories are made in the order of the rows, complete or not", func(f *fixture) {
		f.addPerks(perk("p"), perk("s"))
		f.addPerks(f.perkRow(2, `{"id":"p","category":"Food: Drink"}`), perk("q", category("Food & Drink")),
			perk("r", category("Food, Drink")),
			f.perkRow(5, `{"id":"s","category":"Food. Drink"}`))
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{
			{ID: "food-drink", Name: "Food: Drink"}, {ID: "food-drink-2", Name: "Food & Drink"},
			{ID: "food-drink-3", Name: "Food, Drink"}, {ID: "food-drink-4", Name: "Food. Drink"},
		})
		for i, id := range []string{"food-drink", "food-drink-2", "food-drink-3", "food-drink-4"} {
			f.finds(id, by(api.PerkFilter{Category: id}), []string{"p", "q", "r", "s"}[i])
		}
	}},
	{"thousands of incomplete rows are imported", func(f *fixture) {
		const n = 2500
		var perks, partly, want []store.PerkRecord
		for i := range n {
			id := fmt.Sprintf("%04d", i)
			perks = append(perks, perk(id, stock(int64(i))))
			if i%3 > 0 {
				partly = append(partly, f.perkRow(i, fmt.Sprintf(`{"id":"%s","stock":%d}`, id, n)))
			} else {
				partly = append(partly, perk(id, stock(n)))
			}
			want = append(want, perk(id, stock(n)))
		}
		f.addPerks(perks...)
		taken := must(f.ImportPerks(f.ctx, rows(partly...), f.noNewID, store.Operator, now))(f)
		f.equal("taken", taken, store.Imported{Count: n, Changed: n})
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), want)
	}},
}

// perkRow parses a perk from a line of a file.
func (f *fixture) perkRow(line int, object string) store.PerkRecord {
	f.Helper()
	members := must(api.ParseObject([]byte(object)))(f)
	record := must(store.ParsePerk(members))(f)
	record.Row.Line = line
	return record
}

// propertyRow parses a property from a line of a file.
func (f *fixture) propertyRow(line int, object string) store.PropertyRecord {
	f.Helper()
	members := must(api.ParseObject([]byte(object)))(f)
	record := must(store.ParseProperty(members, ""))(f)
	record.Row.Line = line
	return record
}

// refusesRows checks which lines were refused, and why.
func (f *fixture) refusesRows(what string, err error, want map[int]string) {
	f.Helper()
	var refused *store.RowsRefused
	if !errors.As(err, &refused) {
		f.Fatalf("%s: the error is %v, want a *store.RowsRefused", what, err)
	}
	got := map[int]string{}
	for _, row := range refused.Rows {
		got[row.Line] = row.Err.Error()
	}
	f.equal(what, got, want)
	f.equal(what+": how many", refused.Count, int64(len(want)))
}

// lastEntry is the last entry of the audit log about a subject.
func (f *fixture) lastEntry(subject string) store.AuditEntry {
	f.Helper()
	entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: subject, Last: 1}))
	if len(entries) != 1 {
		f.Fatalf("there is no entry about %q", subject)
	}
	return entries[0]
}
