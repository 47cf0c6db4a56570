package endurance

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/perks/api"
	"example.com/perks/cmd/perksd/perksdtest"
	"example.com/perks/server/auth"
	"example.com/perks/store/postgres/cluster"
)

// TestTwoReplicasGiveAwayWhatThereIsOnce has two servers start at the same moment on an empty database. Each user asks both
// at the same moment, every second one under one key.
func TestTwoReplicasGiveAwayWhatThereIsOnce(t *testing.T) {
	t.Parallel()
	const users, stock = 100, 50
	i := perksdtest.InstallOver(t, cluster.Database(t))
	replicas := i.StartTogether(2)
	i.ImportCSV("users", usersCSV(users))
	i.ImportCSV("perks", perkCSV("rush", stock))
	till, ledger := newTill(t, i.Token(replicas[0].URL), tillsAtOnce), newLedger()

	var asking sync.WaitGroup
	answers := make([][2]told, users)
	for n := range users {
		a := attempt{perk: "rush", user: userNumber(n)}
		if n%2 == 0 {
			a.key = "key-of-" + a.user
		}
		for which, r := range replicas {
			asking.Go(func() {
				answer, err := till.redeem(r.URL, a)
				if err == nil {
					err = ledger.note(a, answer)
				}
				if err != nil {
					t.Errorf("%+v at replica %d: %v", a, which, err)
				}
				answers[n][which] = answer
			})
		}
	}
	asking.Wait()

	kept := i.Redemptions()
	ledger.check(t, kept, stock)
	if len(kept) != stock || ledger.count() != stock {
		t.Errorf("%d redemptions are kept and %d were acknowledged, want %d of each", len(kept), ledger.count(), stock)
	}
	ledger.onlyRefused(t, api.CodeAlreadyRedeemed, api.CodeSoldOut)
	for n, both := range answers {
		if !agree(n%2 == 0, both[0], both[1]) {
			t.Errorf("%s was told %+v and %+v", userNumber(n), both[0], both[1])
		}
	}
}

// agree tells whether two answers to one user can both be true. Under one key both show the redemption, which one of them
// made; without a key it is refused to whoever comes second.
func agree(underKey bool, a, b told) bool {
	if a.status != http.StatusCreated {
		a, b = b, a
	}
	switch {
	case a.status != http.StatusCreated:
		return a.code == api.CodeSoldOut && b.code == api.CodeSoldOut
	case underKey:
		return b.made.ID == a.made.ID && a.replayed != b.replayed
	}
	return b.code == api.CodeAlreadyRedeemed
}

func TestStockThatIsAddedIsThereOnEveryReplica(t *testing.T) {
	t.Parallel()
	i := perksdtest.InstallOver(t, cluster.Database(t))
	replicas := i.StartTogether(2)
	i.ImportCSV("users", usersCSV(4))
	till := newTill(t, i.Token(replicas[0].URL), 1)
	expect := func(replica, user int, want told) {
		t.Helper()
		got, err := till.redeem(replicas[replica].URL, attempt{perk: "rush", user: userNumber(user)})
		if err != nil || got.status != want.status || got.code != want.code {
			t.Errorf("user %d at replica %d: %+v, %v", user, replica, got, err)
		}
	}
	made, soldOut := told{status: http.StatusCreated}, told{status: http.StatusConflict, code: api.CodeSoldOut}
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

func TestADisabledClientIsOutOnEveryReplica(t *testing.T) {
	t.Parallel()
	const soon = 5 * time.Second
	i := perksdtest.InstallOver(t, cluster.Database(t))
	replicas := i.StartTogether(2)
	id, secret := i.Client("Leaving")
	leaving := perksdtest.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret).AccessToken
	staying := i.Token(replicas[1].URL)
	status := func(r *perksdtest.Server, token string) int {
		return perksdtest.StatusOf(t, r.URL+"/v2/partners/perks", token)
	}
	for _, r := range replicas {
		if got := status(r, leaving); got != http.StatusOK {
			t.Fatalf("before it is disabled, the client is answered %d", got)
		}
	}

	i.Must("", "client", "disable", id)
	took := eventually(t, soon, "both replicas refused the client", func() bool {
		for _, r := range replicas {
			if got := status(r, staying); got != http.StatusOK {
				t.Fatalf("another client is answered %d", got)
			}
		}
		return status(replicas[0], leaving) == http.StatusUnauthorized && status(replicas[1], leaving) == http.StatusUnauthorized
	})
	t.Logf("both replicas refuse the client %s after it was disabled", took.Round(time.Millisecond))
}

func TestHourlyTokensAreTheSameOnEveryReplica(t *testing.T) {
	t.Parallel()
	i := perksdtest.InstallOver(t, cluster.Database(t))
	replicas := i.StartTogether(2, "--hourly")
	id, secret := i.Client("Hourly")
	here := perksdtest.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret)
	there := perksdtest.TokenOf(t, http.DefaultClient, replicas[1].URL, id, secret)
	if !here.ExpiresAt.Equal(there.ExpiresAt) { // an hour began between the two
		here = perksdtest.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret)
	}
	if here.AccessToken != there.AccessToken {
		t.Errorf("two tokens of one hour differ: %s and %s", here.AccessToken, there.AccessToken)
	}
}

func TestARotatedKeyRefusesNoTokenOnAnyReplica(t *testing.T) {
	t.Parallel()
	i := perksdtest.InstallOver(t, cluster.Database(t))
	replicas := i.StartTogether(2)
	id, secret := i.Client("Steady")
	tokens := []string{}
	keys := map[string]bool{}
	issue := func() (newest []string) {
		for _, r := range replicas {
			token := perksdtest.TokenOf(t, http.DefaultClient, r.URL, id, secret).AccessToken
			parsed, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
			if err != nil {
				t.Fatal(err)
			}
			key := fmt.Sprint(parsed.Header["kid"])
			newest = append(newest, key)
			if !keys[key+r.URL] {
				tokens = append(tokens, token) // one of each key and replica is enough to try again and again
			}
			keys[key+r.URL] = true
		}
		return newest
	}
	old := issue()[0]
	i.Must("", "keys", "rotate")
	eventually(t, 2*auth.KeySettles, "both replicas signed with the new key", func() bool {
		newest := issue()
		for _, token := range tokens {
			for _, r := range replicas {
				if got := perksdtest.StatusOf(t, r.URL+"/v2/partners/perks", token); got != http.StatusOK {
					t.Fatalf("a token is answered %d", got)
				}
			}
		}
		return !slices.Contains(newest, old)
	})
	if len(tokens) != 4 {
		t.Errorf("%d kinds of tokens were tried, want those of two keys and two replicas", len(tokens))
	}
}
