package storetest_test

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

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
			"a-ann": api.StatusApproved, "b-ann": api.StatusRejected, "c-ann": api.StatusApproved,
			"d-ann": api.StatusPending,
		})
		if none := f.redemptions("eve"); none == nil || len(none) != 0 {
			f.Errorf("eve has %#v, want an empty list", none)
		}
	}},
	{"the redemptions of an unknown user are not found", func(f *fixture) {
		f.fails("list", errOf(f.ListRedemptions(f.ctx, redeemedBy("nobody", 1))), api.CodeNotFound)
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
			{[]api.SortKey{{Field: "user_id"}, {Field: "id", Desc: true}, {Field: "status"}},
				[]string{"3", "2", "1", "0"}},
			{[]api.SortKey{{Field: "status"}, {Field: "redeemed_at", Desc: true}}, []string{"3", "1", "2", "0"}},
		} {
			var ids []string
			for page := int64(1); page <= 3; page++ {
				query := store.RedemptionQuery{RedemptionFilter: api.RedemptionFilter{UserID: "ann"}, Sort: test.sort,
					Window: store.Window{Page: page, PerPage: 3}}
				list := must(f.ListRedemptions(f.ctx, query))(f)
				f.equal("total", list.Total, int64(4))
				for _, r := range list.Items {
					ids = append(ids, r.ID)
				}
			}
			f.equal(api.FormatSort(test.sort), ids, test.want)
		}
	}},
	{"a user's redemptions in every order of their perks, page by page", func(f *fixture) {
		f.addUsers("ann")
		perks := manyEqualPerks(31)
		f.addPerks(perks...)
		for i := range perks {
			p := &perks[i]
			a := attempt(p.ID, "ann")
			a.At = now.Add(time.Duration(i%3) * time.Minute)
			if _, err := f.Redeem(f.ctx, a); err != nil {
				p.ID = "" // not valid
				continue
			}
			// What a redemption has of these itself.
			p.CreatedAt, p.UpdatedAt = a.At, a.At
			if i%4 == 0 {
				p.UpdatedAt = now.Add(time.Duration(i%5) * time.Minute)
				decision := store.Decision{Status: api.StatusVoided, Reason: "a mistake"}
				must(f.DecideRedemption(f.ctx, a.ID, decision, store.Operator, p.UpdatedAt))(f)
			}
		}
		redeemed := func(p store.PerkRecord) bool { return p.ID != "" }
		for _, keys := range everyOrder(store.PerkQuery{}) {
			want, got := sorted(perks, redeemed, keys, nil), []string{}
			for page := int64(1); page <= 4; page++ {
				query := redeemedBy("ann", 8)
				query.Sort, query.Window.Page = keys, page
				for _, r := range must(f.ListRedemptions(f.ctx, query))(f).Items {
					got = append(got, r.PerkID)
				}
			}
			if len(want) <= 16 || len(want) > 32 {
				f.Fatalf("%d redemptions make no 3 or 4 pages", len(want))
			}
			f.equal(api.FormatSort(keys), got, want)
		}
	}},
	{"a page of redemptions past the end is empty and has the right total", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.redeem(attempt("p", "ann"))
		query := redeemedBy("ann", 100)
		query.Window.Page = math.MaxInt64
		list := must(f.ListRedemptions(f.ctx, query))(f)
		f.equal("list", list, store.List[api.RedemptionRecord]{Items: []api.RedemptionRecord{}, Total: 1})
	}},
	{"a decision returns the redemption as it is now", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		decidedAt, reason := now.Add(time.Hour), "of age"
		want := api.RedemptionRecord{Redemption: f.redeem(attempt("p", "ann")).Redemption, ClientID: "shop",
			DecidedAt: &decidedAt, Reason: &reason}
		want.Status = api.StatusApproved
		decision := store.Decision{Status: api.StatusApproved, Reason: reason}
		f.equal("decided", must(f.DecideRedemption(f.ctx, want.ID, decision, store.Operator, decidedAt))(f), want)
		f.equal("read", must(f.Redemption(f.ctx, want.ID))(f), want)
		f.equal("listed", must(f.ListRedemptions(f.ctx, redeemedBy("ann", 10)))(f).Items, []api.RedemptionRecord{want})
		f.equal("exported", collect(f, f.ExportRedemptions(f.ctx, "")), []api.RedemptionRecord{want})
	}},
	{"the same decision again changes nothing", func(f *fixture) {
		f.addUsers("ann", "bob", "eve", "joe")
		f.addPerks(perk("p", manual, stock(1)))
		for _, test := range []struct {
			user      string
			decisions []api.RedemptionStatus
		}{
			{"ann", []api.RedemptionStatus{api.StatusRejected}}, {"bob", []api.RedemptionStatus{api.StatusApproved,
				api.StatusVoided}}, {"eve", []api.RedemptionStatus{api.StatusApproved}},
		} {
			id := f.redeem(attempt("p", test.user)).Redemption.ID
			for _, status := range test.decisions {
				first := f.decide(id, status)
				again := must(f.DecideRedemption(f.ctx, id, store.Decision{Status: status, Reason: "again"},
					store.Operator, now.Add(2*time.Hour)))(f)
				f.equal(fmt.Sprint(test.user, " ", status), again, first)
			}
		}
		f.refuses("each unit was freed once", attempt("p", "joe"), api.CodeSoldOut)
		entries := 0
		for entry, err := range f.Audit(f.ctx, store.AuditQuery{Action: "redemption.*"}) {
			if f.must(err); entry.Action != store.ActionRedeem {
				entries++
			}
		}
		f.equal("entries in the audit log", entries, 4)
	}},
	{"a voided redemption frees its unit and its user, and stays in the lists", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", stock(1)))
		first := f.redeem(attempt("p", "ann")).Redemption
		f.refuses("sold out", attempt("p", "bob"), api.CodeSoldOut)
		voided := f.decide(first.ID, api.StatusVoided)
		f.equal("status", voided.Status, api.StatusVoided)
		f.equal("in the specification", voided.Specified().Status, api.StatusRejected)
		second := attempt("p", "ann")
		second.ID = "second"
		f.redeem(second)
		f.refuses("sold out again", attempt("p", "bob"), api.CodeSoldOut)
		f.equal("voided ones", collect(f, f.ExportRedemptions(f.ctx, api.StatusVoided)), []api.RedemptionRecord{voided})
		f.equal("rejected ones", collect(f, f.ExportRedemptions(f.ctx, api.StatusRejected)), []api.RedemptionRecord{})
	}},
	{"only an approved redemption is voided", func(f *fixture) {
		f.addUsers("ann", "bob")
		f.addPerks(perk("p", manual))
		for _, user := range []string{"ann", "bob"} {
			f.redeem(attempt("p", user))
		}
		f.decide("p-bob", api.StatusRejected)
		for _, id := range []string{"p-ann", "p-bob"} {
			f.fails(id, errOf(f.DecideRedemption(f.ctx, id, store.Decision{Status: api.StatusVoided}, store.Operator,
				now)), api.CodeConflict)
		}
	}},
	{"a check sees the redemption as it is, and refuses a decision", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.redeem(attempt("p", "ann"))
		before, refusal := must(f.Redemption(f.ctx, "p-ann"))(f), errors.New("not now")
		var seen api.RedemptionRecord
		_, err := f.DecideRedemption(f.ctx, "p-ann",
			store.Decision{Status: api.StatusApproved, Check: func(r api.RedemptionRecord) error {
				seen = r
				return refusal
			}}, store.Operator, now)
		f.equal("seen", seen, before)
		f.equal("the error is that of the check", errors.Is(err, refusal), true)
		f.equal("unchanged", must(f.Redemption(f.ctx, "p-ann"))(f), before)
	}},
	{"a redemption and its last decision keep who made them, and a replay is the first reply", func(f *fixture) {
		f.addPerks(perk("p", manual))
		first := keyed(creating(attempt("p", "ann")), "r-1", "key", 1)
		first.Actor = "Jo / till 2"
		f.redeem(first)
		again := keyed(first, "r-2", "key", 1)
		again.Actor = "eve"
		replay := f.redeem(again)
		f.equal("replay", []any{replay.Replayed, replay.Redemption.ID}, []any{true, "r-1"})
		record := must(f.Redemption(f.ctx, "r-1"))(f)
		f.equal("redeemed by", record.Actor, &first.Actor)
		f.equal("undecided", []any{record.DecidedBy, record.DecidedActor}, []any{(*string)(nil), (*string)(nil)})
		for _, decision := range []struct {
			status           api.RedemptionStatus
			by               store.Actor
			clientID, person *string
		}{
			{api.StatusApproved, store.ClientActor("back", "bob/2"), ptr("back"), ptr("bob/2")},
			{api.StatusVoided, store.ClientActor("lead", ""), ptr("lead"), nil},
		} {
			decided := must(f.DecideRedemption(f.ctx, "r-1", store.Decision{Status: decision.status}, decision.by,
				now))(f)
			f.equal("decided by", []any{decided.Actor, decided.DecidedBy, decided.DecidedActor},
				[]any{&first.Actor, decision.clientID, decision.person})
			f.equal("read again", must(f.Redemption(f.ctx, "r-1"))(f), decided)
		}
		var actors []store.Actor
		for _, action := range []string{"user.create", "redemption.*"} {
			for _, entry := range collect(f, f.Audit(f.ctx, store.AuditQuery{Action: action})) {
				actors = append(actors, entry.Actor)
			}
		}
		f.equal("audit", actors, []store.Actor{"client/shop/Jo / till 2", "client/shop/Jo / till 2",
			"client/back/bob/2", "client/lead"})
	}},
	{"a decision is final, and so is an automatic approval", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"), perk("m", manual), perk("n", manual, stock(1)))
		f.redeem(attempt("a", "ann"))
		f.redeem(attempt("m", "ann"))
		f.redeem(attempt("n", "ann"))
		f.decide("m-ann", api.StatusApproved)
		f.decide("n-ann", api.StatusRejected)
		for id, status := range map[string]api.RedemptionStatus{"a-ann": api.StatusRejected,
			"m-ann": api.StatusRejected, "n-ann": api.StatusApproved} {
			f.fails(id, errOf(f.DecideRedemption(f.ctx, id, store.Decision{Status: status}, store.Operator, now)),
				api.CodeConflict)
		}
		f.addUsers("bob", "eve")
		f.redeem(attempt("n", "bob"))
		f.refuses("the unit was freed once", attempt("n", "eve"), api.CodeSoldOut)
	}},
	{"every filter selects what it says, in both orders, by pages and by cursors", func(f *fixture) {
		records := f.manyRedemptions()
		for name, query := range map[string]store.RedemptionQuery{
			"all": {}, "of a client": {ClientID: "desk"},
			"of a perk":          {RedemptionFilter: api.RedemptionFilter{PerkID: "manual"}},
			"of a user":          {RedemptionFilter: api.RedemptionFilter{UserID: "user3"}},
			"of an unknown user": {RedemptionFilter: api.RedemptionFilter{UserID: "nobody"}},
			"of an unknown perk": {RedemptionFilter: api.RedemptionFilter{PerkID: "none"}},
			"of an actor":        {RedemptionFilter: api.RedemptionFilter{Actor: "ann"}},
			"of an actor of a client": {ClientID: "shop", RedemptionFilter: api.RedemptionFilter{Actor: "ann/b",
				PerkID: "auto"}},
			"that cannot be stored": {RedemptionFilter: api.RedemptionFilter{PerkID: "a\x00"}},
			"pending":               {RedemptionFilter: api.RedemptionFilter{Status: api.StatusPending}},
			"approved":              {RedemptionFilter: api.RedemptionFilter{Status: api.StatusApproved}},
			"rejected":              {RedemptionFilter: api.RedemptionFilter{Status: api.StatusRejected}},
			"voided":                {RedemptionFilter: api.RedemptionFilter{Status: api.StatusVoided}},
			"since":                 {RedemptionFilter: api.RedemptionFilter{Since: now.Add(2 * time.Minute)}},
			"until":                 {RedemptionFilter: api.RedemptionFilter{Until: now.Add(2 * time.Minute)}},
			"everything": {ClientID: "desk", RedemptionFilter: api.RedemptionFilter{PerkID: "manual", UserID: "user1",
				Actor: "ann", Status: api.StatusApproved, Since: now, Until: now.Add(time.Minute)}},
		} {
			query.AnyUser = true
			for _, query.Sort = range [][]api.SortKey{asc("redeemed_at"), desc("redeemed_at")} {
				want := selected(records, query)
				what := name + " by " + api.FormatSort(query.Sort)
				if name != "of an unknown user" && name != "of an unknown perk" && name != "that cannot be stored" &&
					len(want) == 0 {
					f.Errorf("%s: nothing is tested", what)
				}
				f.equal(what+" by numbers", f.walkRedemptions(query, int64(len(want)), false), want)
				f.equal(what+" by cursors", f.walkRedemptions(query, int64(len(want)), true), want)
			}
		}
	}},
	{"redemptions are counted up to a bound, but all those of a user", func(f *fixture) {
		const perks = store.MaxCounted + 2
		f.addUsers("ann")
		var many []store.PerkRecord
		for _, id := range numbered("p", perks) {
			many = append(many, perk(id))
		}
		f.addPerks(many...)
		count := func(query store.RedemptionQuery) (int64, bool) {
			query.Window = store.Window{Page: 1, PerPage: 1}
			list := must(f.ListRedemptions(f.ctx, query))(f)
			return list.Total, list.IsMore
		}
		for i, p := range many {
			f.redeem(attempt(p.ID, "ann"))
			if i+1 < store.MaxCounted {
				continue
			}
			total, isMore := count(store.RedemptionQuery{ClientID: "shop"})
			f.equal("counted", total, int64(store.MaxCounted))
			f.equal("there are more", isMore, i+1 > store.MaxCounted)
			total, isMore = count(redeemedBy("ann", 1))
			f.equal("of the user", total, int64(i+1))
			f.equal("of the user there are more", isMore, false)
		}
	}},
	{"whether a user can redeem a perk follows from the rules of redeeming", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"), perk("spa", manual), perk("held"), perk("void"), perk("none", stock(0)),
			perk("early", from(now.Add(time.Hour))), perk("late", to(now)))
		f.redeem(attempt("held", "ann"))
		f.decide(f.redeem(attempt("void", "ann")).Redemption.ID, api.StatusVoided)
		codes := map[string]api.Code{
			"p": "", "spa": "", "void": "", "held": api.CodeAlreadyRedeemed, "none": api.CodeSoldOut,
			"early": api.CodePerkNotStarted, "late": api.CodePerkExpired,
		}
		pairs := []api.Pair{{PerkID: "missing", UserID: "ann"}, {PerkID: "p", UserID: "bob"}}
		for id := range codes {
			pairs = append(pairs, api.Pair{PerkID: id, UserID: "ann"})
		}
		states := must(f.Eligibility(f.ctx, append(pairs, pairs...)))(f)
		f.equal("pairs whose perk there is", len(states), len(pairs)-1)
		for id, code := range codes {
			state := states[api.Pair{PerkID: id, UserID: "ann"}]
			f.equal("the code of "+id, api.CodeOf(state.Refusal(attempt(id, "ann"))), code)
		}
		unknown, state := attempt("p", "bob"), states[pairs[1]]
		f.equal("an unknown user", store.IsUserNotFound(state.Refusal(unknown)), true)
		unknown.CreateUser = true
		f.must(state.Refusal(unknown))
		f.equal("nothing was redeemed", len(f.redemptions("ann")), 2)
		for _, id := range []string{"p", "spa"} {
			made := f.redeem(attempt(id, "ann")).Redemption
			f.equal("the status of "+id, states[api.Pair{PerkID: id, UserID: "ann"}].Status(), made.Status)
		}
	}},
	{"a decision about an unknown redemption is not found", func(f *fixture) {
		f.fails("decide", errOf(f.DecideRedemption(f.ctx, "missing", store.Decision{Status: api.StatusApproved},
			store.Operator, now)), api.CodeNotFound)
	}},
	{"a decision cannot be pending", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.redeem(attempt("p", "ann"))
		if _, err := f.DecideRedemption(f.ctx, "p-ann", store.Decision{Status: api.StatusPending}, store.Operator,
			now); err == nil {
			f.Error("a pending redemption was decided to be pending")
		}
	}},
	{"an export of redemptions is sorted by id, has the client, and can be limited to a status", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("b"), perk("a", manual))
		b := api.RedemptionRecord{Redemption: f.redeem(attempt("b", "ann")).Redemption, ClientID: "shop"}
		a := api.RedemptionRecord{Redemption: f.redeem(attempt("a", "ann")).Redemption, ClientID: "shop"}
		f.equal("all", collect(f, f.ExportRedemptions(f.ctx, "")), []api.RedemptionRecord{a, b})
		f.equal("pending", collect(f, f.ExportRedemptions(f.ctx, api.StatusPending)), []api.RedemptionRecord{a})
		f.equal("rejected", collect(f, f.ExportRedemptions(f.ctx, api.StatusRejected)), []api.RedemptionRecord{})
	}},
}

