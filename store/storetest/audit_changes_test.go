package storetest_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var auditChangesTests = []test{
	{"every version of a listing follows from its entries, and from the listing after an import", func(f *fixture) {
		f.addClients("owner", "other")
		id := f.create(creation("owner", "")).Property.ID
		versions := []store.PropertyRecord{f.property(id)}
		random := rand.New(rand.NewPCG(1, 2))
		clock, step := now, 0
		for range 60 {
			clock = clock.Add(time.Duration(random.IntN(3)-1) * time.Second) // replicas have other clocks
			next := versions[len(versions)-1]
			if step == 0 { // of two imports in a row, nobody sees what the first made
				step++
			} else {
				step = random.IntN(8)
			}
			switch step {
			case 0:
				next.Title, next.Owner = fmt.Sprint("Imported ", len(versions)),
					[]string{"owner", "other"}[random.IntN(2)]
				must(f.ImportProperties(f.ctx, rows(next), store.Operator, clock))(f)
			case 1:
				f.must(f.DeleteProperty(f.ctx, id, store.Operator, clock,
					func(store.PropertyRecord) error { return nil }))
				must(f.restore(id, func(r *store.PropertyRestoration) { r.At = clock }))(f)
				continue // with the version that there was
			default:
				next.Bedrooms = random.IntN(3)
				next.Images = []string{"https://example.com/1.jpg", "https://example.com/2.jpg"}[:random.IntN(3)]
				next.Lat = []*float64{nil, ptr(51.5), ptr(0.0)}[random.IntN(3)]
				next.Title = []string{"", "<b>", `"propertyId":1`, "Flat"}[random.IntN(4)]
				change := func(p *store.PropertyRecord) error { *p = next; return nil }
				f.must(f.UpdateProperty(f.ctx, id, store.Operator, clock, change))
			}
			if is := f.property(id); !bytes.Equal(asJSON(is), asJSON(versions[len(versions)-1])) {
				versions = append(versions, is)
			}
		}
		f.must(f.update(id, retitle("Last")))
		versions = append(versions, f.property(id))
		partial := 0
		replayed := f.replay(id, &partial)
		if partial < 10 {
			f.Errorf("only %d of the updates have the changed fields alone", partial)
		}
		f.equal("versions", len(replayed), len(versions))
		for i := range min(len(replayed), len(versions)) {
			f.equal(fmt.Sprint("version ", i), string(replayed[i]), string(asJSON(versions[i])))
		}
	}},
	{"an imported listing's first update has the whole record before it, the next have the changes", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.update(1, retitle("One")))
		f.must(f.update(1, retitle("Two")))
		f.addProperties(property(1, "owner", func(p *store.PropertyRecord) { p.City = "York" }))
		imported := f.property(1)
		f.must(f.update(1, retitle("Three")))
		three := f.property(1)
		f.must(f.update(1, func(p *store.PropertyRecord) error { p.Lat, p.City = nil, "Leeds"; return nil }))
		update := func(before, after any) store.AuditEntry {
			return store.AuditEntry{
				At: now, Actor: "client/owner", Action: store.ActionUpdateProperty, Before: asJSON(before),
				After: asJSON(after),
			}
		}
		imports := func(before, after any) store.AuditEntry {
			return store.AuditEntry{
				At: now, Actor: store.Operator, Action: store.ActionImportProperty, Before: asJSON(before),
				After: asJSON(after),
			}
		}
		f.sameEntries("property/1", []store.AuditEntry{
			imports(nil, property(1, "owner")),
			update(property(1, "owner"), map[string]any{"title": "One"}),
			update(map[string]any{"title": "One"}, map[string]any{"title": "Two"}),
			imports(map[string]any{"title": "Two", "city": "Leeds"}, imported),
			update(imported, map[string]any{"title": "Three"}),
			update(map[string]any{"lat": three.Lat, "city": "York"}, map[string]any{"lat": nil, "city": "Leeds"}),
		})
	}},
	{"events have the whole listing after an update, as it is now or was when it was deleted", func(f *fixture) {
		f.addClients("owner")
		for range 2 {
			f.create(creation("owner", ""))
		}
		start := must(f.NextAudit(f.ctx, after(""), "", few))(f).Next
		f.must(f.update(1, retitle("One")))
		f.must(f.update(2, retitle("Two")))
		f.must(f.update(1, retitle("Three")))
		f.must(f.update(2, retitle("Four")))
		last := f.property(2)
		f.must(f.delete(2, nil))
		batch := must(f.NextAudit(f.ctx, start, "", few))(f)
		recent := must(f.RecentAudit(f.ctx, store.RecentAudit{
			Actions: []string{store.ActionUpdateProperty}, Most: few,
			Wants: func(store.AuditEntry) bool { return true },
		}))(f).Entries
		for what, entries := range map[string][]store.AuditEntry{
			"next": batch.Entries[:4], "recent": recent,
		} {
			f.equal(what, len(entries), 4)
			for _, entry := range entries {
				want := last
				if entry.Subject == "property/1" {
					want = f.property(1)
				}
				f.equal(what+" "+entry.Subject, string(entry.After), string(asJSON(want)))
			}
		}
	}},
	{"what a change adds to the log is told once, even if the caller leaves meanwhile", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", ""))
		ctx, leave := context.WithCancel(f.ctx)
		told := make(chan int, 10)
		ctx = store.OnAudited(ctx, func(bytes int) { told <- bytes })
		err := f.UpdateProperty(ctx, 1, store.ClientActor("owner", ""), now, func(p *store.PropertyRecord) error {
			leave()
			p.Title = "Newer"
			return nil
		})
		if err != nil {
			f.fails("the caller left", err, api.CodeUnavailable)
		}
		f.equal("bytes", <-told, len(`client/owner property.update property/1 {"title":"New"} {"title":"Newer"}`)-4)
		f.must(f.update(1, retitle("Last"))) // after the first
		ctx = store.OnAudited(f.ctx, func(bytes int) { told <- bytes })
		f.must(f.UpdateProperty(ctx, 1, store.ClientActor("owner", ""), now, retitle("Last"))) // changes nothing
		f.equal("told again", len(told), 0)
	}},
	{"one changed field of a long listing is a short entry", func(f *fixture) {
		f.addClients("owner")
		f.create(creation("owner", "", func(p *api.Property) {
			for i := range 50 {
				p.Images = append(p.Images, fmt.Sprintf("https://example.com/%02d/%02000d.jpg", i, 0))
			}
		}))
		f.must(f.update(1, retitle("Newer")))
		entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Action: store.ActionUpdateProperty}))
		f.equal("entry", string(entries[0].Before)+string(entries[0].After), `{"title":"New"}{"title":"Newer"}`)
	}},
}

