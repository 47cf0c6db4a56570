package storetest

import (
	"fmt"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// RunReopened proves that what was acknowledged is there after the store was closed and opened again. Each call of open
// opens the same, at first empty, database.
func RunReopened(t *testing.T, open func(t *testing.T) store.Store) {
	f := newFixture(t, open(t))
	f.addUsers("ann", "bob")
	f.addClients("owner")
	f.addPerks(fullPerk("full"), perk("p", stock(100)))
	f.addProperties(property(1, "owner"), property(2, "owner"))
	f.must(f.update(1, retitle("New")))
	f.must(f.delete(2, nil))
	f.must(f.EnsureSigningKey(f.ctx, signingKey("k", now)))
	first := f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
	f.redeem(attempt("full", "bob"))
	f.decide("full-bob", api.StatusApproved)
	before := snapshot(f)
	f.must(f.Close())

	f = newFixture(t, open(t))
	f.equal("everything", snapshot(f), before)
	f.equal("replayed", f.redeem(keyed(attempt("p", "ann"), "2", "key", 1)), store.RedeemResult{Redemption: first.Redemption, Replayed: true})
	restored, err := f.RestoreProperty(f.ctx, 2, store.Operator, now)
	f.must(err)
	f.equal("restored", restored, property(2, "owner"))
	f.addPerks(perk("new"))
	f.finds("by text", store.PerkQuery{Text: "perk"}, "new", "p")
}

// RunClosedAmidWrites proves that Close waits for what is under way, and that every write that was acknowledged before
// it is there afterwards. Each call of open opens the same, at first empty, database.
func RunClosedAmidWrites(t *testing.T, open func(t *testing.T) store.Store) {
	const users = 200
	f := newFixture(t, open(t))
	f.addPerks(perk("p"))
	for i := range users {
		f.addUsers(fmt.Sprint(i))
	}
	some := make(chan struct{}, users)
	closed := make(chan error)
	go func() {
		<-some
		closed <- f.Close()
	}()
	counts := f.atOnce(users, func(i int) error {
		_, err := f.Redeem(f.ctx, attempt("p", fmt.Sprint(i)))
		some <- struct{}{}
		return err
	})
	f.must(<-closed)
	f.equal("outcomes", counts[""]+counts[api.CodeUnavailable], users)

	f = newFixture(t, open(t))
	f.equal("redemptions", len(collect(f, f.ExportRedemptions(f.ctx, ""))), counts[""])
}

// snapshot is everything that can be read.
func snapshot(f *fixture) map[string]any {
	f.Helper()
	clients, err := f.Clients(f.ctx)
	f.must(err)
	return map[string]any{
		"perks":       collect(f, f.ExportPerks(f.ctx)),
		"categories":  collect(f, f.ExportCategories(f.ctx)),
		"users":       collect(f, f.ExportUsers(f.ctx)),
		"properties":  collect(f, f.ExportProperties(f.ctx)),
		"redemptions": collect(f, f.ExportRedemptions(f.ctx, "")),
		"audit":       collect(f, f.Audit(f.ctx, store.AuditQuery{})),
		"keys":        f.signingKeys(now),
		"clients":     clients,
	}
}
