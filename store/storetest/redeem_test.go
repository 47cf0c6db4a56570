package storetest_test

import (
	"encoding/json"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redeemTests = []test{
	{"redeeming an auto perk is approved", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := attempt("p", "ann")
		a.Metadata = json.RawMessage(`{"table":[4,"ü"],"n":1.50}`)
		a.At = now.Add(123_456_789 * time.Nanosecond)
		want := store.RedeemResult{Redemption: api.Redemption{
			ID: a.ID, PerkID: "p", UserID: "ann", RedeemedAt: now.Add(123_456 * time.Microsecond),
			Status: api.StatusApproved, Metadata: a.Metadata,
		}}
		f.equal("answer", f.redeem(a), want)
		f.equal("list", f.redemptions("ann"), []api.Redemption{want.Redemption})
	}},
	{"redeeming a manual perk is pending", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.equal("status", f.redeem(attempt("p", "ann")).Redemption.Status, api.StatusPending)
	}},
	{"a refusal says why and changes nothing", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("open"), perk("early", from(now.Add(time.Microsecond))), perk("begun", from(now)),
			perk("late", to(now)),
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
			f.refuses(a.ID, a, test.want)
		}
		f.equal("redemptions", len(collect(f, f.ExportRedemptions(f.ctx, ""))), 1)
		f.redeem(attempt("begun", "ann"))
		f.redeem(attempt("last", "ann"))
	}},
	{"a redemption may create its user, and an entry records it", func(f *fixture) {
		f.addPerks(perk("p"), perk("q"))
		a := creating(attempt("p", "ann"))
		made := f.redeem(a)
		f.redeem(creating(attempt("q", "ann")))
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
		f.equal("list", len(f.redemptions("ann")), 2)
		f.equal("a second time", f.redeem(a), made)
		f.sameEntries("user/ann", []store.AuditEntry{{
			At: now, Actor: "client/shop", Action: "user.create", Before: asJSON(nil),
			After: json.RawMessage(`{"id":"ann","redemption_id":"p-ann"}`),
		}})
		f.addUsers("bob")
		f.redeem(creating(attempt("p", "bob")))
		f.equal("entries about the known user", f.actions("user/bob"), []string{})
	}},
	{"a refused redemption creates no user", func(f *fixture) {
		f.addPerks(perk("early", from(now.Add(time.Microsecond))), perk("late", to(now)), perk("empty", stock(0)),
			perk("p"))
		f.addUsers("ann")
		f.redeem(keyed(attempt("p", "ann"), "first", "key", 1))
		for _, a := range []store.RedeemAttempt{
			attempt("missing", "new"), attempt("early", "new"), attempt("late", "new"), attempt("empty", "new"),
			keyed(attempt("p", "new"), "second", "key", 2),
		} {
			if _, err := f.Redeem(f.ctx, creating(a)); err == nil {
				f.Errorf("%s was redeemed", a.PerkID)
			}
		}
		f.refuses("without permission to create the user", attempt("p", "new"), api.CodeNotFound)
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
		f.equal("entries", f.actions("user/new"), []string{})
	}},
	{"lists of any user treat an unknown user as one without redemptions", func(f *fixture) {
		f.addPerks(perk("p"), perk("q"), perk("empty", stock(0)), perk("early", from(now.Add(time.Hour))))
		f.redeem(creating(attempt("q", "ann")))
		f.finds("available to someone new", store.PerkQuery{AvailableTo: "new", AnyUser: true}, "p", "q")
		f.finds("available to someone known", store.PerkQuery{AvailableTo: "ann", AnyUser: true}, "p")
		for user, want := range map[string]int64{"new": 0, "ann": 1} {
			query := redeemedBy(user, 10)
			query.AnyUser = true
			list := must(f.ListRedemptions(f.ctx, query))(f)
			f.equal("redeemed by "+user, list.Total, want)
			f.equal("redemptions of "+user, int64(len(list.Items)), want)
			if list.Items == nil {
				f.Errorf("the redemptions of %s are nil, want a list", user)
			}
		}
		f.fails("otherwise", errOf(f.ListRedemptions(f.ctx, redeemedBy("new", 10))), api.CodeNotFound)
	}},
	{"of several reasons the first is returned", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("gone", stock(1)), perk("odd", stock(0), to(now)),
			perk("both", stock(0), from(now.Add(time.Hour))))
		f.redeem(keyed(attempt("gone", "ann"), "first", "key", 1))
		f.addPerks(perk("gone", stock(1), to(now)))
		for _, test := range []struct {
			what string
			a    store.RedeemAttempt
			want api.Code
		}{
			{"the key comes before the perk", keyed(attempt("missing", "ann"), "2", "key", 2),
				api.CodeIdempotencyKeyReused},
			{"the perk comes before the user", attempt("missing", "nobody"), api.CodeNotFound},
			{"the user comes before the dates", attempt("odd", "nobody"), api.CodeNotFound},
			{"the live redemption comes before the dates", keyed(attempt("gone", "ann"), "3", "other", 1),
				api.CodeAlreadyRedeemed},
			{"valid_to comes before the stock", attempt("odd", "bob"), api.CodePerkExpired},
			{"valid_from comes before the stock", attempt("both", "bob"), api.CodePerkNotStarted},
		} {
			f.refuses(test.what, test.a, test.want)
		}
		_, err := f.Redeem(f.ctx, attempt("missing", "nobody"))
		f.equal("the unknown perk is named before the unknown user", err.Error(), store.PerkNotFound("missing").Error())
	}},
	{"there are as many redemptions as units", func(f *fixture) {
		f.addUsers("a", "b", "c")
		f.addPerks(perk("p", stock(2)))
		f.redeem(attempt("p", "a"))
		f.redeem(attempt("p", "b"))
		f.refuses("third", attempt("p", "c"), api.CodeSoldOut)
	}},
	{"a rejected redemption frees its unit, and the user may redeem again", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual, stock(1)))
		first := f.redeem(attempt("p", "ann")).Redemption
		f.refuses("while it is pending", attempt("p", "bob"), api.CodeSoldOut)
		must(f.DecideRedemption(f.ctx, first.ID, store.Decision{Status: api.StatusRejected}, store.Operator, now))(f)
		again := attempt("p", "ann")
		again.ID = "again"
		f.redeem(again)
		f.equal("redemptions", len(f.redemptions("ann")), 2)
	}},
	{"newly imported stock counts the units already held", func(f *fixture) {
		f.addUsers("a", "b", "c", "d")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "a"))
		f.redeem(attempt("p", "b"))
		f.addPerks(perk("p", stock(2)))
		f.refuses("two of two are held", attempt("p", "c"), api.CodeSoldOut)
		f.addPerks(perk("p", stock(3)))
		f.redeem(attempt("p", "c"))
		f.addPerks(perk("p", stock(1)))
		f.refuses("more are held than there are", attempt("p", "d"), api.CodeSoldOut)
	}},
	{"a retry of an attempt is recognised by its id", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", stock(1)))
		first := f.redeem(attempt("p", "ann"))
		f.equal("again", f.redeem(attempt("p", "ann")), first)
		withKey := attempt("p", "ann")
		withKey.Key = &store.IdempotencyKey{Key: "k"}
		f.equal("redemptions", len(f.redemptions("ann")), 1)
	}},
	{"the id of another redemption is an error", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		first := f.redeem(attempt("p", "ann")).Redemption
		other := attempt("p", "bob")
		other.ID = first.ID
		if _, err := f.Redeem(f.ctx, other); err == nil {
			f.Error("bob got ann's redemption")
		}
	}},
	{"missing metadata is an empty object", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := attempt("p", "ann")
		a.Metadata = nil
		f.equal("metadata", string(f.redeem(a).Redemption.Metadata), `{}`)
	}},
}

