package storetest_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var resetTests = []test{
	{"a reset empties a sandbox, and its entry says what was in it", func(f *fixture) {
		f.fillSandbox()
		emptied := must(f.Reset(f.ctx, store.Operator, now.Add(time.Hour)))(f)
		want := store.Emptied{Perks: 2, Categories: 1, Users: 2, Redemptions: 3, IdempotencyKeys: 1}
		f.equal("emptied", emptied, want)
		f.isEmpty()
		f.sameEntries(store.SandboxSubject, []store.AuditEntry{
			{At: now.Add(time.Hour), Actor: store.Operator, Action: store.ActionResetSandbox, Before: asJSON(want),
				After: asJSON(nil)},
		})
		f.equal("the whole log", f.actions(""),
			[]string{store.ActionImportUsers, store.ActionImportPerks, store.ActionReject, store.ActionResetSandbox})
	}},
	{"an empty sandbox can be reset", func(f *fixture) {
		emptied := must(f.Reset(f.ctx, store.Operator, now))(f)
		f.equal("emptied", emptied, store.Emptied{})
		f.equal("the log", f.actions(store.SandboxSubject), []string{store.ActionResetSandbox})
	}},
	{"totals are counted again after a reset", func(f *fixture) {
		f.addPerks(perk("p", title("Tea")), perk("q", title("Tea")))
		query := by(api.PerkFilter{Query: "tea"})
		f.finds("before", query, "p", "q")
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.finds("after", query)
	}},
	{"perks imported after a reset are not found by the old words", func(f *fixture) {
		f.addPerks(perk("p", title("Tea")), perk("q", title("Tea")))
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.addPerks(perk("p", title("Coffee")), perk("r", title("Coffee")), perk("s", title("Coffee")))
		f.finds("the old word", by(api.PerkFilter{Query: "tea"}))
		f.finds("the new word", by(api.PerkFilter{Query: "coffee"}), "p", "r", "s")
	}},
	{"a sandbox filled again has no old redemptions or keys", func(f *fixture) {
		f.fillSandbox()
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.addUsers("ann", "bob")
		f.addPerks(perk("one", stock(1)), perk("many"))
		again := keyed(attempt("one", "bob"), "again", "key", 9) // the key was another request's
		made := f.redeem(again)
		f.equal("replayed", made.Replayed, false)
		f.refuses("one unit, as at first", attempt("one", "ann"), api.CodeSoldOut)
		list := must(f.ListRedemptions(f.ctx, redeemedBy("ann", 10)))(f)
		f.equal("redemptions", list.Total, int64(0))
	}},
	{"a follower misses nothing of a sandbox that is filled again at once", func(f *fixture) {
		var position store.AuditPosition
		news := func() []string { return summaries(collect(f, f.AuditSince(f.ctx, store.AuditQuery{}, &position))) }
		f.fillSandbox()
		news()
		batches := f.followBatches()
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.fillSandbox()
		before := news()
		f.equal("entries of the reset and of filling it again", len(before), 1+2+3+1)
		f.equal("and then", news(), []string{})
		batches.readAll()
		batches.check(before)
	}},
	{"a batch of redemptions that a reset has deleted is empty, and not filled with others", func(f *fixture) {
		f.fillSandbox()
		batches := f.followBatches()
		begun := batches.place
		f.addUsers("late")
		f.redeem(attempt("many", "late"))
		batches.readAll()
		f.equal("before", len(batches.batches[0].Entries), 2)
		must(f.Reset(f.ctx, store.Operator, now))(f)
		f.fillSandbox()
		again := must(f.NextAudit(f.ctx, begun, batches.place.Since, few))(f)
		f.equal("read again", summaries(again.Entries), []string{"users.import users"})
	}},
	{"a database with a client, a signing key or a property is not reset", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		refuses := func(has string) {
			f.Helper()
			before := snapshot(f)
			_, err := f.Reset(f.ctx, store.Operator, now)
			f.fails(has, err, api.CodeConflict)
			f.equal("the error", fmt.Sprint(err),
				"This is not a sandbox: it has "+has+", which only a live database has.")
			f.equal("with "+has, snapshot(f), before)
		}
		f.must(f.EnsureSigningKey(f.ctx, signingKey("k", now)))
		refuses("1 signing key")
		f.addClients("owner", "other")
		refuses("2 clients and 1 signing key")
		f.addProperties(property(1, "owner"))
		refuses("2 clients, 1 signing key and 1 property")
	}},
	{"a read that started before a reset still sees thousands of perks", func(f *fixture) {
		const n = 3000 // more than the connection to the database buffers
		var perks []store.PerkRecord
		for i := range n {
			perks = append(perks, perk(fmt.Sprint(i)))
		}
		f.addPerks(perks...)
		seen := 0
		for _, err := range f.ExportPerks(f.ctx) {
			f.must(err)
			if seen == 0 {
				must(f.Reset(f.ctx, store.Operator, now))(f)
			}
			seen++
		}
		f.equal("perks seen", seen, n)
		f.isEmpty()
	}},
	{"each redemption happens before a reset or after it", func(f *fixture) {
		const users, resets = 30, 5
		f.addPerks(perk("p"))
		f.addUsers(numbered("", users)...)
		var made, found, deleted atomic.Int64
		var redeeming, resetting sync.WaitGroup
		for i := range users {
			redeeming.Go(func() {
				_, err := f.Redeem(f.ctx, keyed(attempt("p", fmt.Sprint(i)), fmt.Sprint("r", i), fmt.Sprint("k", i), 1))
				switch api.CodeOf(err) {
				case "":
					made.Add(1)
				case api.CodeNotFound:
				default:
					f.Error(err)
				}
			})
		}
		for range resets {
			resetting.Go(func() {
				emptied, err := f.Reset(f.ctx, store.Operator, now)
				if err != nil {
					f.Error(err)
				}
				if emptied.Redemptions != emptied.IdempotencyKeys {
					f.Errorf("%d redemptions and %d keys were deleted", emptied.Redemptions, emptied.IdempotencyKeys)
				}
				found.Add(emptied.Perks)
				deleted.Add(emptied.Redemptions)
			})
		}
		redeeming.Wait()
		resetting.Wait()
		f.isEmpty()
		f.equal("perks found", found.Load(), int64(1))
		f.equal("redemptions deleted", deleted.Load(), made.Load())
	}},
	{"a reset and an import beside one another are atomic", func(f *fixture) {
		var perks []store.PerkRecord
		for i := range 50 {
			perks = append(perks, perk(fmt.Sprint(i), category(fmt.Sprint("Of ", i%3)), stock(1)))
		}
		counts := f.atOnce(8, func(i int) error {
			if i%2 == 0 {
				return errOf(f.ImportPerks(f.ctx, rows(perks...), f.noNewID, store.Operator, now))
			}
			emptied, err := f.Reset(f.ctx, store.Operator, now)
			if emptied.Perks%50 != 0 || (emptied.Perks > 0) != (emptied.Categories == 3) {
				return fmt.Errorf("a reset found part of an import: %s", emptied)
			}
			return err
		})
		f.equal("outcomes", counts, map[api.Code]int{"": 8})
		if _, total := f.list(store.PerkQuery{}); total != 0 && total != 50 {
			f.Errorf("%d perks are left", total)
		}
	}},
}

