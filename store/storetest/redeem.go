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
	{"a redemption that may make its user does, and an entry says so", func(f *fixture) {
		f.addPerks(perk("p"), perk("q"))
		a := creating(attempt("p", "ann"))
		made := f.redeem(a)
		f.redeem(creating(attempt("q", "ann")))
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
		f.equal("list", len(f.redemptions("ann")), 2)
		f.equal("asked again", f.redeem(a), made)
		f.sameEntries("user/ann", []store.AuditEntry{{
			At: now, Actor: "client/shop", Action: "user.create", Before: asJSON(nil), After: json.RawMessage(`{"id":"ann","redemption_id":"p-ann"}`),
		}})
		f.addUsers("bob")
		f.redeem(creating(attempt("p", "bob")))
		f.equal("entries about who was known", f.actions("user/bob"), []string{})
	}},
	{"a redemption that is refused makes no user", func(f *fixture) {
		f.addPerks(perk("early", from(now.Add(time.Microsecond))), perk("late", to(now)), perk("empty", stock(0)), perk("p"))
		f.addUsers("ann")
		f.redeem(keyed(attempt("p", "ann"), "first", "key", 1))
		for _, a := range []store.RedeemAttempt{
			attempt("missing", "new"), attempt("early", "new"), attempt("late", "new"), attempt("empty", "new"), keyed(attempt("p", "new"), "second", "key", 2),
		} {
			if _, err := f.Redeem(f.ctx, creating(a)); err == nil {
				f.Errorf("%s was redeemed", a.PerkID)
			}
		}
		_, err := f.Redeem(f.ctx, attempt("p", "new"))
		f.fails("without leave to make the user", err, api.CodeNotFound)
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
		f.equal("entries", f.actions("user/new"), []string{})
	}},
	{"lists of any user take one who is not known for one with nothing", func(f *fixture) {
		f.addPerks(perk("p"), perk("q"), perk("empty", stock(0)), perk("early", from(now.Add(time.Hour))))
		f.redeem(creating(attempt("q", "ann")))
		f.finds("available to someone new", store.PerkQuery{AvailableTo: "new", AnyUser: true}, "p", "q")
		f.finds("available to someone known", store.PerkQuery{AvailableTo: "ann", AnyUser: true}, "p")
		for user, want := range map[string]int64{"new": 0, "ann": 1} {
			list, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: user, AnyUser: true, Window: store.Window{Page: 1, PerPage: 10}})
			f.must(err)
			f.equal("redeemed by "+user, list.Total, want)
			f.equal("redemptions of "+user, int64(len(list.Items)), want)
			if list.Items == nil {
				f.Errorf("the redemptions of %s are nil, want a list", user)
			}
		}
		_, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: "new", Window: store.Window{Page: 1, PerPage: 10}})
		f.fails("otherwise", err, api.CodeNotFound)
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
