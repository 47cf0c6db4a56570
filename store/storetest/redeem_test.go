package storetest_test

import (
	"encoding/json"
	"fmt"
	"math"
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
			ID: a.ID, PerkID: "p", UserID: "ann", RedeemedAt: now.Add(123_456 * time.Microsecond), Status: api.StatusApproved, Metadata: a.Metadata,
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
			At: now, Actor: "client/shop", Action: "user.create", Before: asJSON(nil), After: json.RawMessage(`{"id":"ann","redemption_id":"p-ann"}`),
		}})
		f.addUsers("bob")
		f.redeem(creating(attempt("p", "bob")))
		f.equal("entries about the known user", f.actions("user/bob"), []string{})
	}},
	{"a refused redemption creates no user", func(f *fixture) {
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
			list := must(f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: user, AnyUser: true, Window: store.Window{Page: 1, PerPage: 10}}))(f)
			f.equal("redeemed by "+user, list.Total, want)
			f.equal("redemptions of "+user, int64(len(list.Items)), want)
			if list.Items == nil {
				f.Errorf("the redemptions of %s are nil, want a list", user)
			}
		}
		_, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: "new", Window: store.Window{Page: 1, PerPage: 10}})
		f.fails("otherwise", err, api.CodeNotFound)
	}},
	{"of several reasons the first is returned", func(f *fixture) {
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
		must(f.DecideRedemption(f.ctx, first.ID, api.StatusRejected, store.Operator, now))(f)
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
func (f *fixture) redemptions(user string) []api.Redemption {
	f.Helper()
	return must(f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: user, Window: store.Window{Page: 1, PerPage: api.MaxPerPage}}))(f).Items
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
		f.equal("its lifetime starts again with its new use", f.redeem(other), store.RedeemResult{Redemption: first.Redemption, Replayed: true})
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
		for user, decision := range map[string]api.RedemptionStatus{"ann": api.StatusApproved, "bob": api.StatusRejected} {
			first := f.redeem(keyed(attempt("p", user), user, user, 1))
			must(f.DecideRedemption(f.ctx, first.Redemption.ID, decision, store.Operator, now))(f)
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

var redemptionTests = []test{
	{"a user's list has only that user's redemptions, in every status", func(f *fixture) {
		f.addUsers("ann", "bob", "eve")
		f.addPerks(perk("a", manual), perk("b", manual), perk("c"), perk("d", manual))
		for _, id := range []string{"a", "b", "c", "d"} {
			f.redeem(attempt(id, "ann"))
		}
		f.redeem(attempt("a", "bob"))
		f.decide("a-ann", api.StatusApproved)
		f.decide("b-ann", api.StatusRejected)
		statuses := map[string]api.RedemptionStatus{}
		for _, r := range f.redemptions("ann") {
			statuses[r.ID] = r.Status
		}
		f.equal("ann's", statuses, map[string]api.RedemptionStatus{
			"a-ann": api.StatusApproved, "b-ann": api.StatusRejected, "c-ann": api.StatusApproved, "d-ann": api.StatusPending,
		})
		if none := f.redemptions("eve"); none == nil || len(none) != 0 {
			f.Errorf("eve has %#v, want an empty list", none)
		}
	}},
	{"the redemptions of an unknown user are not found", func(f *fixture) {
		_, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: "nobody", Window: store.Window{Page: 1, PerPage: 1}})
		f.fails("list", err, api.CodeNotFound)
	}},
	{"every order of redemptions, page by page", func(f *fixture) {
		f.addUsers("ann")
		for i, id := range []string{"d", "B", "c", "a"} {
			f.addPerks(perk(id))
			if i%2 == 0 {
				f.addPerks(perk(id, manual))
			}
			a := attempt(id, "ann")
			a.ID, a.At = fmt.Sprint(i), now.Add(time.Duration(i/2)*time.Second)
			f.redeem(a)
		}
		for _, test := range []struct {
			sort []api.SortKey
			want []string
		}{
			{nil, []string{"0", "1", "2", "3"}},
			{asc("redeemed_at"), []string{"0", "1", "2", "3"}},
			{desc("redeemed_at"), []string{"3", "2", "1", "0"}},
			{asc("status"), []string{"1", "3", "0", "2"}},
			{desc("status"), []string{"2", "0", "3", "1"}},
			{asc("perk_id"), []string{"1", "3", "2", "0"}},
			{desc("perk_id"), []string{"0", "2", "3", "1"}},
			{asc("id"), []string{"0", "1", "2", "3"}},
			{desc("id"), []string{"3", "2", "1", "0"}},
			{desc("user_id"), []string{"3", "2", "1", "0"}},
			{[]api.SortKey{{Field: "user_id"}, {Field: "id", Desc: true}, {Field: "status"}}, []string{"3", "2", "1", "0"}},
			{[]api.SortKey{{Field: "status"}, {Field: "redeemed_at", Desc: true}}, []string{"3", "1", "2", "0"}},
		} {
			var ids []string
			for page := int64(1); page <= 3; page++ {
				query := store.RedemptionQuery{UserID: "ann", Sort: test.sort, Window: store.Window{Page: page, PerPage: 3}}
				list := must(f.ListRedemptions(f.ctx, query))(f)
				f.equal("total", list.Total, int64(4))
				for _, r := range list.Items {
					ids = append(ids, r.ID)
				}
			}
			f.equal(api.FormatSort(test.sort), ids, test.want)
		}
	}},
	{"a page of redemptions past the end is empty and has the right total", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "ann"))
		list := must(f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: "ann", Window: store.Window{Page: math.MaxInt64, PerPage: 100}}))(f)
		f.equal("list", list, store.List[api.Redemption]{Items: []api.Redemption{}, Total: 1})
	}},
	{"a decision returns the redemption as it is now", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		want := f.redeem(attempt("p", "ann")).Redemption
		want.Status = api.StatusApproved
		f.equal("decided", f.decide(want.ID, api.StatusApproved), want)
		f.equal("listed", f.redemptions("ann"), []api.Redemption{want})
	}},
	{"a decision is final, and so is an automatic approval", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"), perk("m", manual), perk("n", manual, stock(1)))
		f.redeem(attempt("a", "ann"))
		f.redeem(attempt("m", "ann"))
		f.redeem(attempt("n", "ann"))
		f.decide("m-ann", api.StatusApproved)
		f.decide("n-ann", api.StatusRejected)
		for _, id := range []string{"a-ann", "m-ann", "n-ann"} {
			for _, status := range []api.RedemptionStatus{api.StatusApproved, api.StatusRejected} {
				f.fails(id, errOf(f.DecideRedemption(f.ctx, id, status, store.Operator, now)), api.CodeConflict)
			}
		}
		f.addUsers("bob", "eve")
		f.redeem(attempt("n", "bob"))
		f.refuses("the unit was freed once", attempt("n", "eve"), api.CodeSoldOut)
	}},
	{"a decision about an unknown redemption is not found", func(f *fixture) {
		f.fails("decide", errOf(f.DecideRedemption(f.ctx, "missing", api.StatusApproved, store.Operator, now)), api.CodeNotFound)
	}},
	{"a decision cannot be pending", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.redeem(attempt("p", "ann"))
		if _, err := f.DecideRedemption(f.ctx, "p-ann", api.StatusPending, store.Operator, now); err == nil {
			f.Error("a pending redemption was decided to be pending")
		}
	}},
	{"an export of redemptions is sorted by id, has the client, and can be limited to a status", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("b"), perk("a", manual))
		b := store.RedemptionRecord{Redemption: f.redeem(attempt("b", "ann")).Redemption, ClientID: "shop"}
		a := store.RedemptionRecord{Redemption: f.redeem(attempt("a", "ann")).Redemption, ClientID: "shop"}
		f.equal("all", collect(f, f.ExportRedemptions(f.ctx, "")), []store.RedemptionRecord{a, b})
		f.equal("pending", collect(f, f.ExportRedemptions(f.ctx, api.StatusPending)), []store.RedemptionRecord{a})
		f.equal("rejected", collect(f, f.ExportRedemptions(f.ctx, api.StatusRejected)), []store.RedemptionRecord{})
	}},
}

func (f *fixture) decide(id string, status api.RedemptionStatus) api.Redemption {
	f.Helper()
	return must(f.DecideRedemption(f.ctx, id, status, store.Operator, now.Add(time.Hour)))(f)
}
