package endurance

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/perks/api"
	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server"
	"example.com/perks/store/storetest"
)

// TestTwoReplicasRedeemTheStockOnce starts two servers at the same time on an empty database. Each user redeems at both at the
// same time, every second one with one key.
func TestTwoReplicasRedeemTheStockOnce(t *testing.T) {
	parallel(t)
	const users, stock = 100, 50
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(2)
	i.ImportCSV("users", usersCSV(users))
	i.ImportCSV("perks", perkCSV("rush", stock))
	redeemer, replies := newRedeemer(t, i.Token(replicas[0].URL), workersAtOnce), newReplies()

	var asking sync.WaitGroup
	answers := make([][2]reply, users)
	for n := range users {
		a := attempt{perk: "rush", user: userNumber(n)}
		if n%2 == 0 {
			a.key = "key-of-" + a.user
		}
		for which, r := range replicas {
			asking.Go(func() {
				answer, err := redeemer.redeem(r.URL, a)
				if err == nil {
					err = replies.record(a, answer)
				}
				if err != nil {
					t.Errorf("%+v at replica %d: %v", a, which, err)
				}
				answers[n][which] = answer
			})
		}
	}
	asking.Wait()

	stored := i.Redemptions()
	replies.check(t, stored, stock)
	if len(stored) != stock || replies.count() != stock {
		t.Errorf("%d redemptions are stored and %d were acknowledged, want %d of each", len(stored), replies.count(), stock)
	}
	replies.onlyRefused(t, api.CodeAlreadyRedeemed, api.CodeSoldOut)
	for n, both := range answers {
		if !agree(n%2 == 0, both[0], both[1]) {
			t.Errorf("%s got %+v and %+v", userNumber(n), both[0], both[1])
		}
	}
}

// agree reports whether two replies to one user are consistent. With one key both show the redemption, which one of them
// made; without a key the second is refused.
func agree(underKey bool, a, b reply) bool {
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

// refusedWithin is the documented limit for disabled clients and dropped keys.
const refusedWithin = 5 * time.Second

// refusedOn measures how long after do each server last accepted a token. Another client's token must never be refused.
func refusedOn(t *testing.T, servers []*programs.Server, leaving, staying string, do func()) {
	t.Helper()
	status := func(s *programs.Server, token string) int {
		return programs.StatusOf(t, s.URL+"/v2/partners/perks", token)
	}
	for i, s := range servers {
		if got := status(s, leaving); got != http.StatusOK {
			t.Fatalf("server %d returns %d before", i, got)
		}
	}
	begun := time.Now()
	last := make([]time.Duration, len(servers))
	do()
	done := time.Since(begun)
	eventually(t, 2*refusedWithin, "every server refused the token", func() bool {
		out := true
		for i, s := range servers {
			asked := time.Since(begun)
			switch got := status(s, leaving); got {
			case http.StatusOK:
				last[i], out = asked, false
			case http.StatusUnauthorized:
			default:
				t.Fatalf("server %d returns %d", i, got)
			}
			if staying != "" {
				if got := status(s, staying); got != http.StatusOK {
					t.Fatalf("another client got %d", got)
				}
			}
		}
		return out
	})
	for i, after := range last {
		t.Logf("server %d accepted the token for the last time %s after the command began, which took %s", i, after.Round(time.Millisecond), done.Round(time.Millisecond))
		if after > done+refusedWithin {
			t.Errorf("that is longer than %s", refusedWithin)
		}
	}
}

func TestADisabledClientIsRefusedOnEveryReplica(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]struct {
		address  func(*testing.T) string
		replicas int
	}{
		"three on PostgreSQL": {func(t *testing.T) string { return storetest.PostgresDatabase(t) }, 3},
		"one on SQLite":       {func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "perks.db") }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			parallel(t)
			i := programs.InstallOver(t, r.address(t))
			replicas := i.StartTogether(r.replicas)
			id, secret := i.Client("Leaving")
			leaving := programs.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret).AccessToken
			staying := i.Token(replicas[len(replicas)-1].URL)
			refusedOn(t, replicas, leaving, staying, func() { i.Must("", "client", "disable", id) })
		})
	}
}

