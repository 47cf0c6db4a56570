package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// storeWithClient is a database with one client.
func storeWithClient(t *testing.T) (*countingStore, store.Client) {
	t.Helper()
	db := &countingStore{Store: servertest.OpenStore(t)}
	client := store.Client{ID: rightID, Name: "Shop", Secret: server.HashSecret(rightSecret), Scopes: api.AllScopes(),
		CreatedAt: noon}
	if err := db.CreateClient(t.Context(), client, store.Operator); err != nil {
		t.Fatal(err)
	}
	return db, client
}

// replica returns a server's authority whose clock is wrong by off.
func replica(
	t *testing.T, db store.Store, clock *servertest.Clock, off, ttl time.Duration, hourly bool,
) *server.Authority {
	t.Helper()
	a, err := server.NewAuthority(t.Context(),
		server.Config{Live: db, TokenTTL: ttl, Hourly: hourly, Now: func() time.Time { return clock.Now().Add(off) }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func issue(t *testing.T, a *server.Authority, client store.Client) api.Token {
	t.Helper()
	token, err := a.Issue(t.Context(), client, nil)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestNoTokenBecomesInvalidByRotation simulates three days and three rotations, on three replicas whose clocks differ,
// with the longest tokens possible: each is valid on each replica until it expires.
func TestNoTokenBecomesInvalidByRotation(t *testing.T) {
	for _, hourly := range []bool{false, true} {
		t.Run(fmt.Sprintf("hourly %t", hourly), func(t *testing.T) {
			db, client := storeWithClient(t)
			clock := servertest.NewClock(noon)
			var replicas []*server.Authority
			for _, off := range []time.Duration{0, 2 * time.Second, -2 * time.Second} {
				replicas = append(replicas, replica(t, db, clock, off, server.MaxTokenTTL, hourly))
			}
			var tokens []api.Token
			tried := 0
			for step := range 72 * 4 {
				if step == 7 || step == 8 || step == 110 {
					now := clock.Now()
					if err := db.RotateSigningKey(t.Context(), server.NewSigningKey(now), now.Add(server.KeyOverlap),
						store.Operator); err != nil {
						t.Fatal(err)
					}
				}
				for _, second := range []time.Duration{0, 4, 6, 11} { // during the change to a new key
					clock.Advance(second * time.Second)
					tokens = append(tokens, issue(t, replicas[(step+int(second))%3], client))
				}
				clock.Advance(15*time.Minute - 21*time.Second)
				live := tokens[:0]
				for _, token := range tokens {
					if token.ExpiresAt.Sub(clock.Now()) <= 2*time.Second {
						continue
					}
					live = append(live, token)
					for i, r := range replicas {
						tried++
						if _, err := r.Verify(t.Context(), token.AccessToken); err != nil {
							t.Fatalf("step %d: replica %d refuses a token that expires in %s: %v", step, i,
								token.ExpiresAt.Sub(clock.Now()), err)
						}
					}
				}
				tokens = live
				if _, err := db.PurgeSigningKeys(t.Context(), clock.Now().Add(-time.Hour)); err != nil {
					t.Fatal(err)
				}
			}
			if keys, err := db.SigningKeys(t.Context(), time.Time{}); err != nil || len(keys) != 1 {
				t.Errorf("finally there are %d keys (%v), want the last", len(keys), err)
			}
			t.Logf("%d tokens verified", tried)
		})
	}
}

// TestDroppingAKeyInvalidatesItsTokens drops the signing key when another replica has just read the keys. New tokens
// are valid at once.
func TestDroppingAKeyInvalidatesItsTokens(t *testing.T) {
	for _, hourly := range []bool{false, true} {
		db, client := storeWithClient(t)
		clock := servertest.NewClock(noon.Add(30 * time.Minute))
		one, two := replica(t, db, clock, 0, time.Hour, hourly), replica(t, db, clock, 0, time.Hour, hourly)
		clock.Advance(time.Hour)
		old := issue(t, one, client)
		verify := func(a *server.Authority, token api.Token) error {
			_, err := a.Verify(t.Context(), token.AccessToken)
			return err
		}
		keys, err := db.SigningKeys(t.Context(), clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Second)
		if err := verify(two, old); err != nil {
			t.Fatal(err)
		}
		succeeded, err := db.DropSigningKey(t.Context(), keys[0].ID, server.NewSigningKey(clock.Now()), store.Operator)
		if err != nil || !succeeded {
			t.Fatalf("a successor: %t, %v", succeeded, err)
		}
		clock.Advance(time.Second) // replica one reads the keys again for its next token, replica two would not
		fresh := issue(t, one, client)
		for i, a := range []*server.Authority{one, two} {
			if err := verify(a, fresh); err != nil {
				t.Errorf("hourly %t: replica %d refuses a token of the new key, a second after the old one was "+
					"dropped: %v", hourly, i+1, err)
			}
		}
		clock.Advance(4 * time.Second)
		for i, a := range []*server.Authority{one, two} {
			if err := verify(a, old); !errors.Is(err, server.ErrToken) {
				t.Errorf("hourly %t: 5s after its key was dropped, replica %d returns for a token: %v", hourly, i+1,
					err)
			}
		}
	}
}

// TestUnknownKeysDoNotLoadTheDatabase sends tokens whose keys are not known.
func TestUnknownKeysDoNotLoadTheDatabase(t *testing.T) {
	db, client := storeWithClient(t)
	clock := servertest.NewClock(noon)
	a := replica(t, db, clock, 0, time.Hour, false)
	stranger := issue(t, replica(t, servertest.OpenStore(t), clock, 0, time.Hour, false), client)
	before := db.keys.Load()
	for range 1000 {
		clock.Advance(10 * time.Millisecond)
		if _, err := a.Verify(t.Context(), stranger.AccessToken); !errors.Is(err, server.ErrToken) {
			t.Fatalf("an unknown key's token: %v", err)
		}
	}
	if asked := db.keys.Load() - before; asked > 11 {
		t.Errorf("in ten seconds there were %d queries", asked)
	}
}

func TestRemovingAScopeRemovesItFromIssuedTokens(t *testing.T) {
	db, client := storeWithClient(t)
	clock := servertest.NewClock(noon)
	a := replica(t, db, clock, 0, time.Hour, false)
	token := issue(t, a, client)
	scopes := func() string {
		t.Helper()
		caller, err := a.Verify(t.Context(), token.AccessToken)
		if err != nil {
			t.Fatal(err)
		}
		return caller.Scopes.String()
	}
	if got, want := scopes(), api.AllScopes().String(); got != want {
		t.Errorf("at first it has %q, want %q", got, want)
	}
	if _, err := db.UpdateClient(t.Context(), client.ID, store.ClientChange{Scopes: api.Scopes{api.ScopePerksRead}},
		store.Operator, noon); err != nil {
		t.Fatal(err)
	}
	clock.Advance(5 * time.Second)
	if got := scopes(); got != "perks:read" {
		t.Errorf("after the removal it has %q", got)
	}
}

// TestEveryFailureTakesTheSameWork counts the queries for known, unknown and disabled clients, in both readings of a
// header.
func TestEveryFailureTakesTheSameWork(t *testing.T) {
	db, client := storeWithClient(t)
	out := client
	out.ID, out.Disabled = "out", true
	if err := db.CreateClient(t.Context(), out, store.Operator); err != nil {
		t.Fatal(err)
	}
	a := replica(t, db, servertest.NewClock(noon), 0, time.Hour, false)
	for _, pairs := range [][]server.Credentials{
		{{ID: "shop", Secret: "wrong"}}, {{ID: "nobody", Secret: rightSecret}},
		{{ID: "out", Secret: rightSecret}}, {{ID: "out", Secret: "wrong"}},
		{{ID: "shop", Secret: "a%2B"}, {ID: "shop", Secret: "a+"}},
		{{ID: "nobody", Secret: "a%2B"}, {ID: "nobody", Secret: "a+"}},
		{{ID: "out", Secret: "a%2B"}, {ID: "out", Secret: rightSecret}},
	} {
		before := db.clients.Load()
		if _, err := a.Authenticate(t.Context(), pairs); !errors.Is(err, server.ErrCredentials) {
			t.Errorf("%q: %v", pairs, err)
		}
		if reads := db.clients.Load() - before; reads != int64(len(pairs)) {
			t.Errorf("%q: there were %d queries", pairs, reads)
		}
	}
}

func TestATokenIsValidWithAClockFiveSecondsBehind(t *testing.T) {
	db, client := storeWithClient(t)
	clock := servertest.NewClock(noon)
	token := issue(t, replica(t, db, clock, 0, time.Hour, false), client)
	for behind, want := range map[time.Duration]error{5 * time.Second: nil, 6 * time.Second: server.ErrToken} {
		if _, err := replica(t, db, clock, -behind, time.Hour, false).Verify(t.Context(),
			token.AccessToken); !errors.Is(err, want) {
			t.Errorf("%s behind it: %v, want %v", behind, err, want)
		}
	}
}

func TestKeysSettleThenSignThenVerify(t *testing.T) {
	key := func(id string, age time.Duration, expires time.Time) store.SigningKey {
		return store.SigningKey{ID: id, CreatedAt: noon.Add(-age), ExpiresAt: expires}
	}
	keys := []store.SigningKey{
		key("newest", server.KeyActivationDelay-time.Second, time.Time{}),
		key("settled", server.KeyActivationDelay, noon.Add(server.KeyOverlap)),
		key("old", time.Hour, noon.Add(time.Minute)),
	}
	if got, want := server.KeyStates(keys, noon),
		[]server.KeyState{server.KeySettling, server.KeySigns, server.KeyVerifies}; !slices.Equal(got, want) {
		t.Errorf("the keys are %q, want %q", got, want)
	}
}

func TestWithoutKeysNoTokenIsIssuedOrAccepted(t *testing.T) {
	db, client := storeWithClient(t)
	clock := servertest.NewClock(noon)
	a := replica(t, db, clock, 0, time.Hour, false)
	token := issue(t, a, client)
	clock.Advance(time.Minute)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if token, err := a.Issue(cancelled, client, nil); err == nil || token.AccessToken != "" {
		t.Errorf("it issues %+v, %v", token, err)
	}
	if caller, err := a.Verify(cancelled, token.AccessToken); err == nil || errors.Is(err, server.ErrToken) {
		t.Errorf("it accepts %+v, %v", caller, err)
	}
}

// TestRevocationAfterTheClockWasSetBackWorksAtOnce reads client and key at a time that is then in the future: they must
// not be cached until the clock reaches it again.
func TestRevocationAfterTheClockWasSetBackWorksAtOnce(t *testing.T) {
	for name, revoke := range map[string]func(*countingStore, store.SigningKey, *servertest.Clock) error{
		"a disabled client": func(db *countingStore, _ store.SigningKey, clock *servertest.Clock) error {
			return db.SetClientDisabled(t.Context(), "shop", true, store.Operator, clock.Now())
		},
		"a dropped key": func(db *countingStore, key store.SigningKey, clock *servertest.Clock) error {
			_, err := db.DropSigningKey(t.Context(), key.ID, server.NewSigningKey(clock.Now()), store.Operator)
			return err
		},
	} {
		db, client := storeWithClient(t)
		clock := servertest.NewClock(noon)
		a := replica(t, db, clock, 0, time.Hour, false)
		clock.Advance(time.Minute)
		token := issue(t, a, client)
		keys, err := db.SigningKeys(t.Context(), clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(10 * time.Minute)
		if _, err := a.Verify(t.Context(), token.AccessToken); err != nil {
			t.Fatal(err)
		}
		clock.Advance(-5 * time.Minute)
		if err := revoke(db, keys[0], clock); err != nil {
			t.Fatal(err)
		}
		if _, err := a.Verify(t.Context(), token.AccessToken); !errors.Is(err, server.ErrToken) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// outageStore is a store whose signing keys cannot be read while it is down.
type outageStore struct {
	store.Store
	isDown atomic.Bool
	asked  chan struct{} // one value for each time that somebody asked meanwhile
}

func (o *outageStore) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	if !o.isDown.Load() {
		return o.Store.SigningKeys(ctx, at)
	}
	select {
	case o.asked <- struct{}{}:
	default: // often enough
	}
	return nil, store.Unavailable(errors.New("the database is down"))
}

// TestAChangeWaitsForAnUnavailableDatabase lets the cached keys expire, so that they have to be read again from a
// database that is unavailable.
func TestAChangeWaitsForAnUnavailableDatabase(t *testing.T) {
	clock, db := clockAt(10), &outageStore{asked: make(chan struct{})}
	s := fixture(t, servertest.WithClock(clock), func(c *server.Config) { db.Store, c.Live = c.Live, db })
	token := s.Token()
	db.isDown.Store(true)
	clock.Advance(server.KeyActivationDelay)

	_, body := wantError(t, s, s.Request(token, "GET", s.LiveURL()+"/perks/tea", ""), http.StatusServiceUnavailable,
		problemType, api.CodeUnavailable)
	if !strings.Contains(body.Response, "Nothing was started") {
		t.Errorf("a read got %q", body.Response)
	}
	answered := make(chan int, 1)
	go func() { answered <- s.Do(redeemRequest(s, token, "tea", `{"user_id":"alice"}`, "k"), nil) }()
	for range 3 {
		select {
		case <-db.asked:
		case status := <-answered:
			t.Fatalf("a redemption that should wait got %d", status)
		}
	}
	db.isDown.Store(false)
	if status := <-answered; status != http.StatusCreated {
		t.Errorf("a redemption that waited got %d", status)
	}
}