func (f *fixture) decide(id string, status api.RedemptionStatus) api.RedemptionRecord {
	f.Helper()
	return must(f.DecideRedemption(f.ctx, id, store.Decision{Status: status}, store.Operator, now.Add(time.Hour)))(f)
}

// manyRedemptions makes redemptions of two perks by two clients, of every status, several at one instant. It returns
// them by id.
func (f *fixture) manyRedemptions() (all []api.RedemptionRecord) {
	f.Helper()
	users := numbered("user", 12)
	f.addUsers(users...)
	f.addPerks(perk("auto"), perk("manual", manual))
	for i, user := range users {
		for j, perkID := range []string{"auto", "manual"} {
			a := attempt(perkID, user)
			a.ClientID, a.At = []string{"shop", "desk"}[i%2], now.Add(time.Duration(i/3)*time.Minute)
			a.Actor = []string{"", "ann", "Ann", "ann/b"}[(i/2+j)%4]
			f.redeem(a)
			switch {
			case j == 0 && i%3 == 0:
				f.decide(a.ID, api.StatusVoided)
			case j == 1 && i%4 == 1:
				f.decide(a.ID, api.StatusApproved)
			case j == 1 && i%4 == 2:
				f.decide(a.ID, api.StatusRejected)
			}
		}
	}
	return collect(f, f.ExportRedemptions(f.ctx, ""))
}

