package storetest

import (
	"fmt"

	"example.com/perks/api"
	"example.com/perks/store"
)

// foreignIDs are no text that every database can hold: NUL, and what is not UTF-8.
var foreignIDs = []string{"\x00", "p\x00", "p\x00q", "\xff", "p\xc3", "\xed\xa0\x80"}

var idTests = []test{
	{"an id that is no text is no one's", func(f *fixture) {
		f.addUsers("ann")
		f.addPerks(perk("p"))
		f.addClients("p")
		window := store.Window{Page: 1, PerPage: 1}
		for _, id := range foreignIDs {
			for what, call := range map[string]func() error{
				"read a perk":        func() error { _, err := f.Perk(f.ctx, id); return err },
				"redeem a perk":      func() error { _, err := f.Redeem(f.ctx, attempt(id, "ann")); return err },
				"redeem for a user":  func() error { _, err := f.Redeem(f.ctx, attempt("p", id)); return err },
				"redeem for neither": func() error { _, err := f.Redeem(f.ctx, attempt(id, id)); return err },
				"what is available": func() error {
					_, err := f.ListPerks(f.ctx, store.PerkQuery{AvailableTo: id, At: now, Window: window})
					return err
				},
				"redemptions": func() error {
					_, err := f.ListRedemptions(f.ctx, store.RedemptionQuery{UserID: id, Window: window})
					return err
				},
				"decide": func() error {
					_, err := f.DecideRedemption(f.ctx, id, api.StatusApproved, store.Operator, now)
					return err
				},
				"read a client":  func() error { _, err := f.Client(f.ctx, id); return err },
				"give a secret":  func() error { return f.SetClientSecret(f.ctx, id, store.SecretHash{}, store.Operator, now) },
				"disable client": func() error { return f.SetClientDisabled(f.ctx, id, true, store.Operator, now) },
			} {
				f.fails(fmt.Sprintf("%s %q", what, id), call(), api.CodeNotFound)
			}
			for _, subject := range []string{id, store.RedemptionSubject(id), store.ClientSubject(id)} {
				f.equal("entries", f.actions(subject), []string{})
			}
		}
	}},
	{"a text filter that is no text finds nothing", func(f *fixture) {
		f.addPerks(perk("p", category("p"), city("p")))
		for _, text := range foreignIDs {
			f.finds(fmt.Sprintf("city %q", text), store.PerkQuery{City: text})
			f.finds(fmt.Sprintf("category %q", text), store.PerkQuery{Category: text})
		}
	}},
}
