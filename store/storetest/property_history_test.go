package storetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var propertyHistoryTests = []test{
	{"a history has every change, newest first, also of a deleted listing", func(f *fixture) {
		f.addClients("owner")
		id := f.create(creation("owner", "")).Property.ID
		created := f.property(id)
		f.must(f.UpdateProperty(f.ctx, id, store.ClientActor("owner", ""), hour(1), retitle("Newer")))
		updated := f.property(id)
		imported := property(id, "owner", titled("Imported"), inCity("York"))
		for range 2 { // the second changes nothing
			must(f.ImportProperties(f.ctx, rows(imported), store.Operator, hour(2)))(f)
		}
		f.must(f.DeleteProperty(f.ctx, id, store.Operator, hour(3), func(store.PropertyRecord) error { return nil }))
		at := func(n int, actor store.Actor, action string, before, after *store.PropertyRecord) store.PropertyVersion {
			return store.PropertyVersion{At: hour(n), Actor: actor, Action: action, Before: before, After: after}
		}
		want := []store.PropertyVersion{
			at(3, store.Operator, store.ActionDeleteProperty, &imported, nil),
			at(2, store.Operator, store.ActionImportProperty, &updated, &imported),
			at(1, "client/owner", store.ActionUpdateProperty, &created, &updated),
			at(0, "client/owner", store.ActionCreateProperty, nil, &created),
		}
		f.sameVersions("deleted", f.history(id), want)
		must(f.restore(id, func(r *store.PropertyRestoration) { r.At = hour(4) }))(f)
		want = slices.Insert(want, 0, at(4, store.Operator, store.ActionRestoreProperty, nil, &imported))
		f.sameVersions("restored", f.history(id), want)
		f.must(f.DeleteProperty(f.ctx, id, store.Operator, hour(5), func(store.PropertyRecord) error { return nil }))
		again := property(id, "owner", titled("Again"))
		must(f.ImportProperties(f.ctx, rows(again), store.Operator, hour(6)))(f)
		want = slices.Insert(want, 0, at(6, store.Operator, store.ActionImportProperty, nil, &again),
			at(5, store.Operator, store.ActionDeleteProperty, &imported, nil))
		f.sameVersions("imported again", f.history(id), want)
	}},
	{"a history is only for whom check allows it, and there is none of a listing that never was", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		for _, do := range []func(id int64, check func(string) error) error{
			func(id int64, check func(string) error) error {
				return errOf(f.PropertyHistory(f.ctx, store.PropertyHistoryQuery{ID: id, Check: check,
					Window: store.Window{Page: 1, PerPage: 10}}))
			},
			func(id int64, check func(string) error) error {
				return errOf(f.PropertyAsOf(f.ctx, id, now, check))
			},
		} {
			asked := func() (owner string) {
				err := do(1, func(is string) error { owner = is; return errRefused })
				storetest.Fails(f, "refused", err, errRefused)
				return owner
			}
			f.equal("owner", asked(), "owner")
			f.must(f.delete(1, nil))
			f.equal("former owner", asked(), "owner")
			storetest.Fails(f, "none", do(2, func(string) error { return errRefused }), api.CodeNotFound)
			must(f.restore(1))(f)
		}
	}},
	{"pages of a history by number and by cursor have every version once", func(f *fixture) {
		f.addClients("owner")
		for range 2 {
			f.create(creation("owner", ""))
		}
		for i := range 39 {
			f.must(f.update(1, retitle(fmt.Sprint("Title ", i))))
		}
		query := store.PropertyHistoryQuery{ID: 1, Window: store.Window{PerPage: 7}, Check: anybody}
		all := f.history(1)
		f.equal("versions", len(all), 40)
		var byNumber, byCursor []store.PropertyVersion
		for query.Window.Page = 1; query.Window.Page < 9; query.Window.Page++ {
			page := must(f.PropertyHistory(f.ctx, query))(f)
			f.equal("total", page.Total, int64(40))
			f.equal("is there more", page.Next != nil, query.Window.Page < 6)
			byNumber = append(byNumber, page.Items...)
		}
		query.Window.Page = 1
		for {
			page := must(f.PropertyHistory(f.ctx, query))(f)
			byCursor = append(byCursor, page.Items...)
			if page.Next == nil {
				break
			}
			text := page.Next.Text(nil)
			query.After = must(store.ParseCursor(text, nil))(f)
			other := query
			other.ID = 2
			_, err := f.PropertyHistory(f.ctx, other)
			storetest.Fails(f, "the cursor of another listing", err, store.ErrNoCursor)
		}
		f.sameVersions("by number", byNumber, all)
		f.sameVersions("by cursor", byCursor, all)
		for _, id := range []string{"", "1", "x", "AAAAAAAAAAAAAAAAAAAAAA"} {
			query.After = &store.Cursor{ID: id}
			storetest.Fails(f, "no cursor", errOf(f.PropertyHistory(f.ctx, query)), store.ErrNoCursor)
		}
	}},
	{"more versions than are counted are there", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", ""))
		for i := range store.MaxCounted + 5 {
			f.must(f.update(1, retitle(fmt.Sprint("Title ", i))))
		}
		query := store.PropertyHistoryQuery{ID: 1, Window: store.Window{Page: 3, PerPage: 100}, Check: anybody}
		page := must(f.PropertyHistory(f.ctx, query))(f)
		f.equal("total and more", []any{page.Total, page.IsMore, len(page.Items)},
			[]any{int64(store.MaxCounted), true, 6})
		f.equal("the first", page.Items[5].Action, store.ActionCreateProperty)
	}},
	{"no version is far from a whole record", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", ""))
		for i := range 100 { // of a value that comes back
			f.must(f.update(1, retitle(fmt.Sprint("Title ", i%2))))
		}
		longest, partial := 0, 0
		for _, entry := range collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "property/1"})) {
			if partial++; bytes.Contains(entry.After, []byte(`"propertyId"`)) {
				partial = 0
			}
			longest = max(longest, partial)
		}
		f.equal("entries in a row with the changes alone", longest, 31)
	}},
	{"an import's entries have exactly what the listing was and is", func(f *fixture) {
		f.addClients("owner", "other")
		random := rand.New(rand.NewPCG(3, 4))
		texts := []string{"", `"quoted" \ and /`, "line\nbreak\ttab", "“Ümlaut” <b>&\u2028\u0001", "😀", "it's",
			"null"}
		text := func() string { return texts[random.IntN(len(texts))] }
		number := func() float64 {
			return []float64{0, 0.1, 1e-7, 1e21, math.Pi, math.MaxFloat64, 5e-324, 123456.789, random.Float64(),
				random.ExpFloat64() * 1e-200}[random.IntN(10)]
		}
		digits := []string{"0", "0.10", "295.50", "1000000"}
		for range 100 {
			p := store.PropertyRecord{Owner: []string{"owner", "other"}[random.IntN(2)], Property: api.Property{
				ID: 1, Title: text(), Description: text(), Address: text(), City: text(), Postcode: text(),
				Images: []string{}, Bedrooms: random.IntN(3), Bathrooms: random.IntN(3), Deposit: number(),
				PricePW: price(f, digits[random.IntN(len(digits))]),
			}}
			for range random.IntN(3) {
				p.Images = append(p.Images, "https://example.com/"+text())
			}
			if random.IntN(3) > 0 {
				p.Lat, p.Lng = ptr(number()), ptr(-number())
			}
			f.addProperties(p)
		}
		history := f.history(1)
		f.equal("the newest", string(asJSON(history[0].After)), string(asJSON(f.property(1))))
		f.requireChain(1)
	}},
	{"what a listing was is known from its creation to its deletion, and the past does not change", func(f *fixture) {
		f.addClients("owner")
		create := creation("owner", "")
		create.At = hour(1)
		f.create(create)
		created := f.property(1)
		f.must(f.UpdateProperty(f.ctx, 1, store.Operator, hour(2), retitle("Two")))
		two := f.property(1)
		f.must(f.DeleteProperty(f.ctx, 1, store.Operator, hour(3), func(store.PropertyRecord) error { return nil }))
		for _, at := range []struct {
			at   time.Time
			want any
		}{
			{hour(0), "There was no property 1 at 2026-03-01T12:00:00Z."}, {hour(1).Add(-1e3), api.CodeNotFound},
			{hour(1), created}, {hour(2).Add(-1e3), created}, {hour(2), two}, {hour(3).Add(-1e3), two},
			{hour(3), "There was no property 1 at 2026-03-01T15:00:00Z."}, {hour(9), api.CodeNotFound},
		} {
			was, err := f.PropertyAsOf(f.ctx, 1, at.at, anybody)
			if want, isThere := at.want.(store.PropertyRecord); isThere {
				f.must(err)
				f.equal(fmt.Sprint("at ", at.at), was, want)
			} else {
				storetest.Fails(f, fmt.Sprint("at ", at.at), err, at.want)
			}
		}
	}},
	{"a history begins where the log does after its entries were archived", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", ""))
		var want []store.PropertyVersion
		for i := range 40 {
			before := f.property(1)
			f.must(f.UpdateProperty(f.ctx, 1, store.Operator, hour(i+1), retitle(fmt.Sprint("Title ", i))))
			want = append(want, store.PropertyVersion{At: hour(i + 1), Actor: store.Operator,
				Action: store.ActionUpdateProperty, Before: &before, After: ptr(f.property(1))})
		}
		slices.Reverse(want)
		for _, until := range []int{5, 36} { // the whole record of the 32nd update is there, and is not
			archived := collect(f, f.MovableAudit(f.ctx, hour(until)))
			f.equal("removed", must(f.RemoveArchived(f.ctx, archived))(f), int64(len(archived)))
			left := want[:len(want)-until+1]
			f.sameVersions(fmt.Sprint("after ", until), f.history(1), left)
			f.equal("as it was", must(f.PropertyAsOf(f.ctx, 1, hour(until), anybody))(f), *left[len(left)-1].After)
			storetest.Fails(f, "before", errOf(f.PropertyAsOf(f.ctx, 1, hour(until-1), anybody)),
				fmt.Sprint("its history begins at ", hour(until).Format(time.RFC3339)))
		}
	}},
	{"what an import made of listings is archived with it", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"), property(2, "owner"))
		must(f.ImportProperties(f.ctx, rows(property(1, "owner", titled("Kept"))), store.Operator, hour(1)))(f)
		archived := collect(f, f.MovableAudit(f.ctx, hour(1)))
		names := summaries(archived)
		slices.Sort(names)
		f.equal("archived", names, []string{"client.create client/owner", "properties.import properties",
			"property.import property/1", "property.import property/2"})
		strange := slices.Clone(archived)
		for i := range strange {
			strange[i].After = json.RawMessage(`{}`)
		}
		_, err := f.RemoveArchived(f.ctx, strange)
		storetest.Fails(f, "other entries", err, "the file is the archive of another one")
		f.equal("removed", must(f.RemoveArchived(f.ctx, archived))(f), int64(len(archived)))
		f.equal("left", f.actions("property/1"), []string{store.ActionImportProperty})
		f.equal("none left", f.actions("property/2"), []string{})
		f.equal("again", must(f.RemoveArchived(f.ctx, archived))(f), int64(0))
	}},
	{"the listings of an import are no entries for followers", func(f *fixture) {
		f.addClients("owner")
		start := must(f.NextAudit(f.ctx, after(""), "", few))(f).Next
		var records []store.PropertyRecord
		for i := range 10 * fewEntries {
			records = append(records, property(int64(i+1), "owner"))
		}
		f.addProperties(records...)
		f.must(f.update(1, retitle("Then")))
		batch := must(f.NextAudit(f.ctx, start, "", few))(f)
		f.equal("entries", summaries(batch.Entries),
			[]string{"properties.import properties", "property.update property/1"})
		f.equal("is the last", batch.IsLast, true)
		recent := must(f.RecentAudit(f.ctx, store.RecentAudit{Actions: []string{store.ActionImportProperties},
			Most: few, Wants: func(store.AuditEntry) bool { return true }}))(f)
		f.equal("recent", summaries(recent.Entries), []string{"properties.import properties"})
		f.equal("all", f.actions(""), []string{"client.create", "properties.import", "property.update"})
	}},
	{"a living listing goes back to a version, and to what it was at a time", func(f *fixture) {
		f.addClients("owner", "other")
		f.addProperties(property(1, "owner", titled("First")))
		first := f.property(1)
		f.must(f.UpdateProperty(f.ctx, 1, store.Operator, hour(1), retitle("Second")))
		second := f.property(1)
		must(f.ImportProperties(f.ctx, rows(property(1, "other", titled("Third"))), store.Operator, hour(2)))(f)
		third := f.property(1)
		storetest.Fails(f, "nothing named", errOf(f.restore(1)), api.CodeNotDeleted)
		storetest.Fails(f, "no such version", errOf(f.restore(1, toVersion(property(1, "owner")))), api.CodeNotFound)
		storetest.Fails(f, "no such time", errOf(f.restore(1, asOf(hour(-1)))), api.CodeNotFound)
		storetest.Fails(f, "no such listing", errOf(f.restore(2, toVersion(first))), api.CodeNotFound)
		first.Owner, second.Owner = "other", "other" // who owns it now
		later := func(r *store.PropertyRestoration) { r.At = hour(3) }
		f.equal("first", must(f.restore(1, toVersion(first), later))(f), first)
		f.equal("is", f.property(1), first)
		f.equal("by time", must(f.restore(1, asOf(hour(1))))(f), second)
		f.equal("third", must(f.restore(1, toVersion(third)))(f), third)
		f.equal("again", must(f.restore(1, toVersion(third)))(f), third) // writes nothing
		newest := f.history(1)[:3]
		for i, want := range []store.PropertyRecord{third, second, first} {
			f.equal("restored", []any{newest[i].Action, *newest[i].After}, []any{store.ActionRestoreProperty, want})
		}
		f.equal("entries", len(f.history(1)), 6)
		f.must(f.delete(1, nil))
		f.equal("deleted", must(f.restore(1, toVersion(second)))(f), second)
		f.requireChain(1)
	}},
	{"a restore is checked against the listing as it is, or was when it was deleted", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner", titled("First")))
		first := f.property(1)
		f.must(f.update(1, retitle("Second")))
		second := f.property(1)
		for range 2 {
			var checked store.PropertyRecord
			_, err := f.restore(1, toVersion(first), func(r *store.PropertyRestoration) {
				r.Check = func(p store.PropertyRecord) error { checked = p; return errRefused }
			})
			storetest.Fails(f, "refused", err, errRefused)
			f.equal("checked", checked, second)
			if f.history(1)[0].After != nil {
				f.must(f.delete(1, nil))
			}
		}
		storetest.Fails(f, "deleted", errOf(f.Property(f.ctx, 1)), api.CodeNotFound)
	}},
	{"a restore replays its first reply, whatever was changed since", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", "", func(p *api.Property) { p.Title = "First" }))
		first := f.property(1)
		f.must(f.update(1, retitle("Second")))
		second := f.property(1)
		under := func(key string, with ...func(*store.PropertyRestoration)) (store.RestoredProperty, error) {
			r := store.PropertyRestoration{ID: 1, By: store.ClientActor("owner", ""), ClientID: "owner", At: now,
				Key: &store.IdempotencyKey{Key: key}}
			for _, change := range with {
				change(&r)
			}
			return f.RestoreProperty(f.ctx, r)
		}
		f.equal("first", must(under("a", toVersion(first)))(f), store.RestoredProperty{PropertyRecord: first})
		f.equal("equal already", must(under("b", toVersion(first)))(f), store.RestoredProperty{PropertyRecord: first})
		f.equal("second", must(under("c", asOf(now)))(f).PropertyRecord, first)
		f.must(f.update(1, retitle("Third")))
		third := f.property(1)
		entries := len(f.history(1))
		for _, key := range []string{"a", "b"} {
			replay := store.RestoredProperty{PropertyRecord: first, Replayed: true}
			f.equal(key, must(under(key, toVersion(first)))(f), replay)
		}
		f.equal("entries", len(f.history(1)), entries)
		f.equal("is", f.property(1), third)
		f.must(f.delete(1, nil))
		f.equal("deleted", must(under("d"))(f), store.RestoredProperty{PropertyRecord: third})
		f.equal("replayed", must(under("d"))(f), store.RestoredProperty{PropertyRecord: third, Replayed: true})
		other := func(r *store.PropertyRestoration) { r.Key.Fingerprint[0] = 1 }
		storetest.Fails(f, "another request", errOf(under("a", toVersion(second), other)), api.CodeIdempotencyKeyReused)
		storetest.Fails(f, "another listing", errOf(under("a", func(r *store.PropertyRestoration) { r.ID = 2 })),
			api.CodeIdempotencyKeyReused)
		creation := creation("owner", "a")
		creation.Key.Fingerprint[0] = 2
		storetest.Fails(f, "a creation", errOf(f.CreateProperty(f.ctx, creation)), api.CodeIdempotencyKeyReused)
		storetest.Fails(f, "refused, so unused", errOf(under("e")), api.CodeNotDeleted)
		f.equal("then", must(under("e", toVersion(second)))(f), store.RestoredProperty{PropertyRecord: second})
		later := func(r *store.PropertyRestoration) { r.At = now.Add(store.IdempotencyKeyLife + time.Hour) }
		f.equal("expired", must(under("a", toVersion(first), later))(f), store.RestoredProperty{PropertyRecord: first})
	}},
	{"restores, imports, updates and deletions at once leave a history without gaps", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner", titled("First")))
		first := f.property(1)
		f.atOnce(60, func(i int) error {
			switch i % 6 {
			case 0:
				return errOf(f.ImportProperties(f.ctx, rows(property(1, "owner", titled(fmt.Sprint("Imported ", i)))),
					store.Operator, hour(-i)))
			case 1:
				return f.DeleteProperty(f.ctx, 1, store.Operator, hour(-i),
					func(store.PropertyRecord) error { return nil })
			case 2:
				return errOf(f.restore(1))
			case 3:
				return errOf(f.restore(1, toVersion(first)))
			}
			return f.UpdateProperty(f.ctx, 1, store.Operator, hour(i), retitle(fmt.Sprint("Updated ", i)))
		})
		f.requireChain(1)
	}},
}

