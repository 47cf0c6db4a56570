package storetest

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
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{{ID: "food-drink", Name: "Food & Drink"}})
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{properties[1], properties[0]})
	}},
	{"importing an export changes nothing", func(f *fixture) {
		f.addClients("owner")
		f.addPerks(manyEqualPerks(20)...)
		f.addProperties(property(1, "owner"))
		before := collect(f, f.ExportPerks(f.ctx))
		n, err := f.ImportPerks(f.ctx, f.ExportPerks(f.ctx), f.noNewID, store.Operator, now.Add(time.Hour))
		f.must(err)
		f.equal("perks taken", n, store.Imported{Count: 20, Unchanged: 20})
		n, err = f.ImportCategories(f.ctx, f.ExportCategories(f.ctx), store.Operator, now)
		f.must(err)
		f.equal("categories taken", n, store.Imported{Count: 2, Unchanged: 2})
		n, err = f.ImportProperties(f.ctx, f.ExportProperties(f.ctx), store.Operator, now)
		f.must(err)
		f.equal("properties taken", n, store.Imported{Count: 1, Unchanged: 1})
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), before)
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{property(1, "owner")})
	}},
	{"a new perk without times or id gets them", func(f *fixture) {
		record := perk("")
		record.CreatedAt, record.UpdatedAt = time.Time{}, time.Time{}
		_, err := f.ImportPerks(f.ctx, rows(record), func() string { return "made" }, store.Operator, now.Add(time.Hour))
		f.must(err)
		got, err := f.Perk(f.ctx, "made")
		f.must(err)
		f.equal("created_at", got.CreatedAt, now.Add(time.Hour))
		f.equal("updated_at", got.UpdatedAt, now.Add(time.Hour))
	}},
	{"a known perk is changed whole, but keeps when it was created and what is held of it", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(fullPerk("p"))
		f.redeem(attempt("p", "ann"))
		record := perk("p", stock(1))
		record.CreatedAt, record.UpdatedAt = time.Time{}, time.Time{}
		_, err := f.ImportPerks(f.ctx, rows(record), f.noNewID, store.Operator, now.Add(time.Hour))
		f.must(err)
		record.CreatedAt, record.UpdatedAt = fullPerk("p").CreatedAt, now.Add(time.Hour)
		f.equal("perk", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{record})
		_, err = f.Redeem(f.ctx, attempt("p", "bob"))
		f.fails("the one unit is held", err, api.CodeSoldOut)
	}},
	{"of a perk that comes twice the last one stays", func(f *fixture) {
		f.addPerks(perk("p", title("First")), perk("q"), perk("p", title("Second")))
		got, err := f.Perk(f.ctx, "p")
		f.must(err)
		f.equal("title", got.Title, "Second")
		f.finds("by text", store.PerkQuery{Text: "first"})
		f.finds("all", store.PerkQuery{}, "p", "q")
	}},
	{"a perk without an approval is auto", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", func(p *store.PerkRecord) { p.Approval = "" }))
		f.equal("status", f.redeem(attempt("p", "ann")).Redemption.Status, api.StatusApproved)
		f.equal("approval", collect(f, f.ExportPerks(f.ctx))[0].Approval, store.ApprovalAuto)
	}},
	{"unknown categories are made, their ids slugs of their names", func(f *fixture) {
		f.addCategories(api.Category{ID: "taken", Name: "Something"})
		f.addPerks(perk("a", category("Food & Drink")), perk("b", category("Food: Drink")), perk("c", category("food & drink")),
			perk("d", category("Taken")), perk("e", category("Categories")), perk("f", category("食")), perk("g", category("Something")), perk("h"))
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{
			{ID: "categories-2", Name: "Categories"}, {ID: "category", Name: "食"}, {ID: "food-drink", Name: "Food & Drink"},
			{ID: "food-drink-2", Name: "Food: Drink"}, {ID: "taken", Name: "Something"}, {ID: "taken-2", Name: "Taken"},
		})
		got, err := f.Perk(f.ctx, "c")
		f.must(err)
		f.equal("a perk has its category's name as the category writes it", *got.Category, "Food & Drink")
	}},
	{"perks follow their category to a new name", func(f *fixture) {
		f.addCategories(api.Category{ID: "food", Name: "Food"}, api.Category{ID: "fun", Name: "Fun"})
		f.addPerks(perk("a", category("Food")), perk("b", category("Fun")), perk("c"))
		f.addCategories(api.Category{ID: "food", Name: "Fun"}, api.Category{ID: "fun", Name: "Food"}) // they change places
		f.equal("categories", collect(f, f.ExportCategories(f.ctx)), []api.Category{{ID: "food", Name: "Fun"}, {ID: "fun", Name: "Food"}})
		f.finds("the old Food", store.PerkQuery{Category: "food", Sort: asc("category")}, "b", "a")
		a, err := f.Perk(f.ctx, "a")
		f.must(err)
		f.equal("a's category", *a.Category, "Fun")
		f.addCategories(api.Category{ID: "food", Name: "FUN!"})
		f.finds("by the new name", store.PerkQuery{Category: "fun!"}, "a")
		f.finds("by the id, which is the other's name", store.PerkQuery{Category: "food"}, "a", "b")
	}},
	{"perks of a name that two categories have belong to the one with the lower id", func(f *fixture) {
		f.addCategories(api.Category{ID: "a", Name: "Food"}, api.Category{ID: "b", Name: "Food"})
		f.addPerks(perk("p", category("Food")))
		f.addCategories(api.Category{ID: "b", Name: "Drink"})
		f.finds("the other is renamed", store.PerkQuery{Category: "a"}, "p")
		f.addCategories(api.Category{ID: "a", Name: "Meals"})
		f.finds("theirs is renamed", store.PerkQuery{Category: "meals"}, "p")
	}},
	{"users that are known stay", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addUsers("bob", "eve", "eve")
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}, {ID: "bob"}, {ID: "eve"}})
	}},
	{"a property that is known is changed whole, its owner too", func(f *fixture) {
		f.addClients("a", "b")
		f.addProperties(property(1, "a"))
		want := store.PropertyRecord{Property: api.Property{ID: 1, Title: "Only a title"}, Owner: "b"}
		f.addProperties(want)
		f.equal("property", f.property(1), want)
	}},
	{"a property needs an owner that is known", func(f *fixture) {
		f.addClients("a")
		_, err := f.ImportProperties(f.ctx, rows(property(1, "a"), property(2, "nobody")), store.Operator, now)
		f.fails("import", err, api.CodeNotFound)
		f.equal("the message", err.Error(), store.ClientNotFound("nobody").Error())
		f.equal("properties", collect(f, f.ExportProperties(f.ctx)), []store.PropertyRecord{})
	}},
	{"an error among the rows is returned as it is and leaves everything as it was", func(f *fixture) {
		f.addClients("owner")
		f.addPerks(perk("p", category("Old")))
		_, perks := f.ImportPerks(f.ctx, rowsThen(errBadRow, perk("p", title("Lost")), perk("q", category("Lost"))), f.noNewID, store.Operator, now)
		_, users := f.ImportUsers(f.ctx, rowsThen(errBadRow, store.User{ID: "lost"}), store.Operator, now)
		_, categories := f.ImportCategories(f.ctx, rowsThen(errBadRow, api.Category{ID: "old", Name: "Lost"}), store.Operator, now)
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
	{"an error among the rows is not taken for one of the database, whatever it is like", func(f *fixture) {
		for _, want := range []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, context.Canceled, store.PerkNotFound("p")} {
			if _, err := f.ImportPerks(f.ctx, rowsThen(want, perk("p")), f.noNewID, store.Operator, now); !errors.Is(err, want) || api.CodeOf(err) == api.CodeUnavailable {
				f.Errorf("got %v, want the error of the rows, %v", err, want)
			}
		}
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{})
	}},
	{"an import whose context ends leaves everything as it was", func(f *fixture) {
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
			f.Errorf("the import ended with %v after %d records", err, asked)
		}
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{})
	}},
	{"others write and read while the rows of an import arrive", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		_, err := f.ImportPerks(f.ctx, func(yield func(store.PerkRecord, error) bool) {
			if !yield(perk("p", title("New")), nil) {
				return
			}
			f.redeem(attempt("p", "ann"))
			got, err := f.Perk(f.ctx, "p")
			f.must(err)
			f.equal("title while it arrives", got.Title, perk("p").Title)
			yield(perk("q"), nil)
		}, f.noNewID, store.Operator, now)
		f.must(err)
		f.equal("redemptions", len(f.redemptions("ann")), 1)
		f.finds("all", store.PerkQuery{Sort: asc("title")}, "p", "q")
	}},
	{"an export can be left early", func(f *fixture) {
		f.addUsers("a", "b", "c")
		for range 50 { // whatever an export holds, it gives back
			for user, err := range f.ExportUsers(f.ctx) {
				f.must(err)
				f.equal("first", user.ID, "a")
				break
			}
		}
	}},
	{"thousands of records are taken and given in order", func(f *fixture) {
		var perks []store.PerkRecord
		for i := range 3000 {
			perks = append(perks, perk(fmt.Sprintf("%x", i*7919%3000), category(fmt.Sprint("Category ", i%10))))
		}
		f.addPerks(perks...)
		slices.SortFunc(perks, func(a, b store.PerkRecord) int { return cmp.Compare(a.ID, b.ID) })
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), perks)
		_, total := f.list(store.PerkQuery{Category: "category 3"})
		f.equal("in a category", total, int64(300))
	}},
}
