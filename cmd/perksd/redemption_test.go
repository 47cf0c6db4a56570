package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
)

// redeem makes a redemption like the server.
func (o *operator) redeem(id, perk, user string) {
	o.t.Helper()
	db := o.store()
	defer db.Close()
	attempt := store.RedeemAttempt{ID: id, PerkID: perk, UserID: user, ClientID: "acme",
		Metadata: json.RawMessage(`{"till":7}`), At: o.now}
	if _, err := db.Redeem(context.Background(), attempt); err != nil {
		o.t.Fatal(err)
	}
}

// withRedemptions makes redemptions: r-1 and r-3 pending, r-2 approved.
func withRedemptions(t *testing.T) *operator {
	o := withClient(t)
	o.must("import", "users", o.file("users.csv", importable["users"]))
	o.must("import", "perks", o.file("perks.csv",
		"id,title,description,city,approval,stock\nspa,Spa,Warm,Bath,manual,2\ntea,Tea,Hot,Bath,auto,\n"))
	for i, r := range [][3]string{{"r-1", "spa", "alice"}, {"r-2", "tea", "alice"}, {"r-3", "spa", "bob"}} {
		o.now = testNow.Add(time.Duration(i+1) * time.Minute)
		o.redeem(r[0], r[1], r[2])
	}
	return o
}

func TestALongTableIsPrintedInBlocks(t *testing.T) {
	var out strings.Builder
	users := func(yield func(store.User, error) bool) {
		for range 2*blockRows + 1 {
			if !yield(store.User{ID: "u"}, nil) {
				return
			}
		}
	}
	list := table[store.User]{columns: []string{"ID"}, cells: func(u store.User) []string { return []string{u.ID} }}
	if err := list.print(&out, "table", users); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(out.String(), "\n"); lines != 2*blockRows+2 {
		t.Errorf("%d lines for a header and %d rows", lines, 2*blockRows+1)
	}
}