func anybody(string) error { return nil }

// toVersion restores a version.
func toVersion(version store.PropertyRecord) func(*store.PropertyRestoration) {
	return func(r *store.PropertyRestoration) {
		r.Is = func(p api.Property) bool { return bytes.Equal(asJSON(p), asJSON(version.Property)) }
	}
}

// asOf restores what the listing was at a time.
func asOf(at time.Time) func(*store.PropertyRestoration) {
	return func(r *store.PropertyRestoration) { r.AsOf = at }
}

// history returns all versions of a listing, newest first.
func (f *fixture) history(id int64) (versions []store.PropertyVersion) {
	f.Helper()
	query := store.PropertyHistoryQuery{ID: id, Window: store.Window{Page: 1, PerPage: 100}, Check: anybody}
	for {
		page := must(f.PropertyHistory(f.ctx, query))(f)
		versions = append(versions, page.Items...)
		if query.After = page.Next; query.After == nil {
			return versions
		}
	}
}

func (f *fixture) sameVersions(what string, got, want []store.PropertyVersion) {
	f.Helper()
	for _, versions := range [][]store.PropertyVersion{got, want} {
		for i := range versions {
			versions[i].At = versions[i].At.UTC()
		}
	}
	f.equal(what, got, want)
}

// requireChain checks that each version of a listing begins with what the one before it left, and that the last one is
// the listing.
func (f *fixture) requireChain(id int64) {
	f.Helper()
	history := f.history(id)
	for i, version := range history[1:] {
		f.equal(fmt.Sprint("before version ", i), string(asJSON(history[i].Before)), string(asJSON(version.After)))
	}
	current, err := f.Property(f.ctx, id)
	if history[0].After == nil {
		storetest.Fails(f, "the deleted listing", err, api.CodeNotFound)
	} else {
		f.must(err)
		f.equal("the listing", string(asJSON(current)), string(asJSON(history[0].After)))
	}
}