// replay returns the versions of a listing, as its entries tell them. It counts the updates that have only the changed
// fields.
func (f *fixture) replay(id int64, partial *int) (versions []json.RawMessage) {
	f.Helper()
	entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: store.PropertySubject(id)}))
	// The numbers are in the order of the changes, whatever the clocks say.
	slices.SortFunc(entries, func(a, b store.AuditEntry) int { return cmp.Compare(a.Number, b.Number) })
	var is store.PropertyRecord
	version := func(record json.RawMessage) {
		if string(record) == "null" {
			return
		}
		if bytes.Contains(record, []byte(`{"propertyId":`)) {
			is = store.PropertyRecord{}
		} else {
			*partial++
		}
		f.must(json.Unmarshal(record, &is))
		if is.Images == nil {
			f.Fatal("the version has no images")
		}
		if encoded := asJSON(is); len(versions) == 0 || !bytes.Equal(versions[len(versions)-1], encoded) {
			versions = append(versions, encoded)
		}
	}
	for _, entry := range entries {
		if entry.Action != store.ActionUpdateProperty || bytes.Contains(entry.Before, []byte(`{"propertyId":`)) {
			version(entry.Before)
		} else {
			f.holds(is, entry.Before)
		}
		version(entry.After)
	}
	return versions
}

// holds checks that a version has the values that an update says it had before.
func (f *fixture) holds(is store.PropertyRecord, before json.RawMessage) {
	f.Helper()
	had := is
	had.Images = nil
	f.must(json.Unmarshal(before, &had))
	var changed map[string]any
	f.must(json.Unmarshal(before, &changed))
	if _, has := changed["images"]; !has {
		had.Images = is.Images
	}
	f.equal("what was before", had, is)
}
