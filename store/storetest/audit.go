package storetest

import (
	"encoding/json"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var auditTests = []test{
	{"the log is empty at first, and for a subject to which nothing happened", func(f *fixture) {
		f.equal("all", f.actions(""), []string{})
		f.equal("one", f.actions("property/1"), []string{})
	}},
	{"a property's changes are kept with the record before and after", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		renamed := property(1, "owner", func(p *store.PropertyRecord) { p.Title = "New" })
		f.must(f.UpdateProperty(f.ctx, 1, store.ClientActor("owner"), now.Add(1), retitle("New")))
		f.must(f.DeleteProperty(f.ctx, 1, store.ClientActor("owner"), now.Add(time.Second), func(store.PropertyRecord) error { return nil }))
		_, err := f.RestoreProperty(f.ctx, 1, store.Operator, now.Add(2*time.Second))
		f.must(err)
		f.sameEntries("property/1", []store.AuditEntry{
			{At: now, Actor: "client/owner", Action: store.ActionUpdateProperty, Before: asJSON(property(1, "owner")), After: asJSON(renamed)},
			{At: now.Add(time.Second), Actor: "client/owner", Action: store.ActionDeleteProperty, Before: asJSON(renamed), After: asJSON(nil)},
			{At: now.Add(2 * time.Second), Actor: store.Operator, Action: store.ActionRestoreProperty, Before: asJSON(nil), After: asJSON(renamed)},
		})
	}},
	{"a redemption is an entry as it was made, then as it was decided", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		made := f.redeem(attempt("p", "ann")).Redemption
		decided, err := f.DecideRedemption(f.ctx, made.ID, api.StatusRejected, store.Operator, now)
		f.must(err)
		f.sameEntries("redemption/"+made.ID, []store.AuditEntry{
			{At: now, Actor: "client/shop", Action: store.ActionRedeem, Before: asJSON(nil), After: asJSON(made)},
			{At: now, Actor: store.Operator, Action: store.ActionReject, Before: asJSON(made), After: asJSON(decided)},
		})
	}},
	{"a client's entries hold no secret", func(f *fixture) {
		secret := store.SecretHash([]byte("0123456789abcdef0123456789abcdef"))
		made := client("a")
		made.Secret = secret
		f.must(f.CreateClient(f.ctx, made, store.Operator))
		f.must(f.SetClientSecret(f.ctx, "a", secret, store.Operator, now.Add(time.Second)))
		f.must(f.RotateSigningKey(f.ctx, signingKey("k", now), now, store.Operator))
		f.equal("client", f.actions("client/a"), []string{store.ActionCreateClient, store.ActionRotateSecret})
		f.equal("key", f.actions("key/k"), []string{store.ActionRotateSigningKey})
		for _, entry := range collect(f, f.Audit(f.ctx, store.AuditQuery{})) {
			text := string(asJSON(entry))
			for _, hidden := range []string{"0123456789abcdef", "[48,49,50", "MDEyMzQ1Njc4OWFiY2RlZg", "30313233", "secret of", "c2VjcmV0IG9m"} {
				if strings.Contains(text, hidden) {
					f.Errorf("the entry %s shows a secret", text)
				}
			}
		}
	}},
	{"a restore is an entry with what was carried over", func(f *fixture) {
		restored := store.Restored{RevocationsKnown: true, CarriedOver: []string{"client a stays disabled"}}
		f.must(f.AuditRestore(f.ctx, restored, store.Operator, now))
		f.sameEntries(store.DatabaseSubject, []store.AuditEntry{
			{At: now, Actor: store.Operator, Action: store.ActionRestoreDatabase, Before: asJSON(nil), After: asJSON(restored)},
		})
	}},
	{"an import is one entry with the number of records, unless that is none", func(f *fixture) {
		f.addClients("owner")
		by := store.OperatorActor("ann")
		_, err := f.ImportPerks(f.ctx, rows(perk("p"), perk("q")), f.noNewID, by, now)
		f.must(err)
		_, err = f.ImportUsers(f.ctx, rows(store.User{ID: "u"}), by, now.Add(time.Second))
		f.must(err)
		_, err = f.ImportCategories(f.ctx, rows(api.Category{ID: "c", Name: "C"}), by, now.Add(2*time.Second))
		f.must(err)
		_, err = f.ImportProperties(f.ctx, rows(property(1, "owner")), by, now.Add(3*time.Second))
		f.must(err)
		_, err = f.ImportPerks(f.ctx, rows[store.PerkRecord](), f.noNewID, by, now)
		f.must(err)
		imported := func(n int64) json.RawMessage { return asJSON(store.Imported{Count: n, Created: n}) }
		f.sameEntries("perks", []store.AuditEntry{{At: now, Actor: "operator/ann", Action: "perks.import", Before: asJSON(nil), After: imported(2)}})
		f.sameEntries("users", []store.AuditEntry{{At: now.Add(time.Second), Actor: by, Action: "users.import", Before: asJSON(nil), After: imported(1)}})
		f.sameEntries("categories", []store.AuditEntry{{At: now.Add(2 * time.Second), Actor: by, Action: "categories.import", Before: asJSON(nil), After: imported(1)}})
		f.sameEntries("properties", []store.AuditEntry{{At: now.Add(3 * time.Second), Actor: by, Action: "properties.import", Before: asJSON(nil), After: imported(1)}})
	}},
	{"all entries come in the order in which they happened", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"), perk("m", manual))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		at := func(hours int) time.Time { return now.Add(time.Duration(hours) * time.Hour) }
		late := attempt("p", "ann")
		late.At = at(5)
		f.redeem(late)
		f.must(f.UpdateProperty(f.ctx, 1, store.Operator, at(4), retitle("New")))
		early := attempt("m", "bob")
		early.At = at(2)
		f.redeem(early)
		_, err := f.DecideRedemption(f.ctx, "m-bob", api.StatusApproved, store.Operator, at(3))
		f.must(err)
		f.equal("actions", f.actions(""), []string{
			store.ActionImportUsers, store.ActionImportPerks, store.ActionCreateClient, store.ActionImportProperties,
			store.ActionRedeem, store.ActionApprove, store.ActionUpdateProperty, store.ActionRedeem,
		})
	}},
	{"a refused change leaves no entry", func(f *fixture) {
		f.addClients("a")
		f.fails("create", f.CreateClient(f.ctx, client("a"), store.Operator), api.CodeConflict)
		f.equal("actions", f.actions(""), []string{store.ActionCreateClient})
	}},
}

// actions are those of the subject's entries, in order.
func (f *fixture) actions(subject string) []string {
	f.Helper()
	actions := []string{}
	for _, entry := range collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: subject})) {
		actions = append(actions, entry.Action)
	}
	return actions
}

// sameEntries compares a subject's entries, their records as JSON values. Times are cut to the microsecond.
func (f *fixture) sameEntries(subject string, want []store.AuditEntry) {
	f.Helper()
	for i := range want {
		want[i].Subject = subject
	}
	got := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: subject}))
	f.equal("entries", values(f, got), values(f, want))
}

func values(f *fixture, entries []store.AuditEntry) []any {
	f.Helper()
	var list []any
	for _, entry := range entries {
		var value any
		f.must(json.Unmarshal(asJSON(entry), &value))
		list = append(list, value)
	}
	return list
}

func asJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
