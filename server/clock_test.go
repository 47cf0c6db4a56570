package server_test

import (
	"net/http"
	"regexp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// A wrong clock is set right while the server runs. These tests let it jump by an hour.

// clockFixture is a server whose clock jumps, and a client of it.
type clockFixture struct {
	*servertest.Server
	t          *testing.T
	clock      *servertest.Clock
	id, secret string
}

func newClockFixture(t *testing.T, options ...func(*server.Config)) *clockFixture {
	clock := servertest.NewClock(time.Date(2026, time.March, 14, 12, 30, 0, 0, time.UTC))
	j := &clockFixture{t: t, clock: clock, Server: fixture(t, append(options, servertest.WithClock(clock))...)}
	j.id, j.secret = j.Client()
	return j
}

func (j *clockFixture) token() string { return j.TokenFor(j.id, j.secret) }

func (j *clockFixture) read(token string) int {
	j.t.Helper()
	return j.Status(token, http.MethodGet, j.LiveURL()+"/perks/tea", "")
}

func TestTokensIssuedBeforeAJumpAreRefused(t *testing.T) {
	for name, hourly := range map[string]bool{"usual": false, "hourly": true} {
		t.Run(name, func(t *testing.T) {
			j := newClockFixture(t, func(c *server.Config) { c.Hourly = hourly; c.TokenTTL = 20 * time.Minute })
			old := j.token()
			for _, jump := range []time.Duration{-time.Hour, 3 * time.Hour, -time.Hour} {
				j.clock.Advance(jump)
				if status := j.read(old); status != http.StatusUnauthorized {
					t.Errorf("after a jump of %s a token from before got %d, want 401: it is not valid by the clock",
						jump, status)
				}
				fresh := j.token()
				if status := j.read(fresh); status != http.StatusOK {
					t.Errorf("after a jump of %s a token from after it got %d", jump, status)
				}
				old = fresh
			}
		})
	}
}

func TestAKeyRotatedWithAWrongClockInvalidatesNoToken(t *testing.T) {
	for name, wrong := range map[string]time.Duration{"an hour early": -time.Hour, "an hour late": time.Hour} {
		t.Run(name, func(t *testing.T) {
			j := newClockFixture(t)
			before := j.token()
			key := server.NewSigningKey(j.clock.Now().Add(wrong)) // on an operator's machine
			if err := j.Live.RotateSigningKey(t.Context(), key, key.CreatedAt.Add(server.KeyOverlap),
				store.Operator); err != nil {
				t.Fatal(err)
			}
			for range 3 {
				j.clock.Advance(server.KeyActivationDelay)
				for _, token := range []string{before, j.token()} {
					if status := j.read(token); status != http.StatusOK {
						t.Errorf("a valid token got %d", status)
					}
				}
			}
		})
	}
}

func TestIdempotencyKeysReplayAcrossJumps(t *testing.T) {
	j := newClockFixture(t)
	live := environment{Server: j.Server, url: j.LiveURL()}
	_, first, _ := live.redeem(j.token(), "tea", "alice", "monday")
	for _, jump := range []time.Duration{-time.Hour, 2 * time.Hour, -time.Hour} {
		j.clock.Advance(jump)
		if status, id, replayed := live.redeem(j.token(), "tea", "alice", "monday"); status != http.StatusCreated ||
			id != first || !replayed {
			t.Errorf("after a jump of %s the same key got %d with %s (replayed %t), want %s again", jump, status, id,
				replayed, first)
		}
		if _, err := j.Live.PurgeIdempotencyKeys(t.Context(),
			j.clock.Now().Add(-store.IdempotencyKeyLife)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAJumpKeepsTheRateLimit(t *testing.T) {
	j := newClockFixture(t, func(c *server.Config) { c.RateLimit = 5 })
	untilLimited := func(token string) (passed int) {
		for j.read(token) == http.StatusOK {
			if passed++; passed > 100 {
				t.Fatal("the client is not limited")
			}
		}
		return passed
	}
	untilLimited(j.token())
	j.clock.Advance(-time.Hour)
	token := j.token()
	if passed := untilLimited(token); passed > 1 {
		t.Errorf("setting the clock back let %d requests pass", passed)
	}
	j.clock.Advance(time.Second)
	if passed := untilLimited(token); passed != 5 {
		t.Errorf("a second after the clock was set back %d requests pass, want 5", passed)
	}
	j.clock.Advance(time.Hour)
	if passed := untilLimited(j.token()); passed != 5 {
		t.Errorf("after a jump forward %d requests pass, want a second's worth", passed)
	}
}

func TestAJumpKeepsTheThrottleOfFailedLogins(t *testing.T) {
	j := newClockFixture(t)
	login := func(secret string) int { return j.Do(tokenRequest(j.Server, j.id, secret, "", ""), nil) }
	untilLimited := func() (passed int) {
		for login("wrong") == http.StatusUnauthorized {
			if passed++; passed > 100 {
				t.Fatal("failed logins are not limited")
			}
		}
		return passed
	}
	untilLimited()
	j.clock.Advance(-time.Hour)
	if status := login("wrong"); status != http.StatusTooManyRequests {
		t.Errorf("setting the clock back allows another failed login: %d", status)
	}
	j.clock.Advance(6 * time.Second)
	if status := login(j.secret); status != http.StatusOK {
		t.Errorf("6 s after the clock was set back the right secret got %d", status)
	}
}

var anyTime = regexp.MustCompile(`"([a-z]+_(?:at|from|to))":"([^"]*)"`)

func TestTimesHaveMilliseconds(t *testing.T) {
	clock := servertest.NewClock(time.Date(2026, 1, 2, 3, 4, 5, 670_900_000, time.UTC))
	s := servertest.Start(t, servertest.WithClock(clock))
	perk, err := store.ParsePerk(api.CellMembers(
		[]string{"id", "title", "description", "city", "valid_from", "valid_to", "created_at", "updated_at"},
		[]string{"tea", "Tea", "A cup", "Leeds", "2026-01-01T00:00:00Z", "2026-02-01T01:00:00.99+01:00",
			"2025-01-01T00:00:00.5Z", "2025-01-01T00:00:00.1239999Z"}))
	if err != nil {
		t.Fatal(err)
	}
	s.ImportPerks(perk)
	s.ImportUsers("alice")
	token := s.Token()
	shown := map[string]string{}
	read := func(method, path, body string) {
		_, raw := s.Send(s.Request(token, method, s.LiveURL()+path, body))
		for _, found := range anyTime.FindAllStringSubmatch(string(raw), -1) {
			shown[path+" "+found[1]] = found[2]
		}
	}
	read("GET", "/perks/tea", "")
	read("GET", "/perks", "")
	read("POST", "/perks/tea/redeem", `{"user_id":"alice"}`)
	read("GET", "/perks/users/alice?type=redeemed", "")
	want := map[string]string{"/perks/tea/redeem redeemed_at": "2026-01-02T03:04:05.670Z",
		"/perks/users/alice?type=redeemed redeemed_at": "2026-01-02T03:04:05.670Z"}
	for _, path := range []string{"/perks/tea", "/perks"} {
		want[path+" valid_from"], want[path+" valid_to"] = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.990Z"
		want[path+" created_at"], want[path+" updated_at"] = "2025-01-01T00:00:00.500Z", "2025-01-01T00:00:00.123Z"
	}
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Errorf("want (-), got (+):\n%s", diff)
	}
	id, secret := s.Client()
	_, raw := s.Send(tokenRequest(s, id, secret, "", ""))
	if !regexp.MustCompile(`"expires_at":"[0-9T:-]+\.000Z"`).Match(raw) {
		t.Errorf("a token got %s", raw)
	}
}
