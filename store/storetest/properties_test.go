package storetest_test

import (
	"errors"

	"example.com/perks/api"
	"example.com/perks/store"
)

var errRefused = errors.New("refused")

var propertyTests = []test{
	{"a property is read as imported, with every field", func(f *fixture) {
		f.addClients("owner")
		want := property(42, "owner")
		f.addProperties(want)
		f.equal("property", f.property(42), want)
	}},
	{"missing fields of a property are null or empty, and images are never nil", func(f *fixture) {
		f.addClients("owner")
		bare := store.PropertyRecord{Property: api.Property{ID: 1, Title: "Bare"}, Owner: "owner"}
		f.addProperties(bare)
		got := f.property(1)
		f.equal("property", got, bare)
		if got.Images == nil {
			f.Error("the images are nil")
		}
	}},
	{"prices and numbers keep their digits", func(f *fixture) {
		f.addClients("owner")
		for i, digits := range []string{"0", "120", "120.50", "0.10", "99999999999999999999.999"} {
			want := property(int64(i+1), "owner", func(p *store.PropertyRecord) {
				price := must(api.ParsePrice(digits))(f)
				p.PricePW = price
				p.Lat, p.Lng, p.Deposit = ptr(51.123456789012345), ptr(-0.1), 1e15+0.125
			})
			f.addProperties(want)
			f.equal(digits, f.property(want.ID), want)
		}
	}},
	{"an unknown property is not found", func(f *fixture) {
		f.fails("read", errOf(f.Property(f.ctx, 1)), api.CodeNotFound)
		f.fails("update", f.update(1, retitle("x")), api.CodeNotFound)
		f.fails("delete", f.delete(1, nil), api.CodeNotFound)
		f.fails("restore", errOf(f.restore(1)), api.CodeNotFound)
	}},
	{"an update stores the changed record", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"), property(2, "owner"))
		want := property(1, "owner", func(p *store.PropertyRecord) {
			p.Title, p.Images, p.Bedrooms, p.Lat, p.Lng = "New", []string{}, 0, nil, ptr(0.0)
		})
		f.must(f.update(1, func(p *store.PropertyRecord) error {
			f.equal("current record", *p, property(1, "owner"))
			*p = want
			return nil
		}))
		f.equal("updated", f.property(1), want)
		f.equal("the other one", f.property(2), property(2, "owner"))
	}},
	{"change may alter the record in place", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.update(1, func(p *store.PropertyRecord) error {
			p.Images[0] = "https://example.com/new.png"
			*p.Lat = 1
			return nil
		}))
		f.equal("first image", f.property(1).Images[0], "https://example.com/new.png")
		f.equal("lat", *f.property(1).Lat, 1.0)
	}},
	{"an error of change is returned as it is and changes nothing", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		err := f.update(1, func(p *store.PropertyRecord) error {
			p.Title = "lost"
			return errRefused
		})
		if err != errRefused {
			f.Errorf("got %v, want the error of change itself", err)
		}
		f.equal("property", f.property(1), property(1, "owner"))
		f.equal("audit", f.actions("property/1"), []string{store.ActionImportProperty})
	}},
	{"an unchanged record is not written", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.update(1, func(p *store.PropertyRecord) error { return nil }))
		f.must(f.update(1, retitle("Flat 1")))
		f.equal("audit", f.actions("property/1"), []string{store.ActionImportProperty})
	}},
	{"a property is deleted if check allows it", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		err := f.delete(1, func(p store.PropertyRecord) error {
			f.equal("current record", p, property(1, "owner"))
			return errRefused
		})
		if err != errRefused {
			f.Errorf("got %v, want the error of check itself", err)
		}
		f.equal("still there", f.property(1), property(1, "owner"))
		f.must(f.delete(1, nil))
		f.fails("read", errOf(f.Property(f.ctx, 1)), api.CodeNotFound)
	}},
	{"a deleted property is restored in full", func(f *fixture) {
		f.addClients("owner")
		want := property(1, "owner", func(p *store.PropertyRecord) { p.Description = "“Ümlaut” <b>&\u2028" })
		f.addProperties(want)
		f.must(f.delete(1, nil))
		restored := must(f.restore(1))(f)
		f.equal("restored", restored, want)
		f.equal("read", f.property(1), want)
	}},
	{"a restore brings the last deleted record back", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.delete(1, nil))
		must(f.restore(1))(f)
		f.must(f.update(1, retitle("Second life")))
		f.must(f.delete(1, nil))
		f.equal("title", must(f.restore(1))(f).Title, "Second life")
	}},
	{"an existing property cannot be restored", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.delete(1, nil))
		f.addProperties(property(1, "owner", func(p *store.PropertyRecord) { p.Title = "Imported since" }))
		f.fails("restore", errOf(f.restore(1)), api.CodeNotDeleted)
		f.equal("title", f.property(1).Title, "Imported since")
	}},
	{"a panic in change is an error for its caller only", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		if err := f.update(1, func(p *store.PropertyRecord) error { panic("bug") }); err == nil {
			f.Error("the update succeeded")
		}
		f.must(f.update(1, retitle("After")))
		f.equal("title", f.property(1).Title, "After")
	}},
}

func (f *fixture) property(id int64) store.PropertyRecord {
	f.Helper()
	return must(f.Property(f.ctx, id))(f)
}

func (f *fixture) update(id int64, change func(*store.PropertyRecord) error) error {
	return f.UpdateProperty(f.ctx, id, store.ClientActor("owner", ""), now, change)
}

// delete skips the check if it is nil.
func (f *fixture) delete(id int64, check func(store.PropertyRecord) error) error {
	if check == nil {
		check = func(store.PropertyRecord) error { return nil }
	}
	return f.DeleteProperty(f.ctx, id, store.ClientActor("owner", ""), now, check)
}

// restore restores a listing for the operator.
func (f *fixture) restore(id int64, changes ...func(*store.PropertyRestoration)) (store.PropertyRecord, error) {
	restoration := store.PropertyRestoration{ID: id, By: store.Operator, At: now}
	for _, change := range changes {
		change(&restoration)
	}
	restored, err := f.RestoreProperty(f.ctx, restoration)
	return restored.PropertyRecord, err
}

func retitle(title string) func(*store.PropertyRecord) error {
	return func(p *store.PropertyRecord) error {
		p.Title = title
		return nil
	}
}
