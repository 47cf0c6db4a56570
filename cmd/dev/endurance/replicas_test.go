package endurance

import (
	"net/http"
	"testing"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

func TestAddedStockIsAvailableOnEveryReplica(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(2)
	i.ImportCSV("users", usersCSV(4))
	redeemer := newRedeemer(t, i.Token(replicas[0].URL), 1)
	expect := func(replica, user int, want reply) {
		t.Helper()
		got, err := redeemer.redeem(replicas[replica].URL, attempt{perk: "rush", user: userNumber(user)})
		if err != nil || got.status != want.status || got.code != want.code {
			t.Errorf("user %d at replica %d: %+v, %v", user, replica, got, err)
		}
	}
	made, soldOut := reply{status: http.StatusCreated}, reply{status: http.StatusConflict, code: api.CodeSoldOut}
	i.ImportCSV("perks", perkCSV("rush", 1))
	expect(0, 0, made)
	expect(0, 1, soldOut)
	expect(1, 1, soldOut)
	i.ImportCSV("perks", perkCSV("rush", 3))
	expect(0, 1, made)
	expect(1, 2, made)
	expect(0, 3, soldOut)
	expect(1, 3, soldOut)
}
