package storetest

import (
	"fmt"
	"math"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionTests = []test{
	{"a user's redemptions are that user's alone, in every status", func(f *fixture) {
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
			{desc("redeemed_at"), []string{"2", "3", "0", "1"}},
			{asc("status"), []string{"1", "3", "0", "2"}},
			{desc("status"), []string{"0", "2", "1", "3"}},
			{asc("perk_id"), []string{"1", "3", "2", "0"}},
			{desc("perk_id"), []string{"0", "2", "3", "1"}},
			{asc("id"), []string{"0", "1", "2", "3"}},
			{desc("id"), []string{"3", "2", "1", "0"}},
			{desc("user_id"), []string{"0", "1", "2", "3"}},
			{[]api.SortKey{{Field: "user_id"}, {Field: "id", Desc: true}, {Field: "status"}}, []string{"3", "2", "1", "0"}},
			{[]api.SortKey{{Field: "status"}, {Field: "redeemed_at", Desc: true}}, []string{"3", "1", "2", "0"}},
		} {
			var ids []string
			for page := int64(1); page <= 3; page++ {
				query := store.RedemptionQuery{UserID: "ann", Sort: test.sort, Window: store.Window{Page: page, PerPage: 3}}
				list, err := f.ListRedemptions(f.ctx, query)
				f.must(err)
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
		list, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: "ann", Window: store.Window{Page: math.MaxInt64, PerPage: 100}})
		f.must(err)
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
	{"what is decided, or was approved at once, is final", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"), perk("m", manual), perk("n", manual, stock(1)))
		f.redeem(attempt("a", "ann"))
		f.redeem(attempt("m", "ann"))
		f.redeem(attempt("n", "ann"))
		f.decide("m-ann", api.StatusApproved)
		f.decide("n-ann", api.StatusRejected)
		for _, id := range []string{"a-ann", "m-ann", "n-ann"} {
			for _, status := range []api.RedemptionStatus{api.StatusApproved, api.StatusRejected} {
				_, err := f.DecideRedemption(f.ctx, id, status, store.Operator, now)
				f.fails(id, err, api.CodeConflict)
			}
		}
		f.addUsers("bob", "eve")
		f.redeem(attempt("n", "bob"))
		_, err := f.Redeem(f.ctx, attempt("n", "eve"))
		f.fails("the unit came back once", err, api.CodeSoldOut)
	}},
	{"a decision about what is not there is not found", func(f *fixture) {
		_, err := f.DecideRedemption(f.ctx, "missing", api.StatusApproved, store.Operator, now)
		f.fails("decide", err, api.CodeNotFound)
	}},
	{"nothing can be decided to be pending", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.redeem(attempt("p", "ann"))
		if _, err := f.DecideRedemption(f.ctx, "p-ann", api.StatusPending, store.Operator, now); err == nil {
			f.Error("a pending redemption was decided to be pending")
		}
	}},
	{"an export of redemptions is by id, with the client, and keeps to a status", func(f *fixture) {
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
	redemption, err := f.DecideRedemption(f.ctx, id, status, store.Operator, now.Add(time.Hour))
	f.must(err)
	return redemption
}