// selected returns the ids of the matching redemptions in the order of the query, a second opinion on the SQL.
func selected(records []api.RedemptionRecord, query store.RedemptionQuery) []string {
	ids := []string{}
	records = slices.DeleteFunc(slices.Clone(records), func(r api.RedemptionRecord) bool {
		return query.ClientID != "" && r.ClientID != query.ClientID || query.PerkID != "" && r.PerkID != query.PerkID ||
			query.UserID != "" && r.UserID != query.UserID || query.Status != "" && r.Status != query.Status ||
			query.Actor != "" && actorOf(r) != query.Actor ||
			r.RedeemedAt.Before(query.Since) || !query.Until.IsZero() && !r.RedeemedAt.Before(query.Until)
	})
	slices.SortFunc(records, func(a, b api.RedemptionRecord) int {
		order := cmp.Or(a.RedeemedAt.Compare(b.RedeemedAt), strings.Compare(a.ID, b.ID))
		if query.Sort[0].Desc {
			return -order
		}
		return order
	})
	for _, r := range records {
		ids = append(ids, r.ID)
	}
	return ids
}

// actorOf returns who made a redemption, or "".
func actorOf(r api.RedemptionRecord) string {
	if r.Actor == nil {
		return ""
	}
	return *r.Actor
}

// walkRedemptions returns the ids of a list, page by page.
func (f *fixture) walkRedemptions(query store.RedemptionQuery, total int64, byCursor bool) []string {
	f.Helper()
	ids := []string{}
	for query.Window = (store.Window{Page: 1, PerPage: 2}); ; query.Window.Page++ {
		list := must(f.ListRedemptions(f.ctx, query))(f)
		f.equal("total", list.Total, total)
		for _, r := range list.Items {
			ids = append(ids, r.ID)
		}
		if (list.Next == nil) != (query.Window.Offset()+2 >= total) {
			f.Fatalf("after %d of %d redemptions, the next page begins after %v", len(ids), total, list.Next)
		}
		if list.Next == nil {
			return ids
		}
		if byCursor {
			query.After = must(store.ParseCursor(list.Next.Text(query.Sort), query.Sort))(f)
		}
	}
}
