package tuitest

import (
	"fmt"
	"strings"
	"testing"
)

// desk has a zebra tour that one user redeems, a ride that needs approval, a photo that is sold out, and a walk nearby
// that has "zebra" in its description alone.
func desk(t *testing.T, flags ...string) *fixture {
	t.Helper()
	d := loggedIn(t, flags...)
	d.zoo()
	return d
}

func (d *fixture) zoo() {
	d.t.Helper()
	var users strings.Builder
	users.WriteString("id\nzoe\n")
	for i := range 20 {
		fmt.Fprintf(&users, "rider-%02d\n", i)
	}
	d.imports("users", users.String())
	d.imports("perks", "id,title,description,city,category,stock,approval,lat,lng,created_at\n"+
		"walk,A walk at dusk,See every zebra.,Bath,Zoo visits,,,51.3811,-2.3590,2026-02-01T00:00:00Z\n"+
		"tour,Zebra tour,At the zoo,Bath,Zoo visits,,,51.40,-2.36,2026-01-01T00:00:00Z\n"+
		"ride,Zebra ride,At the zoo,Bath,Zoo visits,,manual,51.41,-2.36,2026-01-01T00:00:00Z\n"+
		"photo,Zebra photo,At the zoo,Bath,Zoo visits,0,,52.40,-2.36,2026-01-01T00:00:00Z\n")
}

// TestPerksAreFoundWithOneLine types the line as people would, with names cut short, and asks the commands for the
// same.
func TestPerksAreFoundWithOneLine(t *testing.T) {
	t.Parallel()
	d := desk(t)
	w := d.window(t, 120, 36)
	w.play(`
		run: perksctl tui => find: words | live
		/ "zebra" => best matches | Perks 4`)
	if shown := w.see("Zebra tour", "A walk at dusk"); strings.Index(shown, "A walk at dusk") < strings.Index(shown,
		"Zebra tour") {
		t.Errorf("the title without the word is first:\n%s", shown)
	}
	w.play(`
		" cat" => tab category:
		tab "zoo" => Zoo visits | Perks 4
		" city:bat near:51.3811,-2.3590 <5km -exp" => tab -expired
		tab enter => zebra | city:Bath | category:"Zoo visits" | near:51.3811,-2.359 | <5km | nearest | Perks 3
		=> Distance | 0 m | 2.1 km | 3.2 km | ≠ Zebra photo
		q => exited with 0 | ready>`)
	line := `zebra city:bath category:"zoo visits" near:51.3811,-2.3590 <5km -expired`
	if found := d.must("perksctl", "perk", "list", "--query", line, "--sort", "distance", "-o",
		"id"); found != "walk\ntour\nride\n" {
		t.Errorf("perksctl perk list finds %q", found)
	}
}

// TestACustomerIsServedOnOnePage starts at a user, redeems, sees why another perk cannot be had, and finds the
// redemption.
func TestACustomerIsServedOnOnePage(t *testing.T) {
	t.Parallel()
	d := desk(t)
	w := d.window(t, 120, 36)
	w.play(`
		run: perksctl tui user zoe => User zoe | zoe has redeemed nothing yet. | Available
		/ "zebra tour" => Available 1
		enter => enter open
		r => Redeem for zoe? | Zebra tour | LIVE
		y => Redeemed 1 | Zebra tour | approved | just now`)
	if made := d.must("perksctl", "user", "perks", "zoe", "--type", "redeemed"); !strings.Contains(made, "tour") {
		t.Errorf("zoe redeemed\n%s", made)
	}
	w.play(`
		/ ctrl+u "zebra +expired" enter => All perks 4 | redeemed just now | sold out
		tab enter => Redemption | approved | Zebra tour (tour)
		esc => All perks 4
		q => exited with 0 | ready>`)
}

