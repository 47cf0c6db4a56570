package perks_test

import (
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// redeemed is a server with a perk that needs approval and that two users have redeemed.
func redeemed(t *testing.T) *servertest.Server {
	t.Helper()
	server := servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "spa", Title: "A day at the spa", Description: "Warm.",
		City: "Bath"}, Approval: api.ApprovalManual, Stock: pointerTo(int64(5))})
	server.ImportUsers("alice", "bob")
	for _, user := range []string{"alice", "bob"} {
		if status := server.Status(server.Token(), "POST", server.LiveURL()+"/perks/spa/redeem",
			`{"user_id":"`+user+`"}`); status != 201 {
			t.Fatalf("redeeming for %s: %d", user, status)
		}
	}
	return server
}

func TestTheRedemptionsOfAPerkAreDecidedOnItsPage(t *testing.T) {
	d := tuitest.Start(t, redeemed(t))
	d.Settle()
	d.Open(screen.ToPerk{ID: "spa"})
	d.Play(`
		size: 120x40     => Stock 5, 2 held | Redemptions 2 · newest | bob ◐ pending | alice ◐ pending
		                 => tab redemptions | r redeem
		tab              => a approve | x reject | tab perk
		j x              => Reject A day at the spa for alice?
		"wrong perk\n"   => Done: 1 redemption rejected. | alice ○ rejected wrong perk | Stock 5, 1 held
		k a y            => Done: 1 redemption approved. | bob ● approved
		enter            => Redemption | Status approved
		esc u            => User bob
		esc tab          => r redeem | tab redemptions
		click: ○ rejected
		y                => Copied the id
		size: 80x24      => alice ○ rejected | tab perk | ≠ Stock
		tab              => Stock 5, 1 held | ≠ rejected
		tab              => alice ○ rejected`)
}

func TestTheRedemptionsOfAPerkFollowWhatOthersRedeem(t *testing.T) {
	server := redeemed(t)
	d := tuitest.Start(t, server)
	d.Settle()
	d.Resize(120, 40)
	d.Open(screen.ToPerk{ID: "spa"})
	d.See("Redemptions 2", "bob ◐ pending")
	server.ImportUsers("carol")
	if status := server.Status(server.Token(), "POST", server.LiveURL()+"/perks/spa/redeem",
		`{"user_id":"carol"}`); status != 201 {
		t.Fatal(status)
	}
	d.Elapse(5 * time.Second)
	d.See("Redemptions 3", "+ just now carol ◐ pending", "Stock 5, 3 held")
	d.Elapse(time.Second)
	d.Gone("+ just now")
}

// The facts stay above the form, and beside it for whom the perk was redeemed, also once another has been.
func TestAPerkIsRedeemedOnItsPage(t *testing.T) {
	server := redeemed(t)
	server.ImportUsers("carol")
	d := tuitest.Start(t, server)
	d.Settle()
	d.Open(screen.ToPerk{ID: "spa"})
	d.Play(`
		size: 120x40     => Stock 5, 2 held | bob ◐ pending
		r "carol"        => Stock 5, 2 held | bob ◐ pending | alice ◐ pending | > User carol | can redeem
		ctrl+s y         => Waiting for approval | Stock 5, 3 held | carol ◐ pending | bob ◐ pending
		esc              => Redemptions 3`)
}

func TestAnOldAgeOnThePageOfAPerkIsNotCut(t *testing.T) {
	d := tuitest.Start(t, redeemed(t))
	d.Settle()
	d.Resize(120, 40)
	d.Open(screen.ToPerk{ID: "spa"})
	d.Play(`
		           => just now bob ◐ pending
		wait: 385h => 16 days ago bob ◐ pending`)
}

func TestAPerkHasNoRedemptionsForAClientThatMayReadNone(t *testing.T) {
	server := redeemed(t)
	id, secret := server.Client(api.ScopePerksRead)
	d := tuitest.StartAs(t, server, id, secret)
	d.Settle()
	d.Resize(120, 40)
	d.Open(screen.ToPerk{ID: "spa"})
	d.Play(`
		     => A day at the spa | Loaded just now | ≠ Redemptions 2
		tab  => Switch tab: not possible now. Its redemptions were not loaded.`)
}
