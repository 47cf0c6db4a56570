package storetest

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

var healthTests = []test{
	{"a store that takes writes is ready, time and again", func(f *fixture) {
		f.must(f.Ready(f.ctx))
		f.must(f.Ready(f.ctx))
	}},
	{"the figures of the connections and of the queue are those of the work that was done", func(f *fixture) {
		before := f.Stats().Queue.Batches
		f.addUsers("ann", "bob")
		f.addPerks(perk("p"))
		turns := 0
		for _, user := range []string{"ann", "bob", "ann"} { // the last is refused
			_, _ = f.Redeem(store.WithTurn(f.ctx, func() { turns++ }), attempt("p", user))
		}
		f.equal("times that a write's turn came", turns, 3)
		f.equal("perks", len(collect(f, f.ExportPerks(f.ctx))), 1) // needs a connection that reads
		after := f.Stats()
		f.equal("writes that wait", after.Queue.Waiting, 0)
		if after.Queue.Capacity < 1 {
			f.Errorf("the queue has room for %d", after.Queue.Capacity)
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
				f.Errorf("while nobody asks, the pool of %s has %d connections in use, %d idle, at most %d", pool.Name, pool.InUse, pool.Idle, pool.Max)
			}
		}
	}},
	{"a context that is over ends every call, and writes nothing", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.addClients("owner")
		f.addProperties(property(1, "owner"))
		over, cancel := context.WithCancel(f.ctx)
		cancel()
		for what, call := range map[string]func() error{
			"ready": func() error { return f.Ready(over) },
			"read":  func() error { _, err := f.Perk(over, "p"); return err },
			"list": func() error {
				_, err := f.ListPerks(over, store.PerkQuery{Window: store.Window{Page: 1, PerPage: 1}})
				return err
			},
			"redeem": func() error { _, err := f.Redeem(over, attempt("p", "ann")); return err },
			"update": func() error {
				return f.UpdateProperty(over, 1, store.Operator, now, retitle("Lost"))
			},
			"import": func() error {
				_, err := f.ImportUsers(over, rows(store.User{ID: "lost"}), store.Operator, now)
				return err
			},
			"export": func() error {
				for _, err := range f.ExportUsers(over) {
					return err
				}
				return nil
			},
		} {
			if err := call(); err == nil {
				f.Errorf("%s succeeded", what)
			}
		}
		_, err := f.Redeem(over, attempt("p", "ann"))
		f.fails("a write that was given up", err, api.CodeUnavailable)
		f.must(f.Ready(f.ctx)) // whatever was queued is past
		f.equal("redemptions", len(f.redemptions("ann")), 0)
		f.equal("title", f.property(1).Title, "Flat 1")
		f.equal("users", collect(f, f.ExportUsers(f.ctx)), []store.User{{ID: "ann"}})
	}},
}