// TestALeadClearsTwentyPendingRedemptions approves all but one, which is rejected; one more appears by itself, and is
// voided later.
func TestALeadClearsTwentyPendingRedemptions(t *testing.T) {
	t.Parallel()
	d := desk(t)
	lead, err := d.NewClient(t.Context(), "lead", "--scope",
		"perks:read,perks:redeem,redemptions:read,redemptions:read-all,redemptions:decide,redemptions:void")
	if err != nil {
		t.Fatal(err)
	}
	d.id, d.secret = "lead", lead.Secret
	d.logIn()
	for i := range 20 {
		d.must("perksctl", "perk", "redeem", "ride", "--user", fmt.Sprintf("rider-%02d", i))
	}
	w := d.window(t, 120, 40)
	w.play(`
		run: perksctl tui => find: words | live
		4 => Redemptions 20 | Zebra ride | pending
		tab => status:pending
		x => Reject Zebra ride for rider-00?
		"no helmet" enter => 1 redemption rejected. | Redemptions 19
		A a => Approve 19 redemptions? | LIVE
		y => 19 redemptions approved. | Nothing waits for approval.`)
	d.must("perksctl", "perk", "redeem", "ride", "--user", "zoe")
	w.play(`
		=> Redemptions 1 | zoe
		a => Approve Zebra ride for zoe?
		y => 1 redemption approved.
		tab => Redemptions 21
		ctrl+x => Void Zebra ride for zoe?
		"wrong day" enter => 1 redemption voided. | voided | wrong day`)
	if list := d.must("perksctl", "redemption", "list", "--status", "rejected", "-o", "json"); !strings.Contains(list,
		"no helmet") {
		t.Errorf("rejected are\n%s", list)
	}
	w.play(`q => exited with 0 | ready>`)
}

// TestALeadTopsUpAPerk adds units to a perk that is sold out, edits its title, and takes that back in another session.
func TestALeadTopsUpAPerk(t *testing.T) {
	t.Parallel()
	d := desk(t)
	lead, err := d.NewClient(t.Context(), "lead", "--scope", "perks:read,perks:redeem,perks:write")
	if err != nil {
		t.Fatal(err)
	}
	d.id, d.secret = "lead", lead.Secret
	d.logIn()
	w := d.window(t, 120, 36)
	w.play(`
		run: perksctl tui => find: words | live
		/ "photo" enter  => Perks 1 | Zebra photo
		+                => Change the stock of Zebra photo | Stock: 0, 0 held, 0 left
		"50" enter       => Stock: 0 → 50 | LIVE
		y                => Stock of Zebra photo: 0 → 50. 50 left. | 50, 0 held, 50 left
		e                => Edit perk photo | > Title
		"s" ctrl+s       => - Zebra photo | + Zebra photos
		ctrl+s           => Saved perk photo: title. | Perk Zebra photos
		h                => History | title | stock
		q                => exited with 0 | ready>`)
	if stored := d.must("perksctl", "perk", "get", "photo", "-o", "json"); !strings.Contains(stored, "Zebra photos") {
		t.Errorf("stored is\n%s", stored)
	}
	w.play(`
		run: perksctl tui => find: words | live
		/ "photo" enter  => Perks 1 | Zebra photos
		enter            => 50, 0 held, 50 left
		z                => Undo this in perk photo? | - Zebra photos | + Zebra photo
		ctrl+s           => Undone in perk photo: title.
		q                => exited with 0 | ready>`)
}

// TestFourEyesSeeWhatTwoPeopleAtOneClientRedeem logs in as ann at a shared client, who cannot approve what she has
// redeemed; bob can. The history says who of them changed a perk.
func TestFourEyesSeeWhatTwoPeopleAtOneClientRedeem(t *testing.T) {
	t.Parallel()
	d := desk(t, "--four-eyes")
	till, err := d.NewClient(t.Context(), "till", "--actors", "--scope",
		"perks:read,perks:redeem,perks:write,redemptions:read,redemptions:decide,redemptions:void")
	if err != nil {
		t.Fatal(err)
	}
	w := d.window(t, 120, 36)
	w.play(`
		run: perksctl tui => find: words | live
		L => Log in | > Secret
		up up ctrl+u "till" tab tab "$secret" enter => > Your name | Say who you are.
		ctrl+u "ann" enter => Done: Logged in. | ann at till`, "$secret", till.Secret)
	d.must("perksctl", "perk", "redeem", "ride", "--user", "zoe")
	d.must("perksctl", "perk", "update", "tour", "--title", "Zebra tours")
	w.play(`
		4 => Redemptions 1 | Zebra ride | pending | ann
		a => ann redeemed it, and four eyes must see it: ask somebody else to approve it. | ≠ Approve Zebra ride
		x => Reject Zebra ride for zoe?
		esc => Redemptions 1 | ≠ Reject Zebra ride
		q => exited with 0 | ready>
		run: PERKSCTL_ACTOR=bob perksctl tui => find: words | bob at till
		4 => Redemptions 1 | pending
		a => Approve Zebra ride for zoe?
		y => 1 redemption approved.
		enter => of user zoe | approved | by bob at till
		esc => User zoe
		1 / "zebra tours" enter => Perks 1
		enter => Perk Zebra tours
		h => History | ann at till | Zebra tour → Zebra tours
		q => exited with 0 | ready>`)
}