// redemptions lists all that a user has, by id.
func (f *fixture) redemptions(user string) (list []api.Redemption) {
	f.Helper()
	list = []api.Redemption{}
	for _, record := range must(f.ListRedemptions(f.ctx, redeemedBy(user, api.MaxPerPage)))(f).Items {
		list = append(list, record.Specified())
	}
	return list
}

// redeemedBy selects the first page of what a user has.
func redeemedBy(user string, perPage int) store.RedemptionQuery {
	return store.RedemptionQuery{RedemptionFilter: api.RedemptionFilter{UserID: user},
		Window: store.Window{Page: 1, PerPage: perPage}}
}

var idempotencyTests = []test{
	{"the same request again replays the first redemption", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", stock(1)))
		first := f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		f.equal("first is no replay", first.Replayed, false)
		later := keyed(attempt("p", "ann"), "2", "key", 1)
		later.At = now.Add(store.IdempotencyKeyLife)
		f.equal("again", f.redeem(later), store.RedeemResult{Redemption: first.Redemption, Replayed: true})
		f.equal("redemptions", len(f.redemptions("ann")), 1)
	}},
	{"a retry of the same attempt with its key is no replay", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		a := keyed(attempt("p", "ann"), "1", "key", 1)
		f.equal("again", f.redeem(a), f.redeem(a))
	}},
	{"another request with the key is refused", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"), perk("q"))
		f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		f.refuses("other perk", keyed(attempt("q", "ann"), "2", "key", 2), api.CodeIdempotencyKeyReused)
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
	{"an expired key can be used again", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
		same := keyed(attempt("p", "ann"), "2", "key", 1)
		same.At = now.Add(store.IdempotencyKeyLife + time.Microsecond)
		f.refuses("the same request", same, api.CodeAlreadyRedeemed)
		other := keyed(attempt("p", "bob"), "3", "key", 2)
		other.At = same.At
		first := f.redeem(other)
		other.ID, other.At = "4", other.At.Add(store.IdempotencyKeyLife)
		f.equal("its lifetime starts again with its new use", f.redeem(other),
			store.RedeemResult{Redemption: first.Redemption, Replayed: true})
	}},
	{"a refusal does not use up its key", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", stock(0)))
		f.refuses("sold out", keyed(attempt("p", "ann"), "1", "key", 1), api.CodeSoldOut)
		f.addPerks(perk("p", stock(1)))
		f.equal("the same request later", f.redeem(keyed(attempt("p", "ann"), "2", "key", 1)).Replayed, false)
		f.refuses("sold out again", keyed(attempt("p", "bob"), "3", "other", 2), api.CodeSoldOut)
		f.addPerks(perk("q"))
		f.equal("another request", f.redeem(keyed(attempt("q", "bob"), "4", "other", 3)).Replayed, false)
	}},
	{"a replay has the first status, whatever was decided since", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual))
		for user, decision := range map[string]api.RedemptionStatus{"ann": api.StatusApproved,
			"bob": api.StatusRejected} {
			first := f.redeem(keyed(attempt("p", user), user, user, 1))
			must(f.DecideRedemption(f.ctx, first.Redemption.ID, store.Decision{Status: decision}, store.Operator,
				now))(f)
			again := f.redeem(keyed(attempt("p", user), user+" again", user, 1))
			f.equal(user, again, store.RedeemResult{Redemption: first.Redemption, Replayed: true})
		}
	}},
	{"purging deletes only the keys first used before the given time", func(f *fixture) {
		f.addUsers("ann")
		for i, id := range []string{"a", "b", "c"} {
			f.addPerks(perk(id))
			a := keyed(attempt(id, "ann"), id, id, 1)
			a.At = now.Add(time.Duration(i) * time.Second)
			f.redeem(a)
		}
		purge := func(want int64) {
			f.equal("purged", must(f.PurgeIdempotencyKeys(f.ctx, now.Add(2*time.Second)))(f), want)
		}
		purge(2)
		purge(0)
		f.refuses("a deleted key", keyed(attempt("b", "ann"), "b again", "b", 1), api.CodeAlreadyRedeemed)
		f.equal("a stored key", f.redeem(keyed(attempt("c", "ann"), "c again", "c", 1)).Replayed, true)
	}},
}
