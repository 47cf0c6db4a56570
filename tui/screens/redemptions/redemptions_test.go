package redemptions_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// pending has three redemptions that wait for approval, of ann, bob and cid, and an approved one of dan.
func pending(t *testing.T) *servertest.Server {
	t.Helper()
	server := servertest.Start(t)
	server.ImportUsers("ann", "bob", "cid", "dan")
	server.ImportPerks(
		store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa"}, Approval: store.ApprovalManual},
		store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two"}},
	)
	return server
}

func redeem(t *testing.T, d *tuitest.Driver, perk string, users ...string) {
	t.Helper()
	for _, user := range users {
		if _, _, err := d.App.Shell().Account.Client.Redeem(t.Context(), perk, api.RedeemRequest{UserID: user},
			""); err != nil {
			t.Fatal(err)
		}
	}
}

func start(t *testing.T) *tuitest.Driver {
	t.Helper()
	d := tuitest.Start(t, pending(t))
	d.See("Perks 2")
	redeem(t, d, "tea", "dan")
	redeem(t, d, "spa", "ann", "bob", "cid")
	d.Press("4")
	d.See("Redemptions 4", "cid", "pending", "dan", "approved")
	return d
}

func TestPendingOnesAreApprovedTogether(t *testing.T) {
	d := start(t)
	d.Press("tab")
	d.See("Redemptions 3")
	d.Settle()
	d.Press("A", "a")
	d.See("/ status:pending", "Approve 3 redemptions?", "A day at the spa for cid, bob, ann")
	d.Press("y")
	d.See("Done: 3 redemptions approved.", "No redemption matches status:pending.")
	d.Press("tab")
	d.See("Redemptions 4")
	d.Gone("A day at the spa pending")
}

func TestRejectingAndVoidingNeedAReason(t *testing.T) {
	d := start(t)
	d.See("A day at the spa pending", "Tea for two approved")
	d.Press("x")
	d.See("Reject A day at the spa for cid?", "Reason")
	d.Press("enter")
	d.See("! Enter a reason.")
	d.Type("left early")
	d.Press("enter")
	d.See("Done: 1 redemption rejected.", "rejected", "left early")
	d.Press("a")
	d.See("Approve: not possible now. It is rejected.")
	d.Press("G")
	d.See("row 4 of 4")
	d.Press("ctrl+x")
	d.See("Void Tea for two for dan?")
	d.Type("a mistake")
	d.Press("enter")
	d.See("Done: 1 redemption voided.", "voided")
}

// TestTwentyPendingOnesAreClearedWithFourKeys counts the keys of a lead.
func TestTwentyPendingOnesAreClearedWithFourKeys(t *testing.T) {
	server := pending(t)
	var users []string
	for i := range 20 {
		users = append(users, fmt.Sprintf("user-%d", i))
	}
	server.ImportUsers(users...)
	d := tuitest.Start(t, server)
	d.See("Perks 2")
	redeem(t, d, "tea", "dan")
	redeem(t, d, "spa", users...)
	d.Press("4")
	d.See("Redemptions 21")
	d.Press("tab")
	d.See("Redemptions 20")
	d.Settle()
	d.Press("A", "a")
	d.See("Approve 20 redemptions?", "A day at the spa for user-19")
	d.Press("y")
	d.See("Done: 20 redemptions approved.", "No redemption matches status:pending.")
	d.Gone("marked")
}

// TestRowsHaveTheTitlesOfPerks also finds the redemptions of a user, with the same language as everywhere.
func TestRowsHaveTheTitlesOfPerks(t *testing.T) {
	d := start(t)
	d.See("cid A day at the spa pending", "dan Tea for two approved")
	d.Press("/")
	d.Type("us")
	d.See("tab user:")
	d.Press("tab")
	d.Type("an")
	d.See("tab ann")
	d.Press("tab", "enter")
	d.See("/ user:ann", "Redemptions 1", "ann A day at the spa pending")
}

func TestWhatWasDecidedElsewhereIsNotDecidedTwice(t *testing.T) {
	d := start(t)
	d.Press("A")
	made := d.App.Top().(interface{ Marked() []api.RedemptionRecord }).Marked()[0]
	if _, _, err := d.App.Shell().Account.Client.Decide(t.Context(), made.ID, api.StatusRejected, "no",
		""); err != nil {
		t.Fatal(err)
	}
	d.Press("a")
	d.See("Approve 3 redemptions?")
	d.Press("y")
	d.See("Error: 2 approved, 1 not approved. ")
}

func TestNewRedemptionsAppearByThemselves(t *testing.T) {
	d := start(t)
	d.Settle()
	redeem(t, d, "tea", "ann")
	d.Elapse(10 * time.Second)
	d.See("Redemptions 5")
}

func TestARowLeadsToItsUserAndPerk(t *testing.T) {
	d := start(t)
	d.Press("P")
	d.See("Perk A day at the spa")
	d.Press("esc", "enter")
	d.See("Redemption", "of user cid", "Status pending, waiting for approval")
	d.Press("esc", "u")
	d.See("User cid", "Redeemed 1")
}

func TestAClientThatMayNotSeeThemIsTold(t *testing.T) {
	d := tuitest.StartWithHandler(t, http.HandlerFunc(func(w http.ResponseWriter,
		r *http.Request) {
		http.NotFound(w, r)
	}), tuitest.Route(screen.ToRedemptions{}))
	d.See("This service has no list of redemptions")
}

func TestEverySizeFits(t *testing.T) {
	start(t).EverySize()
}

// TestABareWordIsAUser types the id of a user without its field, and words that mean something else.
func TestABareWordIsAUser(t *testing.T) {
	d := start(t)
	d.Press("/")
	d.Type("dan\n")
	d.See("/ user:dan", "Redemptions 1", "dan Tea for two approved")
	d.Press("/")
	d.Type("ann")
	d.See(`"ann" needs a field: perk:, user:, status:, since:, until:, own:`) // one user is enough
	d.Press("ctrl+u")
	d.Type("pend")
	d.See("tab pending")
	d.Press("tab")
	d.Type("bob\n")
	d.See("/ user:bob status:pending", "Redemptions 1", "bob A day at the spa pending")
}

// TestAClientThatSeesOnlyItsOwnIsToldSo lists the redemptions of another client, with and without the scope for all.
func TestAClientThatSeesOnlyItsOwnIsToldSo(t *testing.T) {
	server := pending(t)
	all := tuitest.Start(t, server)
	redeem(t, all, "tea", "dan")
	all.Press("4")
	all.See("Redemptions 1")
	all.Settle()
	const only = "Only what this client made. All of them need redemptions:read-all."
	all.Gone(only)
	id, secret := server.Client(api.DefaultScopes()...)
	d := tuitest.StartAs(t, server, id, secret)
	d.Press("4")
	d.See("No redemptions here. " + only)
	d.Gone("yet")
	redeem(t, d, "tea", "ann")
	d.Press("R")
	d.See("Redemptions 1", "ann Tea for two approved", only)
	d.Press("/")
	d.Type("dan\n")
	d.See("No redemption matches user:dan. " + only)
}
