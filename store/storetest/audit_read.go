package storetest

import (
	"fmt"
	"sync"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var auditReadTests = []test{
	{"entries are found by subject, actor, action and time, and the last of them", func(f *fixture) {
		f.fillAudit()
		created, decided, updated := "client.create client/a", "redemption.approve redemption/m-ann", "property.update property/1"
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
			{store.AuditQuery{Subject: "property/1"}, []string{updated, deleted}},
			{store.AuditQuery{Subject: "property/1", Last: 1}, []string{deleted}},
			{store.AuditQuery{Actor: "client/shop"}, []string{made, other}},
			{store.AuditQuery{Actor: "client/s*"}, []string{made, other}},
			{store.AuditQuery{Actor: "client/*"}, []string{made, updated, other, deleted}},
			{store.AuditQuery{Actor: "c*", Last: 2}, []string{other, deleted}},
			{store.AuditQuery{Actor: "client/"}, []string{}},
			{store.AuditQuery{Actor: "operator"}, []string{created, "properties.import properties", "perks.import perks", "users.import users"}},
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
			f.equal(fmt.Sprintf("%+v", r.query), told(collect(f, f.Audit(f.ctx, r.query))), r.want)
			var position store.AuditPosition
			f.equal(fmt.Sprintf("%+v, to be followed", r.query), told(collect(f, f.AuditSince(f.ctx, r.query, &position))), r.want)
			f.equal("what came since then", told(collect(f, f.AuditSince(f.ctx, r.query, &position))), []string{})
		}
	}},
	{"who reads on gets what is new, whatever time it bears, and a turn that was broken off again", func(f *fixture) {
		f.fillAudit()
		var position store.AuditPosition
		query := store.AuditQuery{Last: 1}
		f.equal("at first", told(collect(f, f.AuditSince(f.ctx, query, &position))), []string{"property.delete property/1"})
		early := attempt("p", "bob")
		early.At = hour(-5)
		f.redeem(early)
		f.must(f.SetClientDisabled(f.ctx, "a", true, store.Operator, hour(-6)))
		fresh := []string{"client.disable client/a", "redemption.create redemption/p-bob"}
		for range f.AuditSince(f.ctx, query, &position) {
			break
		}
		f.equal("then", told(collect(f, f.AuditSince(f.ctx, query, &position))), fresh)
		f.equal("and then", told(collect(f, f.AuditSince(f.ctx, query, &position))), []string{})
		nowhere := store.AuditPosition("nowhere")
		for _, err := range f.AuditSince(f.ctx, query, &nowhere) {
			if err == nil {
				f.Error("a position that is none was read")
			}
		}
	}},
	{"who reads on amid writers misses nothing and sees nothing twice", func(f *fixture) {
		const writers, rounds = 8, 12
		var users []string
		for i := range writers * rounds {
			users = append(users, fmt.Sprint("u", i))
		}
		f.addUsers(users...)
		f.addPerks(perk("p"), perk("q"))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		var position store.AuditPosition
		seen := map[string]int{}
		read := func() {
			for _, entry := range collect(f, f.AuditSince(f.ctx, store.AuditQuery{}, &position)) {
				seen[entry.Action+" "+entry.Subject+" "+string(entry.After)]++
			}
		}
		var writing sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				for r := range rounds {
					n := w*rounds + r
					perkID := []string{"p", "q"}[n%2]
					if _, err := f.Redeem(f.ctx, attempt(perkID, users[n])); err != nil {
						f.Error(err)
					}
					if err := f.UpdateProperty(f.ctx, 1, store.Operator, now, retitle(fmt.Sprint("Title ", n))); err != nil {
						f.Error(err)
					}
				}
			})
		}
		over := make(chan struct{})
		go func() { writing.Wait(); close(over) }()
		for more := true; more; {
			select {
			case <-over:
				more = false
			default:
			}
			read() // once more after all is over
		}
		f.equal("entries", len(seen), 4+2*writers*rounds)
		for entry, times := range seen {
			if times != 1 {
				f.Errorf("%d times: %s", times, entry)
			}
		}
	}},
}

func hour(n int) time.Time { return now.Add(time.Duration(n) * time.Hour) }

// fillAudit has something happen in each of five hours.
func (f *fixture) fillAudit() {
	f.Helper()
	f.addClients("a")
	f.addProperties(property(1, "a"))
	f.addPerks(perk("p"), perk("m", manual))
	f.addUsers("ann", "bob")
	redeem := func(perkID string, at time.Time) {
		a := attempt(perkID, "ann")
		a.At = at
		f.redeem(a)
	}
	redeem("m", hour(1))
	_, err := f.DecideRedemption(f.ctx, "m-ann", api.StatusApproved, store.OperatorActor("ann"), hour(2))
	f.must(err)
	f.must(f.UpdateProperty(f.ctx, 1, store.ClientActor("a"), hour(3), retitle("New")))
	redeem("p", hour(4))
	f.must(f.DeleteProperty(f.ctx, 1, store.ClientActor("a"), hour(5), func(store.PropertyRecord) error { return nil }))
}

// told is what was done to what.
func told(entries []store.AuditEntry) []string {
	list := []string{}
	for _, entry := range entries {
		list = append(list, entry.Action+" "+entry.Subject)
	}
	return list
}
