package storetest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
)

const lead = store.Actor("client/lead")

func (f *fixture) key(name string) *store.IdempotencyKey {
	key := &store.IdempotencyKey{Key: name}
	copy(key.Fingerprint[:], name)
	return key
}

func (f *fixture) ids(query store.PerkQuery) []string {
	ids, _ := f.list(query)
	return ids
}

func (f *fixture) createPerk(perk store.PerkRecord, key *store.IdempotencyKey) (store.CreatedPerk, error) {
	return f.CreatePerk(f.ctx, store.PerkCreation{Perk: perk, By: lead, ClientID: "lead", At: now, Key: key})
}

func (f *fixture) updatePerk(id string, at time.Time, change func(*store.PerkRecord)) (store.PerkRecord, error) {
	return f.UpdatePerk(f.ctx, id, lead, at, func(p *store.PerkRecord) error {
		change(p)
		return p.Validate()
	})
}

func (f *fixture) restock(id string, change api.StockChange, key *store.IdempotencyKey) (store.ChangedStock, error) {
	return f.ChangePerkStock(f.ctx, store.PerkRestock{ID: id, Change: change, By: lead, ClientID: "lead", At: now,
		Key: key})
}

func add(n int64) api.StockChange  { return api.StockChange{Add: api.Some(n)} }
func set(n *int64) api.StockChange { return api.StockChange{Set: api.Some(n)} }

// perkAudit returns the entries of a perk as "action before after".
func (f *fixture) perkAudit(id string) (entries []string) {
	for entry, err := range f.Audit(f.ctx, store.AuditQuery{Subject: store.PerkSubject(id)}) {
		f.must(err)
		entries = append(entries, fmt.Sprintf("%s %s %s", entry.Action, entry.Before, entry.After))
	}
	return entries
}