// TestADroppedKeyIsRefusedOnEveryReplica drops the signing key. Tokens issued once all replicas know the new key are valid everywhere.
func TestADroppedKeyIsRefusedOnEveryReplica(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(3)
	id, secret := i.Client("Steady")
	token := func(s *programs.Server) string {
		return programs.TokenOf(t, http.DefaultClient, s.URL, id, secret).AccessToken
	}
	old := token(replicas[0])
	refusedOn(t, replicas, old, "", func() { i.Must("", "keys", "drop", keyOf(t, old), "--yes") })
	for _, issuer := range replicas {
		fresh := token(issuer)
		for _, s := range replicas {
			if got := programs.StatusOf(t, s.URL+"/v2/partners/perks", fresh); got != http.StatusOK {
				t.Errorf("a token of the new key got %d", got)
			}
		}
	}
}

// keyOf is the id of the key that signed a token.
func keyOf(t *testing.T, token string) string {
	t.Helper()
	parsed, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(parsed.Header["kid"])
}

func TestHourlyTokensAreTheSameOnEveryReplica(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(2, "--hourly")
	id, secret := i.Client("Hourly")
	here := programs.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret)
	there := programs.TokenOf(t, http.DefaultClient, replicas[1].URL, id, secret)
	if !here.ExpiresAt.Equal(there.ExpiresAt) { // a new hour started between the two
		here = programs.TokenOf(t, http.DefaultClient, replicas[0].URL, id, secret)
	}
	if here.AccessToken != there.AccessToken {
		t.Errorf("two tokens of one hour differ: %s and %s", here.AccessToken, there.AccessToken)
	}
}

// TestRotatedKeysRefuseNoTokenOnAnyReplica rotates three times. It waits for the servers to follow after the last, and with
// PERKS_ENDURANCE=long after each.
func TestRotatedKeysRefuseNoTokenOnAnyReplica(t *testing.T) {
	parallel(t)
	i := programs.InstallOver(t, storetest.PostgresDatabase(t))
	replicas := i.StartTogether(3)
	id, secret := i.Client("Steady")
	tokens := []string{}
	kinds, keys := map[string]bool{}, map[string]bool{}
	issued, tried := 0, 0
	issueAndTry := func() (newest []string) {
		for _, r := range replicas {
			token := programs.TokenOf(t, http.DefaultClient, r.URL, id, secret).AccessToken
			issued++
			key := keyOf(t, token)
			newest = append(newest, key)
			latest := []string{token}
			if kind := key + r.URL; !kinds[kind] {
				kinds[kind], keys[key] = true, true
				tokens = append(tokens, token) // one of each key and replica is enough
			}
			for _, token := range append(latest, tokens...) {
				for _, other := range replicas {
					tried++
					if got := programs.StatusOf(t, other.URL+"/v2/partners/perks", token); got != http.StatusOK {
						t.Fatalf("a token got %d", got)
					}
				}
			}
		}
		return newest
	}
	waitForNewKey := func() {
		last := i.Must("", "keys", "list", "-o", "jsonl")
		last = last[:strings.IndexByte(last, '\n')]
		pace := time.NewTicker(busyInterval)
		defer pace.Stop()
		eventually(t, 3*server.KeyActivationDelay, "all replicas signed with the new key", func() bool {
			<-pace.C
			return !slices.ContainsFunc(issueAndTry(), func(key string) bool { return !strings.Contains(last, key) })
		})
	}
	issueAndTry()
	for range 2 {
		i.Must("", "keys", "rotate")
		issueAndTry()
		if os.Getenv("PERKS_ENDURANCE") == "long" {
			waitForNewKey()
		}
	}
	i.Must("", "keys", "rotate")
	waitForNewKey()
	t.Logf("%d tokens of %d keys were issued, and verified %d times", issued, len(keys), tried)
	if len(keys) < 2 {
		t.Error("no other key signed")
	}
}
