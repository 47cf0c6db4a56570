package storetest

import (
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var idempotencyTests = []test{
	{"the same request again gives the first answer", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", stock(1)))
		first := f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		f.equal("first is no replay", first.Replayed, false)
		later := keyed(attempt("p", "ann"), "2", "key", 1)
		later.At = now.Add(store.IdempotencyKeyLife)
		f.equal("again", f.redeem(later), store.RedeemResult{Redemption: first.Redemption, Replayed: true})
		f.equal("redemptions", len(f.redemptions("ann")), 1)
	}},
	{"the same attempt under its key tried again is no replay", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := keyed(attempt("p", "ann"), "1", "key", 1)
		f.equal("again", f.redeem(a), f.redeem(a))
	}},
	{"another request under the key is refused", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"), perk("q"))
		f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		_, err := f.Redeem(f.ctx, keyed(attempt("q", "ann"), "2", "key", 2))
		f.fails("other perk", err, api.CodeIdempotencyKeyReused)
	}},
	{"another client's key of the same name is another key", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		other := keyed(attempt("p", "bob"), "2", "key", 2)
		other.ClientID = "other"
		f.equal("replayed", f.redeem(other).Replayed, false)
	}},
	{"keys differ by case and blanks", func(f *fixture) {
		f.addUsers("ann")
		for i, key := range []string{"key", "KEY", " key", "key "} {
			id := string(rune('a' + i))
			f.addPerks(perk(id))
			f.equal("replayed", f.redeem(keyed(attempt(id, "ann"), id, key, byte(i))).Replayed, false)
		}
	}},
	{"a key past its life is as if it were never used", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		same := keyed(attempt("p", "ann"), "2", "key", 1)
		same.At = now.Add(store.IdempotencyKeyLife + time.Microsecond)
		_, err := f.Redeem(f.ctx, same)
		f.fails("the same request", err, api.CodeAlreadyRedeemed)
		other := keyed(attempt("p", "bob"), "3", "key", 2)
		other.At = same.At
		first := f.redeem(other)
		other.ID, other.At = "4", other.At.Add(store.IdempotencyKeyLife)
		f.equal("its new life begins with its new use", f.redeem(other), store.RedeemResult{Redemption: first.Redemption, Replayed: true})
	}},
	{"a refusal leaves its key free", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", stock(0)))
		_, err := f.Redeem(f.ctx, keyed(attempt("p", "ann"), "1", "key", 1))
		f.fails("sold out", err, api.CodeSoldOut)
		f.addPerks(perk("p", stock(1)))
		f.equal("the same request later", f.redeem(keyed(attempt("p", "ann"), "2", "key", 1)).Replayed, false)
		_, err = f.Redeem(f.ctx, keyed(attempt("p", "bob"), "3", "other", 2))
		f.fails("sold out again", err, api.CodeSoldOut)
		f.addPerks(perk("q"))
		f.equal("another request", f.redeem(keyed(attempt("q", "bob"), "4", "other", 3)).Replayed, false)
	}},
	{"a replay shows the status of the first answer, whatever was decided since", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual))
		for user, decision := range map[string]api.RedemptionStatus{"ann": api.StatusApproved, "bob": api.StatusRejected} {
			first := f.redeem(keyed(attempt("p", user), user, user, 1))
			_, err := f.DecideRedemption(f.ctx, first.Redemption.ID, decision, store.Operator, now)
			f.must(err)
			again := f.redeem(keyed(attempt("p", user), user+" again", user, 1))
			f.equal(user, again, store.RedeemResult{Redemption: first.Redemption, Replayed: true})
		}
	}},
	{"purging forgets the keys first used before the instant, and no others", func(f *fixture) {
		f.addUsers("ann")
		for i, id := range []string{"a", "b", "c"} {
			f.addPerks(perk(id))
			a := keyed(attempt(id, "ann"), id, id, 1)
			a.At = now.Add(time.Duration(i) * time.Second)
			f.redeem(a)
		}
		purge := func(want int64) {
			n, err := f.PurgeIdempotencyKeys(f.ctx, now.Add(2*time.Second))
			f.must(err)
			f.equal("purged", n, want)
		}
		purge(2)
		purge(0)
		_, err := f.Redeem(f.ctx, keyed(attempt("b", "ann"), "b again", "b", 1))
		f.fails("a forgotten key", err, api.CodeAlreadyRedeemed)
		f.equal("a kept key", f.redeem(keyed(attempt("c", "ann"), "c again", "c", 1)).Replayed, true)
	}},
}