// fillSandbox adds two perks, a category, two users, and three redemptions, of which one has a key and one is rejected.
func (f *fixture) fillSandbox() {
	f.Helper()
	f.addUsers("ann", "bob")
	f.addPerks(perk("one", stock(1), category("Food"), manual), perk("many", category("Food")))
	f.redeem(attempt("many", "ann"))
	f.redeem(attempt("one", "bob"))
	f.decide("one-bob", api.StatusRejected)
	f.redeem(keyed(attempt("one", "ann"), "keyed", "key", 1))
}

func (f *fixture) isEmpty() {
	f.Helper()
	f.finds("perks", store.PerkQuery{})
	f.equal("all perks", len(collect(f, f.ExportPerks(f.ctx))), 0)
	f.equal("categories", len(collect(f, f.ExportCategories(f.ctx))), 0)
	f.equal("users", len(collect(f, f.ExportUsers(f.ctx))), 0)
	f.equal("redemptions", len(collect(f, f.ExportRedemptions(f.ctx, ""))), 0)
}

// testReopened checks that acknowledged writes are there after the store was closed and opened again.
func testReopened(t *testing.T, d database) {
	f := newFixture(t, d.opened(t))
	f.addUsers("ann", "bob")
	f.addClients("owner")
	f.addPerks(fullPerk("full"), perk("p", stock(100)))
	f.addProperties(property(1, "owner"), property(2, "owner"))
	f.must(f.update(1, retitle("New")))
	f.must(f.delete(2, nil))
	f.must(f.EnsureSigningKey(f.ctx, signingKey("k", now)))
	first := f.redeem(keyed(attempt("p", "ann"), "1", "key", 1))
	f.redeem(attempt("full", "bob"))
	f.decide("full-bob", api.StatusApproved)
	before := snapshot(f)
	f.must(f.Close())

	f = newFixture(t, d.opened(t))
	f.equal("everything", snapshot(f), before)
	f.equal("replayed", f.redeem(keyed(attempt("p", "ann"), "2", "key", 1)),
		store.RedeemResult{Redemption: first.Redemption, Replayed: true})
	restored := must(f.restore(2))(f)
	f.equal("restored", restored, property(2, "owner"))
	f.addPerks(perk("new"))
	f.finds("by text", by(api.PerkFilter{Query: "perk"}), "new", "p")
}

