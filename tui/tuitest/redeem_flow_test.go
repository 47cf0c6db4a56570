package tuitest

import (
	"strings"
	"testing"
)

// TestThreeMarkedPerksAreRedeemedAndTheRefusedOneRetried redeems three perks at once, one of which is sold out until
// the operator adds a unit. Only the last one is sent twice, and all marks are gone in the end.
func TestThreeMarkedPerksAreRedeemedAndTheRefusedOneRetried(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	d.imports("perks", "id,title,description,city,stock,approval\n"+
		"zebra-1,Zebra tour,At the zoo,Bath,,\nzebra-2,Zebra ride,At the zoo,Bath,,manual\nzebra-3,Zebra photo,At "+
		"the zoo,Bath,0,\n")
	w := d.window(t, 120, 36)
	w.play(`
		run: perksctl tui => find: words | live
		/ => category:  near:
		"zebra" enter => Zebra tour | Zebra ride | Zebra photo | row 1 of 3
		space space space => 3 marked
		r => Redeem 3 perks | 3 perks | > User
		"alice" => can redeem 2 of 3 (1 needs approval): 1 sold out | [sold out] Zebra photo
		ctrl+s => Redeem for alice? | LIVE
		y => alice: 1 redeemed, 1 waiting for approval, 1 sold out. | [redeemed] | [waiting for approval]
		=> t retries what failed`)

	d.imports("perks", "id,stock\nzebra-3,1\n")
	w.play(`t => alice: 2 redeemed, 1 waiting for approval. | ≠ sold out`)
	if made := d.must("perksctl", "user", "perks", "alice", "--type", "redeemed"); strings.Count(made, "zebra-") != 3 {
		t.Errorf("alice redeemed\n%s", made)
	}
	w.play(`
		esc => Zebra photo | row 3 of 3 | ≠ marked
		q => exited with 0 | ready>`)
}
