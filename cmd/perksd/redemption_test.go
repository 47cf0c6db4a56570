package main

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
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

func TestRedemptionList(t *testing.T) {
	o := withRedemptions(t)
	equal(t, "the list", `ID   PERK  USER   STATUS    REDEEMED_AT           CLIENT
r-1  spa   alice  pending   2026-06-15T12:01:00Z  acme
r-2  tea   alice  approved  2026-06-15T12:02:00Z  acme
r-3  spa   bob    pending   2026-06-15T12:03:00Z  acme
`, o.must("redemption", "list"))
	const rest = `"status":"pending","metadata":{"till":7},"client_id":"acme","decided_at":null,"reason":null}`
	equal(t, "the pending ones in JSON", `[
  {"id":"r-1","perk_id":"spa","user_id":"alice","redeemed_at":"2026-06-15T12:01:00.000Z",`+rest+`,
  {"id":"r-3","perk_id":"spa","user_id":"bob","redeemed_at":"2026-06-15T12:03:00.000Z",`+rest+`
]
`, o.must("redemption", "list", "--status", "pending", "-o", "json"))
	equal(t, "the rejected ones", "[]\n", o.must("redemption", "list", "--status", "rejected", "-o", "json"))
	equal(t, "the export", `id,perk_id,user_id,redeemed_at,status,metadata,client_id,decided_at,reason
r-1,spa,alice,2026-06-15T12:01:00.000Z,pending,"{""till"":7}",acme,,
r-2,tea,alice,2026-06-15T12:02:00.000Z,approved,"{""till"":7}",acme,,
r-3,spa,bob,2026-06-15T12:03:00.000Z,pending,"{""till"":7}",acme,,
`, o.must("export", "redemptions"))
	o.refuses(exitUsage, `--status "done": it must be one of pending, approved, rejected, voided (see 'perksd `+
		`redemption list --help')`,
		"redemption", "list", "--status", "done")
}

func TestDecidingARedemption(t *testing.T) {
	o := withRedemptions(t)
	equal(t, "approve", "ID   PERK  USER   STATUS    REDEEMED_AT           CLIENT\nr-1  spa   alice  approved  "+
		"2026-06-15T12:01:00Z  acme\n", o.must("redemption", "approve", "r-1"))
	o.now = o.now.Add(time.Hour)
	approved := o.must("redemption", "list", "--status", "approved", "-o", "json")
	o.must("redemption", "approve", "r-1")
	equal(t, "approving it again", approved, o.must("redemption", "list", "--status", "approved", "-o", "json"))
	for _, decision := range []struct {
		verb, id string
		status   api.RedemptionStatus
	}{{"reject", "r-3", api.StatusRejected}, {"void", "r-2", api.StatusVoided}} {
		var decided api.RedemptionRecord
		if err := json.Unmarshal([]byte(o.must("redemption", decision.verb, decision.id, "--reason", "a mistake", "-o",
			"json")), &decided); err != nil {
			t.Fatal(err)
		}
		if decided.ID != decision.id || decided.Status != decision.status || decided.Reason == nil ||
			*decided.Reason != "a mistake" {
			t.Errorf("%s prints %+v", decision.verb, decided)
		}
	}
	o.refuses(exitUsage, "--reason must not be blank (see 'perksd redemption void --help')", "redemption", "void",
		"r-1", "--reason", " ")
	o.refuses(exitFailure, `Redemption "r-1" is approved already; only a pending one can be decided.`, "redemption",
		"reject", "r-1")
	o.refuses(exitFailure, `There is no redemption "r-9".`, "redemption", "approve", "r-9")
	equal(t, "what is pending", "ID  PERK  USER  STATUS  REDEEMED_AT  CLIENT\n",
		o.must("redemption", "list", "--status", "pending"))
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
