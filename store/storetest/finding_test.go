package storetest_test

import (
	"encoding/json"
	"fmt"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// about returns an attempt with metadata, which is found by the keys; without keys, as a former server makes it.
func about(perkID, userID, metadata string, keys ...string) store.RedeemAttempt {
	a := attempt(perkID, userID)
	a.Metadata = json.RawMessage(metadata)
	a.Searched = store.SearchedValues(keys, a.Metadata)
	return a
}

// foundBy returns the ids of the redemptions with values of metadata, newest first, page by page.
func (f *fixture) foundBy(filter api.RedemptionFilter, pairs ...string) (ids []string) {
	f.Helper()
	filter.Metadata = must(api.ReadMetadataFilter(pairs))(f)
	query := store.RedemptionQuery{RedemptionFilter: filter, AnyUser: true, Sort: desc("redeemed_at"),
		Window: store.Window{Page: 1, PerPage: 2}}
	return paged(f, &query.After, func() (store.List[api.RedemptionRecord], error) {
		return f.ListRedemptions(f.ctx, query)
	}, func(r api.RedemptionRecord) string { return r.ID })
}

// paged returns the ids of a list, page by page.
func paged[T any](
	f *fixture, after **store.Cursor, read func() (store.List[T], error), id func(T) string,
) (ids []string) {
	f.Helper()
	for isFirst := true; isFirst || *after != nil; isFirst = false {
		list := must(read())(f)
		for _, item := range list.Items {
			ids = append(ids, id(item))
		}
		if *after = list.Next; !list.IsMore && *after == nil {
			f.equal("total", list.Total, int64(len(ids)))
		}
	}
	return ids
}

// index indexes until nothing is left, and returns the steps that it took.
func (f *fixture) index(keys ...string) (steps int) {
	f.Helper()
	for percent := 0; percent < 100; steps++ {
		percent = must(f.IndexMetadata(f.ctx, keys))(f)
	}
	return steps
}

var findingTests = []test{
	{"redemptions are found by values of their metadata, with other filters, newest first", func(f *fixture) {
		f.addUsers("ann", "bob", "eve")
		f.addPerks(perk("a", manual), perk("b"))
		for i, a := range []store.RedeemAttempt{
			about("a", "ann", `{"ticket":"  T-4711 ","till":7}`, "ticket", "till"),
			about("b", "ann", `{"ticket":"t-4711","till":8}`, "ticket", "till"),
			about("a", "bob", `{"ticket":"T-4711"}`, "ticket", "till"),
			about("b", "bob", `{"ticket":4711,"till":true}`, "ticket", "till"),
			about("a", "eve", `{}`, "ticket", "till"),
		} {
			a.At = now.Add(time.Duration(i) * time.Second)
			if i == 2 {
				a.ClientID = "bar"
			}
			f.redeem(a)
		}
		f.decide("a-bob", api.StatusRejected)
		everyone := api.RedemptionFilter{}
		f.equal("text", f.foundBy(everyone, "ticket=t-4711"), []string{"a-bob", "b-ann", "a-ann"})
		f.equal("number", f.foundBy(everyone, "ticket=4711"), []string{"b-bob"})
		f.equal("boolean", f.foundBy(everyone, "till=TRUE"), []string{"b-bob"})
		f.equal("whole value", f.foundBy(everyone, "ticket=t-471"), []string{})
		f.equal("two keys", f.foundBy(everyone, "ticket=T-4711", "till=7"), []string{"a-ann"})
		f.equal("user", f.foundBy(api.RedemptionFilter{UserID: "ann"}, "ticket=t-4711"), []string{"b-ann", "a-ann"})
		f.equal("perk", f.foundBy(api.RedemptionFilter{PerkID: "a"}, "ticket=t-4711"), []string{"a-bob", "a-ann"})
		f.equal("status", f.foundBy(api.RedemptionFilter{Status: api.StatusRejected}, "ticket=t-4711"),
			[]string{"a-bob"})
		f.equal("time", f.foundBy(api.RedemptionFilter{Since: now.Add(time.Second), Until: now.Add(2 * time.Second)},
			"ticket=t-4711"), []string{"b-ann"})
		own := must(f.ListRedemptions(f.ctx, store.RedemptionQuery{ClientID: "bar", Sort: desc("redeemed_at"),
			RedemptionFilter: api.RedemptionFilter{Metadata: must(api.ReadMetadataFilter([]string{"ticket=t-4711"}))(f)},
			Window:           store.Window{Page: 1, PerPage: 9}}))(f)
		f.equal("of a client", own.Total, int64(1))
	}},
	{"many redemptions at once at one perk are found", func(f *fixture) {
		f.addUsers(numbered("u", 200)...)
		f.addPerks(perk("a"))
		errs := make(chan error)
		for i := range 200 {
			go func() {
				metadata := fmt.Sprintf(`{"ticket":%d}`, i%100)
				_, err := f.Redeem(f.ctx, about("a", fmt.Sprint("u", i), metadata, "ticket"))
				errs <- err
			}()
		}
		for range 200 {
			f.must(<-errs)
		}
		for i := range 100 {
			f.equal("found", len(f.foundBy(api.RedemptionFilter{}, fmt.Sprint("ticket=", i))), 2)
		}
	}},
	{"what was there before a key was searched is indexed in steps, once, by several servers", func(f *fixture) {
		f.addUsers(numbered("u", 1100)...)
		f.addPerks(perk("a"))
		errs := make(chan error)
		for i := range 1100 {
			go func() { errs <- errOf(f.Redeem(f.ctx, about("a", fmt.Sprint("u", i), `{"order":"x","ticket":1}`))) }()
		}
		for range 1100 {
			f.must(<-errs)
		}
		percent := must(f.IndexMetadata(f.ctx, []string{"ticket"}))(f)
		if percent >= 100 {
			f.Errorf("after the first step, %d %% are indexed", percent)
		}
		if steps := f.index("ticket", "order"); steps < 3 {
			f.Errorf("the rest took %d steps", steps)
		}
		for _, key := range []string{"ticket=1", "order=X"} {
			f.equal(key, len(f.foundBy(api.RedemptionFilter{}, key)), 1100)
		}
	}},
	{"indexing finds what a server without the key made meanwhile, and after a pause", func(f *fixture) {
		f.addUsers("ann", "bob", "eve")
		f.addPerks(perk("a"))
		f.index("ticket")
		f.redeem(about("a", "ann", `{"ticket":1}`)) // by a former server
		f.redeem(about("a", "bob", `{"ticket":1}`, "ticket"))
		f.equal("before", f.foundBy(api.RedemptionFilter{}, "ticket=1"), []string{"a-bob"})
		f.index("ticket")
		f.equal("after", f.foundBy(api.RedemptionFilter{}, "ticket=1"), []string{"a-bob", "a-ann"})
		f.index("order") // the other key is off
		f.redeem(about("a", "eve", `{"ticket":1,"order":2}`, "order"))
		f.equal("off", f.foundBy(api.RedemptionFilter{}, "ticket=1"), []string{"a-bob", "a-ann"})
		f.index("order", "ticket")
		f.equal("on again", f.foundBy(api.RedemptionFilter{}, "ticket=1"), []string{"a-eve", "a-bob", "a-ann"})
		f.equal("order", f.foundBy(api.RedemptionFilter{}, "order=2"), []string{"a-eve"})
	}},
	{"a reset forgets what was found and refused", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("a"))
		f.redeem(about("a", "ann", `{"ticket":1}`, "ticket"))
		f.index("ticket")
		f.must(f.RecordRefused(f.ctx, []store.Refused{refused("1", api.CodeSoldOut, now)}))
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.equal("found", f.foundBy(api.RedemptionFilter{}, "ticket=1"), []string{})
		f.equal("refused", f.refused(store.RefusedQuery{}), []string{})
		f.addUsers("ann", "bob")
		f.addPerks(perk("a"))
		f.redeem(about("a", "bob", `{"ticket":2}`))
		f.redeem(about("a", "ann", `{"ticket":2}`, "ticket"))
		f.index("ticket")
		f.equal("found again", f.foundBy(api.RedemptionFilter{}, "ticket=2"), []string{"a-bob", "a-ann"})
	}},
	{"refused redemptions are found by each filter, newest first", func(f *fixture) {
		var all []store.Refused
		for i := range 5 {
			all = append(all, refused(fmt.Sprint(i), api.CodeSoldOut, now.Add(time.Duration(i/2)*time.Second)))
		}
		all[1].Code, all[2].UserID, all[3].PerkID, all[4].ClientID = api.CodeNotFound, "bob", "b", "bar"
		all[0].Actor = ptr("Alice")
		f.must(f.RecordRefused(f.ctx, all))
		for what, test := range map[string]struct {
			query store.RefusedQuery
			want  []string
		}{
			"all":    {store.RefusedQuery{}, []string{"4", "3", "2", "1", "0"}},
			"oldest": {store.RefusedQuery{Sort: asc("at")}, []string{"0", "1", "2", "3", "4"}},
			"code":   {store.RefusedQuery{RefusedFilter: api.RefusedFilter{Reason: api.CodeNotFound}}, []string{"1"}},
			"user":   {store.RefusedQuery{RefusedFilter: api.RefusedFilter{UserID: "bob"}}, []string{"2"}},
			"perk":   {store.RefusedQuery{RefusedFilter: api.RefusedFilter{PerkID: "b"}}, []string{"3"}},
			"client": {store.RefusedQuery{ClientID: "bar"}, []string{"4"}},
			"actor":  {store.RefusedQuery{RefusedFilter: api.RefusedFilter{Actor: "Alice"}}, []string{"0"}},
			"time": {store.RefusedQuery{RefusedFilter: api.RefusedFilter{Since: now.Add(time.Second),
				Until: now.Add(2 * time.Second)}}, []string{"3", "2"}},
		} {
			f.equal(what, f.refused(test.query), test.want)
		}
		query := store.RefusedQuery{Sort: desc("at"), Window: store.Window{Page: 1, PerPage: 9},
			RefusedFilter: api.RefusedFilter{Actor: "Alice"}}
		f.equal("record", must(f.ListRefused(f.ctx, query))(f).Items, all[:1])
		f.equal("purged", must(f.PurgeRefused(f.ctx, now.Add(2*time.Second)))(f), int64(4))
		f.equal("left", f.refused(store.RefusedQuery{}), []string{"4"})
	}},
}

func refused(id string, code api.Code, at time.Time) store.Refused {
	return store.Refused{ID: id, RefusedRedemption: api.RefusedRedemption{PerkID: "a", UserID: "ann", Code: code,
		Message: "No.", ClientID: "shop", At: at}}
}

// refused returns the ids of refused redemptions, page by page.
func (f *fixture) refused(query store.RefusedQuery) (ids []string) {
	f.Helper()
	if query.Sort == nil {
		query.Sort = desc("at")
	}
	query.Window = store.Window{Page: 1, PerPage: 2}
	return paged(f, &query.After, func() (store.List[store.Refused], error) { return f.ListRefused(f.ctx, query) },
		func(r store.Refused) string { return r.ID })
}
