package endurance

import (
	"net/http/httputil"
	"net/url"
	"testing"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// shop is a server behind a gate, a client's id and secret there, and a look at what it has.
type service struct {
	proxy       *faultProxy
	id, secret  string
	prepare     func([]wanted)           // before the rows are sent
	redemptions func() map[string]wanted // what was made since, by id
	args        []string                 // that a run there needs
}

// ours is perksd over a database. Each row needs a user and perk that no other has.
func ourService(t *testing.T) service {
	t.Helper()
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "p0"}}, store.PerkRecord{Perk: api.Perk{ID: "p1"}}, store.PerkRecord{Perk: api.Perk{ID: "p2"}})
	root, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	s := service{proxy: newFaultProxy(t, httputil.NewSingleHostReverseProxy(root))}
	s.id, s.secret = server.Client()
	s.prepare = func(all []wanted) { server.ImportUsers(usersOf(all)...) }
	s.redemptions = func() map[string]wanted {
		all := map[string]wanted{}
		for r, err := range server.Live.ExportRedemptions(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			all[r.ID] = wanted{r.PerkID, r.UserID, canonical(r.Metadata)}
		}
		return all
	}
	return s
}

// theirs is a service that is not ours, at which everything was redeemed once before. It loses one answer in ten and, of fifty
// redeems, one before it is done. Nobody but the run redeems there, which the run has to be told: nothing else can tell it.
func foreignService(t *testing.T, f *foreign) service {
	s := service{proxy: newFaultProxy(t, f), id: foreignID, secret: foreignSecret, args: []string{"--assume-mine"}}
	s.proxy.dropEvery, s.proxy.loseEvery = 10, 50
	s.redemptions, s.prepare = f.redemptions, f.remember
	return s
}

// rowsOf is n rows as they go to both: each for a user of its own, with a number.
func rowsOf(n int) rowSet {
	return rowSet{rows: n, who: everyone, says: itsNumber, format: csv, suffix: ".csv"}
}

// twinsOf is n rows without metadata for few users, so that each is there many times.
func twinsOf(n int) rowSet {
	return rowSet{rows: n, who: among(max(n/40, 1)), format: jsonl, suffix: ".jsonl"}
}
