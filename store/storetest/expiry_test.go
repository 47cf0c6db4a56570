package storetest_test

import (
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
)

// later returns the attempt as it is made later.
func later(wait time.Duration, a store.RedeemAttempt) store.RedeemAttempt {
	a.At = now.Add(wait)
	return a
}

// expired is the redemption of an attempt for a perk whose hold it has outlived.
func (f *fixture) expired(a store.RedeemAttempt, hold time.Duration) {
	f.Helper()
	at := a.At.Add(hold)
	f.equal("the redemption", must(f.Redemption(f.ctx, a.ID))(f), api.RedemptionRecord{
		Redemption: api.Redemption{ID: a.ID, PerkID: a.PerkID, UserID: a.UserID, RedeemedAt: a.At,
			Status: api.StatusRejected, Metadata: a.Metadata},
		ClientID: a.ClientID, DecidedAt: &at, Reason: ptr("expired"), ExpiresAt: &at,
	})
	entries := collect(f, f.Audit(f.ctx, store.AuditQuery{Subject: "redemption/" + a.ID, Action: store.ActionReject}))
	if len(entries) != 1 || entries[0].Actor != "service" || !entries[0].At.Equal(at) {
		f.Fatalf("the entries of its expiry are %v", entries)
	}
}

// expires rejects what has expired after a while, and checks how much that is, and when the next expires.
func (f *fixture) expires(wait time.Duration, want int, next time.Duration) {
	f.Helper()
	expired, at, err := f.ExpireRedemptions(f.ctx, now.Add(wait))
	f.must(err)
	f.equal("expired", expired, want)
	switch {
	case next == 0 && at != nil:
		f.Fatalf("the next expires at %s, want none", at)
	case next != 0 && (at == nil || !at.Equal(now.Add(next))):
		f.Fatalf("the next expires at %v, want %s", at, now.Add(next))
	}
}

var expiryTests = []test{
	{"its unit is free for the request at the time when a pending redemption expires", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual, stock(1), holding(2)))
		f.equal("status", f.redeem(attempt("p", "ann")).Redemption.Status, api.StatusPending)
		f.refuses("before", later(2*time.Second-time.Millisecond, attempt("p", "bob")), api.CodeSoldOut)
		f.redeem(later(2*time.Second, attempt("p", "bob")))
		f.expired(attempt("p", "ann"), 2*time.Second)
		f.refuses("the unit is held again", later(3*time.Second, keyed(attempt("p", "ann"), "again", "k", 1)),
			api.CodeSoldOut)
		f.expires(3*time.Second, 0, 4*time.Second)
	}},
	{"a user whose redemption has expired can redeem the perk again at once", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual, holding(2)))
		f.redeem(attempt("p", "ann"))
		again := later(2*time.Second, attempt("p", "ann"))
		again.ID = "again"
		early := again
		early.At = now.Add(time.Second)
		f.refuses("before", early, api.CodeAlreadyRedeemed)
		f.redeem(again)
		f.expired(attempt("p", "ann"), 2*time.Second)
	}},
	{"when a redemption expires stays, whatever becomes of the perk", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual, holding(2)), perk("q", manual), perk("auto", holding(2)))
		f.redeem(attempt("p", "ann"))
		f.redeem(attempt("q", "ann"))
		f.redeem(attempt("auto", "ann"))
		f.addPerks(perk("p"), perk("q", manual, holding(1)))
		f.redeem(attempt("q", "bob"))
		f.expires(time.Hour, 2, 0)
		f.expired(attempt("p", "ann"), 2*time.Second)
		f.expired(attempt("q", "bob"), time.Second)
		f.equal("without a hold", must(f.Redemption(f.ctx, "q-ann"))(f).Status, api.StatusPending)
		f.equal("approved", must(f.Redemption(f.ctx, "auto-ann"))(f).Status, api.StatusApproved)
	}},
	{"a redemption that has expired cannot be decided, also before that is written", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual, holding(2)))
		f.redeem(attempt("p", "ann"))
		f.redeem(attempt("p", "bob"))
		approved := store.Decision{Status: api.StatusApproved}
		must(f.DecideRedemption(f.ctx, "p-bob", approved, store.Operator, now.Add(2*time.Second-1)))(f)
		for _, isWritten := range []bool{false, true} {
			for _, status := range []api.RedemptionStatus{api.StatusApproved, api.StatusRejected, api.StatusVoided} {
				_, err := f.DecideRedemption(f.ctx, "p-ann", store.Decision{Status: status, Reason: "expired",
					Check: func(r api.RedemptionRecord) error {
						f.equal("what the check sees", r.Status, api.StatusRejected)
						return nil
					}}, store.Operator, now.Add(2*time.Second))
				f.fails(string(status), err, api.CodeConflict)
			}
			if !isWritten {
				f.expires(2*time.Second, 1, 0)
			}
		}
		f.expired(attempt("p", "ann"), 2*time.Second)
		f.equal("decided in time", must(f.Redemption(f.ctx, "p-bob"))(f).Status, api.StatusApproved)
	}},
	{"those that expire are rejected in any number, each once", func(f *fixture) {
		const users = 300
		f.addUsers(numbered("u", users)...)
		f.addPerks(perk("p", manual, stock(users), holding(1)), perk("q", manual, holding(2)))
		var redeeming, expiring errgroup.Group
		for _, user := range numbered("u", users) {
			redeeming.Go(func() error { return errOf(f.Redeem(f.ctx, attempt("p", user))) })
			redeeming.Go(func() error { return errOf(f.Redeem(f.ctx, attempt("q", user))) })
		}
		f.must(redeeming.Wait())
		f.expires(0, 0, time.Second)
		var expired atomic.Int64
		for range 2 {
			expiring.Go(func() error {
				n, _, err := f.ExpireRedemptions(f.ctx, now.Add(time.Second))
				expired.Add(int64(n))
				return err
			})
		}
		for i := range 10 {
			a := later(time.Second, creating(attempt("p", fmt.Sprint("new", i))))
			expiring.Go(func() error { return errOf(f.Redeem(f.ctx, a)) })
		}
		f.must(expiring.Wait())
		f.expires(time.Second, 0, 2*time.Second)
		f.expires(2*time.Second, users+10, 0)
		rejected := collect(f, f.Audit(f.ctx, store.AuditQuery{Action: store.ActionReject}))
		f.equal("entries", len(rejected), 2*users+10)
		if expired.Load() > users {
			f.Errorf("%d were expired, of %d", expired.Load(), users)
		}
		f.expired(attempt("p", "u1"), time.Second)
		f.expired(attempt("q", "u1"), 2*time.Second)
	}},
	{"a perk of which less is left than is held is sold out until enough has expired", func(f *fixture) {
		const users = 60
		f.addUsers(append(numbered("u", users), "ann")...)
		f.addPerks(perk("p", manual, holding(1)))
		for _, user := range numbered("u", users) {
			f.redeem(attempt("p", user))
		}
		f.addPerks(perk("p", manual, holding(1), stock(1)))
		f.refuses("before", attempt("p", "ann"), api.CodeSoldOut)
		f.redeem(later(time.Second, attempt("p", "ann")))
	}},
}
