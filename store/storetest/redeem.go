package storetest

import (
	"encoding/json"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redeemTests = []test{
	{"an auto perk is redeemed to approved", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := attempt("p", "ann")
		a.Metadata = json.RawMessage(`{"table":[4,"ü"],"n":1.50}`)
		a.At = now.Add(123_456_789 * time.Nanosecond)
		want := store.RedeemResult{Redemption: api.Redemption{
			ID: a.ID, PerkID: "p", UserID: "ann", RedeemedAt: now.Add(123_456 * time.Microsecond), Status: api.StatusApproved, Metadata: a.Metadata,
		}}
		f.equal("answer", f.redeem(a), want)
		f.equal("list", f.redemptions("ann"), []api.Redemption{want.Redemption})
	}},
	{"a manual perk is redeemed to pending", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.equal("status", f.redeem(attempt("p", "ann")).Redemption.Status, api.StatusPending)
	}},
	{"a refusal says why and makes nothing", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("open"), perk("early", from(now.Add(time.Microsecond))), perk("begun", from(now)), perk("late", to(now)),
			perk("last", to(now.Add(time.Microsecond))), perk("empty", stock(0)), perk("one", stock(1)))
		f.redeem(attempt("one", "bob"))
		for _, test := range []struct {
			perk, user string
			want       api.Code
		}{
			{"missing", "ann", api.CodeNotFound},
			{"open", "nobody", api.CodeNotFound},
			{"one", "bob", api.CodeAlreadyRedeemed},
			{"early", "ann", api.CodePerkNotStarted},
			{"late", "ann", api.CodePerkExpired},
			{"empty", "ann", api.CodeSoldOut},
			{"one", "ann", api.CodeSoldOut},
		} {
			a := attempt(test.perk, test.user)
			a.ID += " again"
			_, err := f.Redeem(f.ctx, a)
			f.fails(a.ID, err, test.want)
		}
		f.equal("what there is", len(collect(f, f.ExportRedemptions(f.ctx, ""))), 1)
		f.redeem(attempt("begun", "ann"))
		f.redeem(attempt("last", "ann"))
	}},
	{"of several reasons the first in order is told", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("gone", stock(1)), perk("odd", stock(0), to(now)), perk("both", stock(0), from(now.Add(time.Hour))))
		f.redeem(keyed(attempt("gone", "ann"), "first", "key", 1))
		f.addPerks(perk("gone", stock(1), to(now)))
		for _, test := range []struct {
			what string
			a    store.RedeemAttempt
			want api.Code
		}{
			{"the key comes before the perk", keyed(attempt("missing", "ann"), "2", "key", 2), api.CodeIdempotencyKeyReused},
			{"the perk comes before the user", attempt("missing", "nobody"), api.CodeNotFound},
			{"the user comes before the dates", attempt("odd", "nobody"), api.CodeNotFound},
			{"the live redemption comes before the dates", keyed(attempt("gone", "ann"), "3", "other", 1), api.CodeAlreadyRedeemed},
			{"valid_to comes before the stock", attempt("odd", "bob"), api.CodePerkExpired},
			{"valid_from comes before the stock", attempt("both", "bob"), api.CodePerkNotStarted},
		} {
			_, err := f.Redeem(f.ctx, test.a)
			f.fails(test.what, err, test.want)
		}
		_, err := f.Redeem(f.ctx, attempt("missing", "nobody"))
		f.equal("the unknown perk is named before the unknown user", err.Error(), store.PerkNotFound("missing").Error())
	}},
	{"stock is given to as many as there are units", func(f *fixture) {
		f.addUsers("a", "b", "c")
		f.addPerks(perk("p", stock(2)))
		f.redeem(attempt("p", "a"))
		f.redeem(attempt("p", "b"))
		_, err := f.Redeem(f.ctx, attempt("p", "c"))
		f.fails("third", err, api.CodeSoldOut)
	}},
	{"a rejected redemption gives its unit and the user's place back", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual, stock(1)))
		first := f.redeem(attempt("p", "ann")).Redemption
		_, err := f.Redeem(f.ctx, attempt("p", "bob"))
		f.fails("while it is pending", err, api.CodeSoldOut)
		_, err = f.DecideRedemption(f.ctx, first.ID, api.StatusRejected, store.Operator, now)
		f.must(err)
		again := attempt("p", "ann")
		again.ID = "again"
		f.redeem(again)
		f.equal("redemptions", len(f.redemptions("ann")), 2)
	}},
	{"stock that is imported anew counts what is held already", func(f *fixture) {
		f.addUsers("a", "b", "c", "d")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "a"))
		f.redeem(attempt("p", "b"))
		f.addPerks(perk("p", stock(2)))
		_, err := f.Redeem(f.ctx, attempt("p", "c"))
		f.fails("two of two are held", err, api.CodeSoldOut)
		f.addPerks(perk("p", stock(3)))
		f.redeem(attempt("p", "c"))
		f.addPerks(perk("p", stock(1)))
		_, err = f.Redeem(f.ctx, attempt("p", "d"))
		f.fails("more are held than there are", err, api.CodeSoldOut)
	}},
	{"the same attempt tried again is recognised by its id", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", stock(1)))
		first := f.redeem(attempt("p", "ann"))
		f.equal("again", f.redeem(attempt("p", "ann")), first)
		withKey := attempt("p", "ann")
		withKey.Key = &store.IdempotencyKey{Key: "k"}
		f.equal("redemptions", len(f.redemptions("ann")), 1)
	}},
	{"an id that another redemption has is an error, not an answer", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		first := f.redeem(attempt("p", "ann")).Redemption
		other := attempt("p", "bob")
		other.ID = first.ID
		if _, err := f.Redeem(f.ctx, other); err == nil {
			f.Error("bob was answered with ann's redemption")
		}
	}},
	{"without metadata it is the empty object", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := attempt("p", "ann")
		a.Metadata = nil
		f.equal("metadata", string(f.redeem(a).Redemption.Metadata), `{}`)
	}},
}

// redemptions lists all that a user has, by id.
func (f *fixture) redemptions(user string) []api.Redemption {
	f.Helper()
	list, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: user, Window: store.Window{Page: 1, PerPage: api.MaxPerPage}})
	f.must(err)
	return list.Items
}