// TestHistoryOfTwoReplicas changes a listing at random, from two programs with different clocks, and sometimes by hand,
// which nothing records. Each recorded version is compared with what was seen then.
func TestHistoryOfTwoReplicas(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		replicas := []*fixture{newFixture(t, d.opened(t)), newFixture(t, d.opened(t))}
		replicas[0].addClients("owner")
		f := replicas[0]
		id := f.create(creation("owner", "")).Property.ID
		random := rand.New(rand.NewPCG(5, 6))
		is := ptr(f.property(id))
		want := []store.PropertyVersion{{At: now, Actor: "client/owner", Action: store.ActionCreateProperty, After: is}}
		for step := range 150 {
			n := random.IntN(2)
			r := replicas[n]
			at := now.Add(time.Duration(step)*time.Second + time.Duration(n)*5*time.Second)
			version := store.PropertyVersion{At: at, Actor: store.Operator, Before: is}
			next := property(id, "owner", titled(fmt.Sprint("Title ", random.IntN(5))))
			next.Bedrooms, next.Lat = random.IntN(3), []*float64{nil, ptr(0.5), ptr(51.5)}[random.IntN(3)]
			switch kind := random.IntN(10); {
			case kind == 0 && is != nil:
				d.execute(t, d.address, fmt.Sprintf(`UPDATE properties SET bedrooms = bedrooms + 10 WHERE id = %d`, id))
				is = ptr(f.property(id))
				continue
			case kind <= 1 || is == nil && kind <= 5:
				version.Action = store.ActionImportProperty
				must(r.ImportProperties(t.Context(), rows(next), store.Operator, at))(t)
			case is == nil:
				version.Action = store.ActionRestoreProperty
				must(r.restore(id, func(r *store.PropertyRestoration) { r.At = at }))(t)
			case kind == 2:
				version.Action = store.ActionDeleteProperty
				noError(t, r.DeleteProperty(t.Context(), id, store.Operator, at,
					func(store.PropertyRecord) error { return nil }))
			default:
				version.Action = store.ActionUpdateProperty
				noError(t, r.UpdateProperty(t.Context(), id, store.Operator, at, func(p *store.PropertyRecord) error {
					next.Images = p.Images
					*p = next
					return nil
				}))
			}
			is = nil
			if version.Action != store.ActionDeleteProperty {
				is = ptr(f.property(id))
			}
			if version.After = is; !bytes.Equal(asJSON(is), asJSON(version.Before)) {
				want = append(want, version)
			}
		}
		history := f.history(id)
		newest := slices.Clone(want)
		slices.Reverse(newest)
		f.sameVersions("history", history, newest)
		for i, version := range want {
			last := version // of those at that time or earlier
			for _, later := range want[i:] {
				if !later.At.After(version.At) {
					last = later
				}
			}
			was, err := replicas[1].PropertyAsOf(t.Context(), id, version.At, anybody)
			if last.After == nil {
				storetest.Fails(f, "deleted then", err, api.CodeNotFound)
				continue
			}
			noError(t, err)
			f.equal(fmt.Sprint("at ", version.At), was, *last.After)
		}
		for _, version := range want {
			for _, known := range []*store.PropertyRecord{version.Before, version.After} {
				if known != nil {
					f.equal("restored", must(f.restore(id, toVersion(*known)))(t), *known)
					f.equal("is", f.property(id), *known)
				}
			}
		}
	})
}
