package storetest_test

import (
	"encoding/json"
	"fmt"
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
	{"a property's changes are recorded with the record before and after", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		renamed := property(1, "owner", func(p *store.PropertyRecord) { p.Title = "New" })
		title := asJSON(map[string]any{"title": "New"})
		f.must(f.UpdateProperty(f.ctx, 1, store.ClientActor("owner", ""), now.Add(1), retitle("New")))
		f.must(f.DeleteProperty(f.ctx, 1, store.ClientActor("owner", ""), now.Add(time.Second),
			func(store.PropertyRecord) error { return nil }))
		must(f.restore(1, func(r *store.PropertyRestoration) { r.At = now.Add(2 * time.Second) }))(f)
		f.sameEntries("property/1", []store.AuditEntry{
			{At: now, Actor: store.Operator, Action: store.ActionImportProperty, Before: asJSON(nil),
				After: asJSON(property(1, "owner"))},
			{At: now, Actor: "client/owner", Action: store.ActionUpdateProperty, Before: asJSON(property(1, "owner")),
				After: title},
			{At: now.Add(time.Second), Actor: "client/owner", Action: store.ActionDeleteProperty,
				Before: asJSON(renamed), After: asJSON(nil)},
			{At: now.Add(2 * time.Second), Actor: store.Operator, Action: store.ActionRestoreProperty,
				Before: asJSON(nil), After: asJSON(renamed)},
		})
	}},
	{"a redemption has an entry when it is made, and one when it is decided", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		made := f.redeem(attempt("p", "ann")).Redemption
		before := must(f.Redemption(f.ctx, made.ID))(f)
		decided := must(f.DecideRedemption(f.ctx, made.ID,
			store.Decision{Status: api.StatusRejected, Reason: "too late"}, store.Operator, now))(f)
		f.sameEntries("redemption/"+made.ID, []store.AuditEntry{
			{At: now, Actor: "client/shop", Action: store.ActionRedeem, Before: asJSON(nil), After: asJSON(made)},
			{At: now, Actor: store.Operator, Action: store.ActionReject, Before: asJSON(before),
				After: asJSON(decided)},
		})
	}},
	{"a client's entries hold no secret", func(f *fixture) {
		secret := store.SecretHash([]byte("0123456789abcdef0123456789abcdef"))
		made := client("a")
		made.Secret = secret
		f.must(f.CreateClient(f.ctx, made, store.Operator))
		f.change("a", store.Rotation(secret, now.Add(time.Hour), now))
		f.change("a", store.DropOldSecrets)
		f.must(f.RotateSigningKey(f.ctx, signingKey("k", now), now, store.Operator))
		f.equal("client", f.actions("client/a"),
			[]string{store.ActionCreateClient, store.ActionRotateSecret, store.ActionDropOldSecret})
		f.equal("key", f.actions("key/k"), []string{store.ActionRotateSigningKey})
		for _, entry := range collect(f, f.Audit(f.ctx, store.AuditQuery{})) {
			text := string(asJSON(entry))
			for _, hidden := range []string{"0123456789abcdef", "[48,49,50", "MDEyMzQ1Njc4OWFiY2RlZg", "30313233",
				"secret of", "c2VjcmV0IG9m"} {
				if strings.Contains(text, hidden) {
					f.Errorf("the entry %s contains a secret", text)
				}
			}
		}
	}},
	{"a restore is an entry that names what it kept", func(f *fixture) {
		restored := store.Restored{RevocationsKnown: true, CarriedOver: []string{"client a stays disabled"}}
		f.must(f.AuditRestore(f.ctx, restored, store.Operator, now))
		f.sameEntries(store.DatabaseSubject, []store.AuditEntry{
			{At: now, Actor: store.Operator, Action: store.ActionRestoreDatabase, Before: asJSON(nil),
				After: asJSON(restored)},
		})
	}},
	{"an import of at least one record is one entry with the number of records", func(f *fixture) {
		f.addClients("owner")
		by := store.OperatorActor("ann")
		must(f.ImportPerks(f.ctx, rows(perk("p"), perk("q")), f.noNewID, by, now))(f)
		must(f.ImportUsers(f.ctx, rows(store.User{ID: "u"}), by, now.Add(time.Second)))(f)
		must(f.ImportCategories(f.ctx, rows(api.Category{ID: "c", Name: "C"}), by, now.Add(2*time.Second)))(f)
		must(f.ImportProperties(f.ctx, rows(property(1, "owner")), by, now.Add(3*time.Second)))(f)
		must(f.ImportPerks(f.ctx, rows[store.PerkRecord](), f.noNewID, by, now))(f)
		imported := func(n int64) json.RawMessage { return asJSON(store.Imported{Count: n, Created: n}) }
		f.sameEntries("perks", []store.AuditEntry{{At: now, Actor: "operator/ann", Action: "perks.import",
			Before: asJSON(nil), After: imported(2)}})
		f.sameEntries("users", []store.AuditEntry{{At: now.Add(time.Second), Actor: by, Action: "users.import",
			Before: asJSON(nil), After: imported(1)}})
		f.sameEntries("categories", []store.AuditEntry{{At: now.Add(2 * time.Second), Actor: by,
			Action: "categories.import", Before: asJSON(nil), After: imported(1)}})
		f.sameEntries("properties", []store.AuditEntry{{At: now.Add(3 * time.Second), Actor: by,
			Action: "properties.import", Before: asJSON(nil), After: imported(1)}})
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
		must(f.DecideRedemption(f.ctx, "m-bob", store.Decision{Status: api.StatusApproved}, store.Operator, at(3)))(f)
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

var auditReadTests = []test{
	{"entries are filtered by subject, actor, action and time, and limited to the last", func(f *fixture) {
		f.fillAudit()
		created, decided, updated := "client.create client/a", "redemption.approve redemption/m-ann",
			"property.update property/1"
		made, other := "redemption.create redemption/m-ann", "redemption.create redemption/p-ann"
		deleted := "property.delete property/1"
		for _, r := range []struct {
			query store.AuditQuery
			want  []string
		}{
			{store.AuditQuery{Since: hour(1)}, []string{made, decided, updated, other, deleted}},
			{store.AuditQuery{Since: hour(2), Until: hour(4)}, []string{decided, updated}},
			{store.AuditQuery{Until: now}, []string{}},
			{store.AuditQuery{Subject: "redemption/m-ann"}, []string{made, decided}},
			{store.AuditQuery{Subject: "redemption/"}, []string{}},
			{store.AuditQuery{Subject: "property/1"}, []string{"property.import property/1", updated, deleted}},
			{store.AuditQuery{Subject: "property/1", Last: 1}, []string{deleted}},
			{store.AuditQuery{Actor: "client/shop"}, []string{made, other}},
			{store.AuditQuery{Actor: "client/s*"}, []string{made, other}},
			{store.AuditQuery{Actor: "client/shop/jo/2"}, []string{other}},
			{store.AuditQuery{Actor: "client/shop/jo"}, []string{}},
			{store.AuditQuery{Actor: "client/shop/*"}, []string{other}},
			{store.AuditQuery{Actor: "client/shop/j*"}, []string{other}},
			{store.AuditQuery{Actor: "client/a"}, []string{updated, deleted}},
			{store.AuditQuery{Actor: "client/a", Last: 1}, []string{deleted}},
			{store.AuditQuery{Actor: "client/a/jo"}, []string{updated}},
			{store.AuditQuery{Actor: "client/a/j*"}, []string{updated}},
			{store.AuditQuery{Actor: "client/*"}, []string{made, updated, other, deleted}},
			{store.AuditQuery{Actor: "c*", Last: 2}, []string{other, deleted}},
			{store.AuditQuery{Actor: "client/"}, []string{}},
			{store.AuditQuery{Actor: "operator"},
				[]string{created, "properties.import properties", "perks.import perks", "users.import users"}},
			{store.AuditQuery{Actor: "operator/*"}, []string{decided}},
			{store.AuditQuery{Actor: "operator*", Since: hour(1)}, []string{decided}},
			{store.AuditQuery{Action: "redemption.*"}, []string{made, decided, other}},
			{store.AuditQuery{Action: "redemption.create"}, []string{made, other}},
			{store.AuditQuery{Action: "property.*", Actor: "client/a", Since: hour(4)}, []string{deleted}},
			{store.AuditQuery{Action: "property"}, []string{}},
			{store.AuditQuery{Action: "*", Actor: "*", Since: hour(4)}, []string{other, deleted}},
			{store.AuditQuery{Last: 3}, []string{updated, other, deleted}},
			{store.AuditQuery{Last: 100, Since: hour(3)}, []string{updated, other, deleted}},
			{store.AuditQuery{Actor: "\x00"}, []string{}},
			{store.AuditQuery{Subject: "property/\xff"}, []string{}},
		} {
			f.equal(fmt.Sprintf("%+v", r.query), summaries(collect(f, f.Audit(f.ctx, r.query))), r.want)
			var position store.AuditPosition
			f.equal(fmt.Sprintf("%+v, followed", r.query),
				summaries(collect(f, f.AuditSince(f.ctx, r.query, &position))), r.want)
			f.equal("since then", summaries(collect(f, f.AuditSince(f.ctx, r.query, &position))), []string{})
		}
	}},
	{"a follower gets every new entry, whatever its time, and repeats an interrupted read", func(f *fixture) {
		f.fillAudit()
		var position store.AuditPosition
		query := store.AuditQuery{Last: 1}
		f.equal("at first", summaries(collect(f, f.AuditSince(f.ctx, query, &position))),
			[]string{"property.delete property/1"})
		early := attempt("p", "bob")
		early.At = hour(-5)
		f.redeem(early)
		f.must(f.SetClientDisabled(f.ctx, "a", true, store.Operator, hour(-6)))
		fresh := []string{"client.disable client/a", "redemption.create redemption/p-bob"}
		for range f.AuditSince(f.ctx, query, &position) {
			break
		}
		f.equal("then", summaries(collect(f, f.AuditSince(f.ctx, query, &position))), fresh)
		f.equal("and then", summaries(collect(f, f.AuditSince(f.ctx, query, &position))), []string{})
		nowhere := store.AuditPosition("nowhere")
		for _, err := range f.AuditSince(f.ctx, query, &nowhere) {
			if err == nil {
				f.Error("an invalid position was accepted")
			}
		}
	}},
}

func hour(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }

// fillAudit makes an entry in each of five hours.
func (f *fixture) fillAudit() {
	f.Helper()
	f.addClients("a")
	f.addProperties(property(1, "a"))
	f.addPerks(perk("p"), perk("m", manual))
	f.addUsers("ann", "bob")
	redeem := func(perkID string, at time.Time) {
		a := attempt(perkID, "ann")
		a.At = at
		if perkID == "p" {
			a.Actor = "jo/2"
		}
		f.redeem(a)
	}
	redeem("m", hour(1))
	must(f.DecideRedemption(f.ctx, "m-ann", store.Decision{Status: api.StatusApproved}, store.OperatorActor("ann"),
		hour(2)))(f)
	f.must(f.UpdateProperty(f.ctx, 1, store.ClientActor("a", "jo"), hour(3), retitle("New")))
	redeem("p", hour(4))
	f.must(f.DeleteProperty(f.ctx, 1, store.ClientActor("a", ""), hour(5),
		func(store.PropertyRecord) error { return nil }))
}

// summaries are the action and subject of each entry.
func summaries(entries []store.AuditEntry) []string {
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Action+" "+entry.Subject)
	}
	return list
}