// testClosedAmidWrites checks that Close waits for running writes, and that every write acknowledged before it is there
// afterwards.
func testClosedAmidWrites(t *testing.T, d database) {
	const users = 200
	f := newFixture(t, d.opened(t))
	f.addPerks(perk("p"))
	f.addUsers(numbered("", users)...)
	some := make(chan struct{}, users)
	closed := make(chan error)
	go func() {
		<-some
		closed <- f.Close()
	}()
	counts := f.atOnce(users, func(i int) error {
		_, err := f.Redeem(f.ctx, attempt("p", fmt.Sprint(i)))
		some <- struct{}{}
		return err
	})
	f.must(<-closed)
	f.equal("outcomes", counts[""]+counts[api.CodeUnavailable], users)

	f = newFixture(t, d.opened(t))
	f.equal("redemptions", len(collect(f, f.ExportRedemptions(f.ctx, ""))), counts[""])
}

// snapshot reads all records.
func snapshot(f *fixture) map[string]any {
	f.Helper()
	clients := must(f.Clients(f.ctx))(f)
	return map[string]any{
		"perks":       collect(f, f.ExportPerks(f.ctx)),
		"categories":  collect(f, f.ExportCategories(f.ctx)),
		"users":       collect(f, f.ExportUsers(f.ctx)),
		"properties":  collect(f, f.ExportProperties(f.ctx)),
		"redemptions": collect(f, f.ExportRedemptions(f.ctx, "")),
		"audit":       collect(f, f.Audit(f.ctx, store.AuditQuery{})),
		"keys":        f.signingKeys(now),
		"clients":     clients,
	}
}

var healthTests = []test{
	{"a store that accepts writes is ready, repeatedly", func(f *fixture) {
		f.must(f.Ready(f.ctx))
		f.must(f.Ready(f.ctx))
	}},
	{"the statistics of the pools and the queue match the work done", func(f *fixture) {
		before := f.Stats().Queue.Batches
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		dequeued := 0
		for _, user := range []string{"ann", "bob", "ann"} { // the last is refused
			_, _ = f.Redeem(store.OnDequeued(f.ctx, func() { dequeued++ }), attempt("p", user))
		}
		f.equal("writes that left the queue", dequeued, 3)
		f.equal("perks", len(collect(f, f.ExportPerks(f.ctx))), 1) // needs a connection that reads
		after := f.Stats()
		f.equal("writes that wait", after.Queue.Waiting, 0)
		if after.Queue.Capacity < 1 {
			f.Errorf("the capacity of the queue is %d", after.Queue.Capacity)
		}
		if writes := after.Queue.Batches.Writes - before.Writes; writes < 3 {
			f.Errorf("%d writes were counted, want at least 3", writes)
		}
		if one := after.Queue.Batches.UpTo[0] - before.UpTo[0]; one < 3 {
			f.Errorf("%d transactions of one write were counted, want at least 3", one)
		}
		f.equal("transactions that failed", after.Queue.Batches.Failed, uint64(0))
		f.equal("the pool of reads", after.Pools[0].Name, "reads")
		for _, pool := range after.Pools {
			if pool.Max < 1 || pool.Idle < 1 || pool.InUse != 0 {
				f.Errorf("while idle, the pool of %s has %d connections in use, %d idle, at most %d", pool.Name,
					pool.InUse, pool.Idle, pool.Max)
			}
		}
	}},
	{"a cancelled context stops every call, and nothing is written", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		cancelled, cancel := context.WithCancel(f.ctx)
		cancel()
		for what, call := range map[string]func() error{
			"ready": func() error { return f.Ready(cancelled) },
			"read":  func() error { return errOf(f.Perk(cancelled, "p")) },
			"list": func() error {
				return errOf(f.ListPerks(cancelled, store.PerkQuery{Window: store.Window{Page: 1, PerPage: 1}}))
			},
			"redeem": func() error { return errOf(f.Redeem(cancelled, attempt("p", "ann"))) },
			"update": func() error {
				return f.UpdateProperty(cancelled, 1, store.Operator, now, retitle("Lost"))
			},
			"import": func() error {
				return errOf(f.ImportUsers(cancelled, rows(store.User{ID: "lost"}), store.Operator, now))
			},
			"export": func() error {
				for _, err := range f.ExportUsers(cancelled) {
					return err
				}
				return nil
			},
		} {
			if err := call(); err == nil {
				f.Errorf("%s succeeded", what)
			}
		}
		f.fails("a cancelled write", errOf(f.Redeem(cancelled, attempt("p", "ann"))), api.CodeUnavailable)
		f.must(f.Ready(f.ctx)) // the queue is empty now
		f.equal("redemptions", len(f.redemptions("ann")), 0)
		f.equal("title", f.property(1).Title, "Flat 1")
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
	}},
}
