package storetest_test

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var raceTests = []test{
	{"100 users redeem 50 units twice each at once: 50 users get one", func(f *fixture) {
		const users, units = 100, 50
		f.addPerks(perk("p", stock(units)))
		f.addUsers(numbered("user", users)...)
		counts := f.atOnce(2*users, func(i int) error {
			a := attempt("p", fmt.Sprint("user", i%users))
			a.ID = fmt.Sprint(i)
			return errOf(f.Redeem(f.ctx, a))
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
		f.equal("perks available with one more unit", total, int64(1))
	}},
	{"new users who redeem several perks at once are created once each", func(f *fixture) {
		const users, perks = 8, 6
		for i := range perks {
			f.addPerks(perk(strconv.Itoa(i)))
		}
		counts := f.atOnce(users*perks, func(i int) error {
			return errOf(f.Redeem(f.ctx, creating(keyed(attempt(strconv.Itoa(i%perks), fmt.Sprint("user", i/perks)),
				fmt.Sprint(i), fmt.Sprint(i), 1))))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": users * perks})
		f.equal("users", len(collect(f, f.ExportUsers(f.ctx))), users)
		for i := range users {
			f.equal("entries", f.actions(fmt.Sprint("user/user", i)), []string{store.ActionCreateUser})
			f.equal("redemptions", len(f.redemptions(fmt.Sprint("user", i))), perks)
		}
	}},
	{"30 new users redeem 5 units at once: 5 are created", func(f *fixture) {
		f.addPerks(perk("p", stock(5)))
		counts := f.atOnce(30, func(i int) error {
			return errOf(f.Redeem(f.ctx, creating(attempt("p", strconv.Itoa(i)))))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 5, api.CodeSoldOut: 25})
		var known, held []string
		for _, user := range collect(f, f.ExportUsers(f.ctx)) {
			known = append(known, user.ID)
		}
		for _, r := range collect(f, f.ExportRedemptions(f.ctx, "")) {
			held = append(held, r.UserID)
		}
		slices.Sort(held)
		f.equal("users", known, held)
	}},
	{"50 requests of one user: one succeeds", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		counts := f.atOnce(50, func(i int) error {
			a := attempt("p", "ann")
			a.ID = fmt.Sprint(i)
			return errOf(f.Redeem(f.ctx, a))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 1, api.CodeAlreadyRedeemed: 49})
	}},
	{"50 requests with one idempotency key: one redeems, the others replay it", func(f *fixture) {
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
		f.equal("entries", len(f.actions("property/1")), 1+50)
	}},
	{"imports and updates of different fields of a property lose nothing", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner", func(p *store.PropertyRecord) { p.Bedrooms = 0 }))
		counts := f.atOnce(40, func(i int) error {
			if i%4 == 0 {
				return errOf(f.ImportProperties(f.ctx,
					rows(f.propertyRow(2, fmt.Sprintf(`{"propertyId":1,"city":"City %d"}`, i))), store.Operator, now))
			}
			return f.update(1, func(p *store.PropertyRecord) error {
				p.Bedrooms++
				return nil
			})
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 40})
		f.equal("bedrooms", f.property(1).Bedrooms, 30)
	}},
	{"imports of different fields of a perk and redemptions lose nothing", func(f *fixture) {
		const users = 20
		f.addPerks(fullPerk("p"))
		f.addPerks(f.perkRow(1, `{"id":"p","stock":20}`))
		f.addUsers(numbered("", users)...)
		counts := f.atOnce(users+9, func(i int) (err error) {
			switch {
			case i < users:
				_, err = f.Redeem(f.ctx, attempt("p", strconv.Itoa(i)))
			case i%3 == 0:
				_, err = f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","terms":"New"}`)), f.noNewID, store.Operator,
					now)
			case i%3 == 1:
				_, err = f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","stock":20,"approval":"auto"}`)), f.noNewID,
					store.Operator, now)
			default:
				_, err = f.ImportPerks(f.ctx, rows(f.perkRow(2, `{"id":"p","title":"New"}`)), f.noNewID, store.Operator,
					now)
			}
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": users + 9})
		want := fullPerk("p")
		want.Title, want.Terms, want.Stock, want.Approval, want.UpdatedAt = "New", ptr("New"), ptr[int64](users),
			store.ApprovalAuto, now
		f.equal("perks", collect(f, f.ExportPerks(f.ctx)), []store.PerkRecord{want})
		f.addUsers("late")
		f.refuses("all units are held", attempt("p", "late"), api.CodeSoldOut)
	}},
	{"10 replicas start at once: one creates the signing key", func(f *fixture) {
		counts := f.atOnce(10, func(i int) error {
			return f.EnsureSigningKey(f.ctx, signingKey(strconv.Itoa(i), now))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 10})
		f.equal("keys", len(f.signingKeys(now)), 1)
	}},
	{"10 rotations at once: one key is left that does not expire", func(f *fixture) {
		counts := f.atOnce(10, func(i int) error {
			return f.RotateSigningKey(f.ctx, signingKey(strconv.Itoa(i), now), now.Add(time.Hour), store.Operator)
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 10})
		f.equal("keys", len(f.signingKeys(now)), 10)
		f.equal("keys afterwards", len(f.signingKeys(now.Add(time.Hour))), 1)
	}},
	{"10 restores of one property: one succeeds", func(f *fixture) {
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		f.must(f.delete(1, nil))
		counts := f.atOnce(10, func(int) error { return errOf(f.restore(1)) })
		f.equal("outcomes", counts, map[api.Code]int{"": 1, api.CodeNotDeleted: 9})
		f.equal("entries", f.actions("property/1"),
			[]string{store.ActionImportProperty, store.ActionDeleteProperty, store.ActionRestoreProperty})
	}},
	{"10 requests disable a client at once: one does", func(f *fixture) {
		f.addClients("a")
		counts := f.atOnce(10, func(int) error { return f.SetClientDisabled(f.ctx, "a", true, store.Operator, now) })
		f.equal("outcomes", counts, map[api.Code]int{"": 10})
		f.equal("entries", f.actions("client/a"), []string{store.ActionCreateClient, store.ActionDisableClient})
	}},
	{"10 requests create a client at once: one does", func(f *fixture) {
		counts := f.atOnce(10, func(int) error { return f.CreateClient(f.ctx, client("a"), store.Operator) })
		f.equal("outcomes", counts, map[api.Code]int{"": 1, api.CodeConflict: 9})
		f.equal("entries", f.actions("client/a"), []string{store.ActionCreateClient})
	}},
	{"concurrent purges count each key once", func(f *fixture) {
		const users = 60
		f.addPerks(perk("p"))
		f.addUsers(numbered("", users)...)
		f.equal("redeemed", f.atOnce(users, func(i int) error {
			return errOf(f.Redeem(f.ctx, keyed(attempt("p", strconv.Itoa(i)), strconv.Itoa(i), strconv.Itoa(i), 1)))
		}), map[api.Code]int{"": users})
		var purged atomic.Int64
		counts := f.atOnce(5, func(int) error {
			n, err := f.PurgeIdempotencyKeys(f.ctx, now.Add(time.Second))
			purged.Add(n)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 5})
		f.equal("purged", purged.Load(), int64(users))
	}},
	{"redemptions and decisions do not deadlock", func(f *fixture) {
		const users = 40
		f.addPerks(perk("p", manual, stock(users)))
		f.addUsers(numbered("", users)...)
		counts := f.atOnce(users, func(i int) error {
			made, err := f.Redeem(f.ctx, attempt("p", strconv.Itoa(i)))
			if err != nil {
				return err
			}
			decision := []api.RedemptionStatus{api.StatusApproved, api.StatusRejected}[i%2]
			_, err = f.DecideRedemption(f.ctx, made.Redemption.ID, store.Decision{Status: decision}, store.Operator,
				now)
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": users})
		f.addPerks(perk("p", manual, stock(users/2)))
		f.refuses("half of the units were freed, and none is left now", keyed(attempt("p", "1"), "again", "key", 1),
			api.CodeSoldOut)
	}},
	{"20 equal decisions about one redemption are one", func(f *fixture) {
		f.addUsers("ann", "bob", "eve")
		f.addPerks(perk("p", manual, stock(1)))
		f.redeem(attempt("p", "ann"))
		counts := f.atOnce(20, func(i int) error {
			decision := store.Decision{Status: api.StatusRejected, Reason: strconv.Itoa(i)}
			return errOf(f.DecideRedemption(f.ctx, "p-ann", decision, store.Operator, now))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 20})
		f.equal("entries", f.actions("redemption/p-ann"), []string{store.ActionRedeem, store.ActionReject})
		f.redeem(attempt("p", "bob"))
		f.refuses("the unit was freed once", attempt("p", "eve"), api.CodeSoldOut)
	}},
	{"of 20 opposite decisions about one redemption, those of one kind succeed", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p", manual))
		f.redeem(attempt("p", "ann"))
		counts := f.atOnce(20, func(i int) error {
			decision := store.Decision{Status: []api.RedemptionStatus{api.StatusApproved, api.StatusRejected}[i%2]}
			return errOf(f.DecideRedemption(f.ctx, "p-ann", decision, store.Operator, now))
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 10, api.CodeConflict: 10})
		f.equal("entries", len(f.actions("redemption/p-ann")), 2)
	}},
	{"concurrent imports of the same perks all succeed", func(f *fixture) {
		counts := f.atOnce(6, func(i int) error {
			return errOf(f.ImportPerks(f.ctx, rows(perk("a", category("New")),
				perk("b", category(fmt.Sprint("Of ", i)))), f.noNewID, store.Operator, now))
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

func TestAProgramSeesWhatAnotherRedeemedAndImported(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		one, other := newFixture(t, d.opened(t)), newFixture(t, d.opened(t))
		one.addPerks(perk("p", stock(2)))
		one.addUsers("ann", "bob", "eve")
		one.redeem(attempt("p", "ann"))
		other.redeem(attempt("p", "bob"))
		one.refuses("after the last unit", attempt("p", "eve"), api.CodeSoldOut)
		for n := int64(2); n <= 4; n++ {
			one.addPerks(perk(fmt.Sprint(n)))
			_, total := other.list(store.PerkQuery{})
			other.equal("perks", total, n)
		}
	})
}

func TestTwoProgramsNeverRedeemAUnitTwice(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, d database) {
		const users, units = 60, 40
		programs := []*fixture{newFixture(t, d.opened(t)), newFixture(t, d.opened(t))}
		programs[0].addPerks(perk("p", stock(units)))
		programs[1].addUsers(numbered("", users)...)
		counts := programs[0].atOnce(2*users, func(i int) error {
			return errOf(programs[i%2].Redeem(t.Context(), keyed(attempt("p", fmt.Sprint(i/2)), fmt.Sprint(i),
				fmt.Sprint(i), 1)))
		})
		programs[0].equal("outcomes", []int{counts[""], counts[api.CodeSoldOut] + counts[api.CodeAlreadyRedeemed]},
			[]int{units, 2*users - units})
	})
}
