package endurance

import (
	"net/http"
	"testing"

	"example.com/perks/cmd/perksd/perksdtest"
)

func TestABackupUnderLoadIsOneMomentOfTheDatabase(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	i := perksdtest.InstallOver(t, "sqlite:"+folder+"/perks.db")
	server := i.Start()
	c := sendCustomers(t, i, server)
	c.come(100)
	before := c.ledger.copy()
	i.Must("", "backup", folder+"/copy.db")
	after := c.ledger.count()
	c.come(100)
	c.leave()
	c.check(i)

	copied := perksdtest.InstallOver(t, "sqlite:"+folder+"/copy.db")
	kept := copied.Redemptions()
	before.check(t, kept, manyCustomers)
	if len(kept) > after+customersAtOnce {
		t.Errorf("the copy has %d redemptions, and %d were acknowledged when it was there", len(kept), after)
	}
	if i.Must("", "export", "users") != copied.Must("", "export", "users") {
		t.Error("the users of the copy are not those of the original")
	}
	t.Logf("%d redemptions were acknowledged before the backup, %d are in it, %d were acknowledged after it", before.count(), len(kept), after)

	// The copy is a database to serve from, and what it has of a perk is what its redemptions have left.
	copied.ImportCSV("perks", perkCSV("rush", len(kept)+1))
	second := copied.Start()
	till := newTill(t, copied.Token(second.URL), 1)
	for n, want := range []int{http.StatusCreated, http.StatusConflict} {
		answer, err := till.redeem(second.URL, attempt{perk: "rush", user: userNumber(manyCustomers - 1 - n)})
		if err != nil || answer.status != want {
			t.Errorf("the copy, asked for unit %d of the one that is left: %+v, %v", n+1, answer, err)
		}
	}
}
