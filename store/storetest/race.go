package storetest

import (
	"fmt"
	"strconv"
	"sync"

	"example.com/perks/api"
	"example.com/perks/store"
)

var raceTests = []test{
	{"of 100 users who each ask twice at once, 50 units go to 50 users", func(f *fixture) {
		const users, units = 100, 50
		f.addPerks(perk("p", stock(units)))
		for i := range users {
			f.addUsers(fmt.Sprint("user", i))
		}
		counts := f.atOnce(2*users, func(i int) error {
			a := attempt("p", fmt.Sprint("user", i%users))
			a.ID = fmt.Sprint(i)
			_, err := f.Redeem(f.ctx, a)
			return err
		})
		f.equal("successes", counts[""], units)
		f.equal("refusals", counts[api.CodeSoldOut]+counts[api.CodeAlreadyRedeemed], 2*users-units)
		held := map[string]int{}
		for _, r := range collect(f, f.ExportRedemptions(f.ctx, "")) {
			held[r.UserID]++
		}
		f.equal("users who have one", len(held), units)
		f.addPerks(perk("p", stock(units+1)))
		_, total := f.list(store.PerkQuery{AvailableTo: f.userWithout(held, users)})
		f.equal("one more unit is one more place", total, int64(1))
	}},
	{"of 50 requests of one user one succeeds", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		counts := f.atOnce(50, func(i int) error {
			a := attempt("p", "ann")
			a.ID = fmt.Sprint(i)
			_, err := f.Redeem(f.ctx, a)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 1, api.CodeAlreadyRedeemed: 49})
	}},
	{"of 50 requests under one key one redeems and the others are answered the same", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", stock(1)))
		var answers sync.Map
		counts := f.atOnce(50, func(i int) error {
			result, err := f.Redeem(f.ctx, keyed(attempt("p", "ann"), fmt.Sprint(i), "key", 1))
			answers.Store(result.Redemption.ID, true)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 50})
		different := 0
		answers.Range(func(any, any) bool { different++; return true })
		f.equal("different answers", different, 1)
	}},
	{"updates of one property lose nothing", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner", func(p *store.PropertyRecord) { p.Bedrooms = 0 }))
		counts := f.atOnce(50, func(int) error {
			return f.update(1, func(p *store.PropertyRecord) error {
				p.Bedrooms++
				return nil
			})
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 50})
		f.equal("bedrooms", f.property(1).Bedrooms, 50)
		f.equal("entries", len(f.actions("property/1")), 50)
	}},
	{"of 10 replicas that start at once one makes the signing key", func(f *fixture) {
		counts := f.atOnce(10, func(i int) error {
			return f.EnsureSigningKey(f.ctx, signingKey(strconv.Itoa(i), now))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 10})
		f.equal("keys", len(f.signingKeys(now)), 1)
	}},
	{"of 20 decisions about one redemption one is taken", func(f *fixture) {
		f.addUsers("ann", "bob", "eve")
		f.addPerks(perk("p", manual, stock(1)))
		f.redeem(attempt("p", "ann"))
		counts := f.atOnce(20, func(int) error {
			_, err := f.DecideRedemption(f.ctx, "p-ann", api.StatusRejected, store.Operator, now)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 1, api.CodeConflict: 19})
		f.redeem(attempt("p", "bob"))
		_, err := f.Redeem(f.ctx, attempt("p", "eve"))
		f.fails("the unit came back once", err, api.CodeSoldOut)
	}},
	{"imports of the same perks at once all succeed", func(f *fixture) {
		counts := f.atOnce(6, func(i int) error {
			_, err := f.ImportPerks(f.ctx, rows(perk("a", category("New")), perk("b", category(fmt.Sprint("Of ", i)))), f.noNewID, now)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 6})
		f.finds("perks", store.PerkQuery{}, "a", "b")
		f.equal("categories", len(collect(f, f.ExportCategories(f.ctx))), 7)
	}},
}

// atOnce calls do n times at the same time and counts the outcomes by code, "" for success.
func (f *fixture) atOnce(n int, do func(i int) error) map[api.Code]int {
	var mu sync.Mutex
	var wait sync.WaitGroup
	counts := map[api.Code]int{}
	start := make(chan struct{})
	for i := range n {
		wait.Go(func() {
			<-start
			code := api.CodeOf(do(i))
			mu.Lock()
			defer mu.Unlock()
			counts[code]++
		})
	}
	close(start)
	wait.Wait()
	return counts
}

func (f *fixture) userWithout(held map[string]int, users int) string {
	for i := range users {
		if id := fmt.Sprint("user", i); held[id] == 0 {
			return id
		}
	}
	f.Fatal("every user has one")
	return ""
}
