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
			"import": func() error { _, err := f.ImportUsers(over, rows(store.User{ID: "lost"})); return err },
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
