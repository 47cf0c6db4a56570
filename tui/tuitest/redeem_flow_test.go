package tuitest

import (
	"strings"
	"testing"
)

// TestThreeMarkedPerksAreRedeemedAndTheRefusedOneRetried redeems three perks at once, one of which is sold out until
// the operator adds a unit. Only the last one is sent twice, and all marks are gone in the end.
func TestThreeMarkedPerksAreRedeemedAndTheRefusedOneRetried(t *testing.T) {
	t.Parallel()
	d := newFixture(t)
	d.logIn()
	d.imports("perks", "id,title,description,city,stock,approval\n"+
		"zebra-1,Zebra tour,At the zoo,Bath,,\nzebra-2,Zebra ride,At the zoo,Bath,,manual\nzebra-3,Zebra photo,At "+
		"the zoo,Bath,0,\n")
	w := d.window(t, 120, 36)
	w.enter("perksctl tui; echo exited\\ with $?")
	w.see("find: words", "live")
	w.press("/")
	w.see("category:  near:")
	w.write("zebra")
	w.press("Enter")
	w.see("Zebra tour", "Zebra ride", "Zebra photo")
	w.gone("Corner Roast")
	for _, key := range []string{"Space", "Space", "Space"} {
		w.press(key)
	}
	w.see("3 marked")
	w.press("r")
	w.see("Redeem 3 perks", "3 perks", "> User")
	w.write("alice")
	w.see("can redeem 2 of 3: 1 sold out", "[sold out] Zebra photo")
	w.press("C-s")
	w.see("Redeem for alice?", "LIVE")
	w.press("y")
	w.see("alice: 1 redeemed, 1 waiting for approval, 1 sold out.", "[redeemed]", "[waiting for approval]",
		"t retries what failed")

	d.imports("perks", "id,stock\nzebra-3,1\n")
	w.press("t")
	w.see("alice: 2 redeemed, 1 waiting for approval.")
	w.gone("sold out")
	if made := d.must("perksctl", "user", "perks", "alice", "--type", "redeemed"); strings.Count(made, "zebra-") != 3 {
		t.Errorf("alice redeemed\n%s", made)
	}
	w.press("Escape")
	w.see("Zebra photo")
	w.gone("marked")
	w.press("q")
	w.see("exited with 0", prompt)
}