var perkChangeTests = []test{
	{"a perk is created with every field, and found by what is derived from it", func(f *fixture) {
		want := fullPerk("made")
		want.Stock = ptr[int64](5)
		created := must(f.createPerk(want, nil))(f)
		want.CreatedAt, want.UpdatedAt = now, now
		f.equal("created", created.PerkRecord, want)
		f.equal("read", must(f.PerkRecord(f.ctx, "made"))(f), want)
		word := store.Words(want.Title)[0]
		for name, filter := range map[string]api.PerkFilter{"word": {Query: word}, "city": {City: want.City},
			"category": {Category: *want.Category}, "all": {}} {
			filter.IncludeExpired = true
			f.equal("found by "+name, f.ids(by(filter)), []string{"made"})
		}
		f.equal("categories", len(must(f.Categories(f.ctx))(f)), 1)
	}},
	{"an id that is taken is refused, also in another spelling of a UUID", func(f *fixture) {
		const id = "0195b2c4-9a02-7d10-8f44-c2a77b1d0e52"
		must(f.createPerk(perk(id), nil))(f)
		f.fails("again", errOf(f.createPerk(perk(id), nil)), api.CodePerkExists)
		f.fails("in upper case", errOf(f.createPerk(perk(strings.ToUpper(id)), nil)), api.CodePerkExists)
		f.equal("perks", len(f.ids(store.PerkQuery{})), 1)
	}},
	{"a creation is replayed by its key as it was", func(f *fixture) {
		key := f.key("k")
		first := must(f.createPerk(perk("a"), key))(f)
		must(f.updatePerk("a", now, func(p *store.PerkRecord) { p.Title = "Later" }))(f)
		again := must(f.createPerk(perk("b"), key))(f)
		f.equal("replayed", again.Replayed, true)
		f.equal("reply", again.PerkRecord, first.PerkRecord)
		other := f.key("k")
		other.Fingerprint[0]++
		f.fails("another request", errOf(f.createPerk(perk("c"), other)), api.CodeIdempotencyKeyReused)
		f.equal("perks", f.ids(store.PerkQuery{}), []string{"a"})
	}},
	{"an update changes what is derived, and its entry has what changed", func(f *fixture) {
		f.addCategories(api.Category{ID: "food", Name: "Food"})
		must(f.createPerk(perk("a", func(p *store.PerkRecord) { p.Title, p.City = "Coffee", "Leeds" }), nil))(f)
		f.equal("by the word", f.ids(by(api.PerkFilter{Query: "coffee"})), []string{"a"})
		later := now.Add(time.Hour)
		left := must(f.updatePerk("a", later, func(p *store.PerkRecord) {
			p.ID, p.CreatedAt = "b", later // which nobody can change
			p.Title, p.City, p.Category, p.Lat, p.Lng = "Tea", "York", ptr("FOOD"), ptr(53.9), ptr(-1.08)
		}))(f)
		f.equal("category", *left.Category, "Food")
		f.equal("times", [2]time.Time{left.CreatedAt, left.UpdatedAt}, [2]time.Time{now, later})
		f.equal("read", must(f.PerkRecord(f.ctx, "a"))(f), left)
		f.equal("as users see it", must(f.Perk(f.ctx, "a"))(f), left.Perk)
		for name, c := range map[string]struct {
			filter api.PerkFilter
			finds  int
		}{
			"the old word": {api.PerkFilter{Query: "coffee"}, 0}, "the new one": {api.PerkFilter{Query: "tea"}, 1},
			"the old city": {api.PerkFilter{City: "leeds"}, 0},
			"the new city": {api.PerkFilter{City: "york"}, 1},
			"the category": {api.PerkFilter{Category: "food"}, 1},
			"the circle":   {api.PerkFilter{Near: &api.Circle{Lat: 53.9, Lng: -1.08, RadiusKM: 1}}, 1},
		} {
			f.equal(name, len(f.ids(by(c.filter))), c.finds)
		}
		must(f.updatePerk("a", later, func(p *store.PerkRecord) {}))(f)
		entries := f.perkAudit("a")
		if len(entries) != 2 || !strings.Contains(entries[1], `perk.update {"category":null,"city":"Leeds",`) {
			f.Errorf("the entries are %q", entries)
		}
		f.fails("unknown", errOf(f.updatePerk("x", now, func(*store.PerkRecord) {})), api.CodeNotFound)
	}},
	{"an update of the stock alone leaves the time of the perk", func(f *fixture) {
		must(f.createPerk(perk("a"), nil))(f)
		left := must(f.updatePerk("a", now.Add(time.Hour), func(p *store.PerkRecord) { p.Stock = ptr[int64](3) }))(f)
		f.equal("updated_at", left.UpdatedAt, now)
		f.equal("stock", *must(f.PerkStock(f.ctx, "a"))(f).Left, int64(3))
	}},
	{"units are added and set, once for each key", func(f *fixture) {
		must(f.createPerk(perk("a", func(p *store.PerkRecord) { p.Stock = ptr[int64](1) }), nil))(f)
		f.addUsers("u", "v")
		must(f.Redeem(f.ctx, attempt("a", "u")))(f)
		f.fails("sold out", errOf(f.Redeem(f.ctx, attempt("a", "v"))), api.CodeSoldOut)
		first := must(f.restock("a", add(2), f.key("k")))(f)
		f.equal("left", *first.Left, int64(2))
		must(f.Redeem(f.ctx, attempt("a", "v")))(f)
		again := must(f.restock("a", add(2), f.key("k")))(f)
		f.equal("replayed", again.Replayed, true)
		f.equal("the first reply", again.PerkStock, first.PerkStock)
		f.equal("stock", *must(f.PerkStock(f.ctx, "a"))(f).Stock, int64(3))
		f.fails("below held", errOf(f.restock("a", set(ptr[int64](1)), nil)), api.CodeStockBelowHeld)
		f.fails("below held", errOf(f.restock("a", add(-2), f.key("l"))), api.CodeStockBelowHeld)
		f.fails("below held", errOf(f.updatePerk("a", now, func(p *store.PerkRecord) { p.Stock = ptr[int64](1) })),
			api.CodeStockBelowHeld)
		f.fails("too many", errOf(f.restock("a", add(math.MaxInt64), nil)), api.CodeValidationFailed)
		same := must(f.restock("a", set(ptr[int64](3)), f.key("m")))(f)
		f.equal("replayed", [2]bool{same.Replayed, must(f.restock("a", set(ptr[int64](3)), f.key("m")))(f).Replayed},
			[2]bool{false, true})
		unlimited := must(f.restock("a", set(nil), nil))(f)
		f.equal("unlimited", unlimited.PerkStock, api.PerkStock{Held: 2, Approval: store.ApprovalAuto})
		f.fails("nothing to add to", errOf(f.restock("a", add(1), nil)), api.CodeConflict)
		f.fails("unknown", errOf(f.restock("x", add(1), nil)), api.CodeNotFound)
		f.equal("entries", len(f.perkAudit("a")), 3)
	}},
	{"a history has each change, and what imports did in between", func(f *fixture) {
		hour := func(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }
		must(f.createPerk(perk("a"), nil))(f)
		must(f.updatePerk("a", hour(1), func(p *store.PerkRecord) { p.Title = "One" }))(f)
		record := must(f.PerkRecord(f.ctx, "a"))(f)
		record.Title, record.Row = "Imported", store.Row{}
		must(f.ImportPerks(f.ctx, rows(record), f.noNewID, store.Operator, hour(2)))(f)
		f.fails("after the import", errOf(f.PerkAsOf(f.ctx, "a", hour(2))), api.CodeNotFound)
		must(f.updatePerk("a", hour(3), func(p *store.PerkRecord) { p.City = "York" }))(f)
		for i := range 40 {
			must(f.updatePerk("a", hour(4+i), func(p *store.PerkRecord) { p.Title = fmt.Sprint("Title ", i) }))(f)
		}
		for at, want := range map[int]string{0: perk("a").Title, 1: "One", 3: "Imported", 4: "Title 0", 30: "Title 26",
			60: "Title 39"} {
			f.equal(fmt.Sprint("title at ", at), must(f.PerkAsOf(f.ctx, "a", hour(at)))(f).Title, want)
		}
		f.fails("before", errOf(f.PerkAsOf(f.ctx, "a", now.Add(-1))), api.CodeNotFound)
		f.fails("between the import and the next change", errOf(f.PerkAsOf(f.ctx, "a", hour(2))), api.CodeNotFound)
		list := must(f.PerkHistory(f.ctx, store.PerkHistoryQuery{ID: "a",
			Window: store.Window{Page: 1, PerPage: 100}}))(f)
		f.equal("versions", list.Total, int64(43))
		f.equal("the one after the import", list.Items[40].Before.Title, "Imported")
		f.equal("the first", list.Items[42].Before == nil, true)
	}},
	{"totals stay right while single perks change", func(f *fixture) {
		words, cities := []string{"tea", "coffee", "team", "cake"}, []string{"Leeds", "York", "LEEDS"}
		draw := rand.New(rand.NewPCG(1, 2))
		vary := func(p *store.PerkRecord) {
			p.Title = words[draw.IntN(4)] + " " + words[draw.IntN(4)]
			p.City, p.Category = cities[draw.IntN(3)], ptr([]string{"Food", "Fun"}[draw.IntN(2)])
			p.Lat, p.Lng = ptr(53+float64(draw.IntN(10))/10), ptr(-1.5)
			if p.ValidFrom, p.ValidTo = nil, nil; draw.IntN(2) == 0 {
				p.ValidTo = ptr(now.Add(time.Duration(draw.IntN(5)-2) * time.Hour))
			}
			p.Stock = ptr(int64(draw.IntN(3)))
		}
		for i := range 12 {
			must(f.createPerk(perk(fmt.Sprint("p", i), vary), nil))(f)
		}
		var queries []store.PerkQuery
		for _, filter := range []api.PerkFilter{{}, {Query: "tea"}, {City: "leeds"}, {Category: "fun"},
			{IncludeExpired: true}, {Query: "te cof"}, {Near: &api.Circle{Lat: 53.4, Lng: -1.5, RadiusKM: 25}}} {
			queries = append(queries, by(filter), store.PerkQuery{PerkFilter: filter, AvailableTo: "u", AnyUser: true})
		}
		for i := range 60 {
			if i%7 == 0 {
				must(f.createPerk(perk(fmt.Sprint("n", i), vary), nil))(f)
			} else {
				must(f.updatePerk(fmt.Sprint("p", draw.IntN(12)), now, vary))(f)
			}
			for _, query := range queries {
				query.Sort = asc([]string{"title", "updated_at", "city"}[i%3])
				if ids, total := f.list(query); int64(len(ids)) != total {
					f.Fatalf("change %d: %d perks are listed for %v, not %d", i, len(ids), query.PerkFilter, total)
				}
			}
		}
	}},
	{"stock stays exact while it is redeemed and changed", func(f *fixture) {
		const users, changers, rounds = 240, 4, 12
		var ids []string
		for i := range users {
			ids = append(ids, fmt.Sprint("u", i))
		}
		f.addUsers(ids...)
		must(f.createPerk(perk("hot", func(p *store.PerkRecord) { p.Stock = ptr[int64](0) }), nil))(f)
		var redeeming, changing errgroup.Group
		for w := range changers {
			changing.Go(func() error {
				for i := range rounds {
					change := add(int64(1 + (w+i)%5))
					if i%4 == 3 {
						change = add(-2)
					}
					_, err := f.restock("hot", change, f.key(fmt.Sprint("k", w, "-", i)))
					if err != nil && api.CodeOf(err) != api.CodeStockBelowHeld {
						return err
					}
				}
				return nil
			})
		}
		redeeming.SetLimit(64)
		for _, id := range ids {
			redeeming.Go(func() error {
				_, err := f.Redeem(f.ctx, attempt("hot", id))
				if api.CodeOf(err) == api.CodeSoldOut {
					return nil
				}
				return err
			})
		}
		f.must(changing.Wait())
		f.must(redeeming.Wait())
		sum, made := int64(0), int64(0)
		for entry, err := range f.Audit(f.ctx, store.AuditQuery{Action: store.ActionChangePerkStock}) {
			f.must(err)
			var was, is api.PerkStock
			f.must(json.Unmarshal(entry.Before, &was))
			f.must(json.Unmarshal(entry.After, &is))
			f.equal("the stock that a change found", *was.Stock, sum)
			if sum = *is.Stock; is.Held > sum {
				f.Errorf("%d of %d units are held", is.Held, sum)
			}
		}
		for _, err := range f.ExportRedemptions(f.ctx, "") {
			f.must(err)
			made++
		}
		stock := must(f.PerkStock(f.ctx, "hot"))(f)
		f.equal("stock", *stock.Stock, sum)
		f.equal("held", stock.Held, made)
		f.equal("left", *stock.Left, sum-made)
	}},
}
