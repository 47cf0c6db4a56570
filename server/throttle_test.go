package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

// throttleFixture is a server with one client, and requests tokens from chosen addresses.
type throttleFixture struct {
	t      *testing.T
	clock  *servertest.Clock
	server *server.Server
	store  *countingStore
	log    bytes.Buffer
}

// The only client of storeWithClient.
const (
	rightID     = "shop"
	rightSecret = "right"
)

// countingStore counts the calls of a store.
type countingStore struct {
	store.Store
	clients, keys, perks atomic.Int64
}

func (c *countingStore) Client(ctx context.Context, id string) (store.Client, error) {
	c.clients.Add(1)
	return c.Store.Client(ctx, id)
}

func (c *countingStore) SigningKeys(ctx context.Context, at time.Time) ([]store.SigningKey, error) {
	c.keys.Add(1)
	return c.Store.SigningKeys(ctx, at)
}

func (c *countingStore) Perk(ctx context.Context, id string) (api.Perk, error) {
	c.perks.Add(1)
	return c.Store.Perk(ctx, id)
}

func (c *countingStore) Redeem(ctx context.Context, attempt store.RedeemAttempt) (store.RedeemResult, error) {
	c.perks.Add(1)
	return c.Store.Redeem(ctx, attempt)
}

func newThrottleFixture(t *testing.T, options ...func(*server.Config)) *throttleFixture {
	t.Helper()
	db, _ := storeWithClient(t)
	d := &throttleFixture{t: t, clock: clockAt(10), store: db}
	config := server.Config{Live: db, Now: d.clock.Now, Logger: slog.New(slog.NewTextHandler(&d.log, nil))}
	for _, option := range options {
		option(&config)
	}
	var err error
	if d.server, err = server.New(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	return d
}

// requestToken sends a token request from an address, with a proxy's X-Forwarded-For.
func (d *throttleFixture) requestToken(address, forwardedFor, id, secret string) *httptest.ResponseRecorder {
	request := httptest.NewRequest("POST", "/v2/auth/token", nil)
	request.RemoteAddr = netip.AddrPortFrom(netip.MustParseAddr(address), 4711).String()
	if forwardedFor != "" {
		request.Header.Set("X-Forwarded-For", forwardedFor)
	}
	request.SetBasicAuth(id, secret)
	answer := httptest.NewRecorder()
	d.server.ServeHTTP(answer, request)
	return answer
}

// exhaust fails as often as the throttle allows.
func (d *throttleFixture) exhaust(address, forwardedFor string) {
	d.t.Helper()
	for range 10 {
		if got := d.requestToken(address, forwardedFor, rightID, "wrong"); got.Code != http.StatusUnauthorized {
			d.t.Fatalf("a wrong secret gets %d", got.Code)
		}
	}
}

func (d *throttleFixture) wantStatus(want int, address, forwardedFor string) {
	d.t.Helper()
	if got := d.requestToken(address, forwardedFor, rightID, rightSecret); got.Code != want {
		d.t.Errorf("the right secret from %s, forwarded for %q, got %d, want %d", address, forwardedFor, got.Code, want)
	}
}

func TestRetryAfterIsEnforced(t *testing.T) {
	d := newThrottleFixture(t)
	d.exhaust("192.0.2.1", "")
	for range 5 {
		refused := d.requestToken("192.0.2.1", "", rightID, rightSecret)
		if refused.Code != http.StatusTooManyRequests || refused.Header().Get("Retry-After") != "5" {
			t.Fatalf("%d, Retry-After %q", refused.Code, refused.Header().Get("Retry-After"))
		}
	}
	d.clock.Advance(5*time.Second - time.Nanosecond)
	if refused := d.requestToken("192.0.2.1", "", rightID, rightSecret); refused.Code != http.StatusTooManyRequests ||
		refused.Header().Get("Retry-After") != "1" {
		t.Errorf("just before the end of the wait: %d, Retry-After %q", refused.Code,
			refused.Header().Get("Retry-After"))
	}
	d.clock.Advance(time.Nanosecond)
	d.wantStatus(http.StatusOK, "192.0.2.1", "")
	d.wantStatus(http.StatusOK, "192.0.2.1", "") // a success is not counted
}

func TestFailedLoginsAreCountedPerNetwork(t *testing.T) {
	d := newThrottleFixture(t)
	d.exhaust("192.0.2.1", "")
	d.wantStatus(http.StatusTooManyRequests, "192.0.2.1", "")
	d.wantStatus(http.StatusTooManyRequests, "::ffff:192.0.2.1", "") // the same address
	d.wantStatus(http.StatusOK, "192.0.2.2", "")

	d.exhaust("2001:db8:1:2::3", "")
	d.wantStatus(http.StatusTooManyRequests, "2001:db8:1:2:ffff:ffff:ffff:ffff", "") // one subscriber has all of a /64
	d.wantStatus(http.StatusOK, "2001:db8:1:3::3", "")
}

func TestConcurrentFailedLoginsAreLimited(t *testing.T) {
	d := newThrottleFixture(t)
	d.store.clients.Store(0)
	var logins sync.WaitGroup
	for range 300 {
		logins.Go(func() { d.requestToken("192.0.2.1", "", rightID, "wrong") })
	}
	logins.Wait()
	if got := d.store.clients.Load(); got != 10 {
		t.Errorf("%d of the failed logins were checked, want 10", got)
	}
}

// A secret with two readings, raw and URL-decoded, counts as one failed login.
func TestASecretWithTwoReadingsCountsOnce(t *testing.T) {
	d := newThrottleFixture(t)
	for n := range 11 {
		want := http.StatusUnauthorized
		if n == 10 {
			want = http.StatusTooManyRequests
		}
		if got := d.requestToken("192.0.2.1", "", rightID, "wrong%41").Code; got != want {
			t.Errorf("failed login %d got %d, want %d", n+1, got, want)
		}
	}
}

func TestSpellingsOfAClientIDAreOneClient(t *testing.T) {
	d := newThrottleFixture(t)
	for which := range 10 {
		spelling := ""
		for i, letter := range []byte(rightID) {
			if (which+1)>>i&1 == 1 {
				spelling += fmt.Sprintf("%%%02x", letter)
			} else {
				spelling += string(letter)
			}
		}
		d.requestToken("192.0.2.1", "", spelling, "wrong")
	}
	d.exhaustedAtClient("192.0.2.1")
}

// exhaustedAtClient tells apart the limit of the client from that of the network.
func (d *throttleFixture) exhaustedAtClient(address string) {
	d.t.Helper()
	d.wantStatus(http.StatusTooManyRequests, address, "")
	if got := d.requestToken(address, "", "somebody-else", "wrong"); got.Code != http.StatusUnauthorized {
		d.t.Errorf("a failed login at another client got %d", got.Code)
	}
}

func TestUnknownClientIDsAreThrottledByNetwork(t *testing.T) {
	d := newThrottleFixture(t)
	d.exhaust("192.0.2.1", "")
	d.store.clients.Store(0)
	for i := range 10_500 { // more than the throttle keeps
		d.requestToken("192.0.2.1", "", fmt.Sprintf("made-up-%d-%s", i, strings.Repeat("x", i%1000)), "wrong")
	}
	if got := d.store.clients.Load(); got != 90 {
		t.Errorf("%d of the failed logins were checked, want the remaining 90 of 100", got)
	}
	d.clock.Advance(time.Second) // one more is allowed for the network, and none for the client
	d.exhaustedAtClient("192.0.2.1")
}

func TestFailedLoginsDoNotBlockClientsThatShareTheAddress(t *testing.T) {
	d := newThrottleFixture(t)
	d.wantStatus(http.StatusOK, "192.0.2.1", "")
	failLogins := func(address string) {
		for i := range 150 {
			d.requestToken(address, "", fmt.Sprintf("made-up-%d", i), "wrong")
		}
	}
	failLogins("192.0.2.1")
	if got := d.requestToken("192.0.2.1", "", "somebody-else", "wrong"); got.Code != http.StatusTooManyRequests {
		t.Errorf("another failed login got %d", got.Code)
	}
	d.wantStatus(http.StatusOK, "192.0.2.1", "")

	d.exhaust("192.0.2.1", "") // of the client itself
	d.wantStatus(http.StatusTooManyRequests, "192.0.2.1", "")

	d.clock.Advance(time.Hour)
	failLogins("192.0.2.1")
	d.wantStatus(http.StatusOK, "192.0.2.1", "")
	failLogins("192.0.2.2")
	d.wantStatus(http.StatusTooManyRequests, "192.0.2.2", "") // it never had a token there
}

func TestLogLinesOfFailedLoginsAreLimited(t *testing.T) {
	d := newThrottleFixture(t)
	d.exhaust("192.0.2.1", "")
	for range 500 {
		d.requestToken("192.0.2.1", "", rightID, rightSecret)
	}
	d.clock.Advance(time.Minute)
	d.exhaust("192.0.2.1", "")
	d.requestToken("192.0.2.1", "", rightID, rightSecret)
	d.requestToken("192.0.2.2", "", "no\x1bbody", rightSecret)
	var warnings []string
	for line := range strings.Lines(d.log.String()) {
		if strings.Contains(line, "level=WARN") {
			warnings = append(warnings, line)
		}
	}
	if len(warnings) != 10+1+10+1+1 {
		t.Fatalf("there are %d warnings:\n%s", len(warnings), strings.Join(warnings, ""))
	}
	for i, want := range map[int]string{
		0:  `client=shop address=192.0.2.1 reason="the credentials are wrong: the secret is wrong"`,
		10: `msg="token requests refused after too many failures"`,
		21: `client=shop address=192.0.2.1 refused=500`, // 499 of the first flood, and one of the second
		22: "client=\"no\uFFFDbody\" address=192.0.2.2 reason=\"the credentials are wrong: there is no such client\"",
	} {
		if !strings.Contains(warnings[i], want) {
			t.Errorf("warning %d is %swant %s", i, warnings[i], want)
		}
	}
	if strings.Contains(d.log.String(), "secret=") || strings.Contains(d.log.String(), rightSecret) {
		t.Error("the log holds a secret")
	}
}

func TestForwardedAddressesCountOnlyBehindAProxy(t *testing.T) {
	d := newThrottleFixture(t)
	d.exhaust("192.0.2.1", "")
	d.wantStatus(http.StatusTooManyRequests, "192.0.2.1", "203.0.113.9")
	d.wantStatus(http.StatusOK, "192.0.2.2", "192.0.2.1")
	d = newThrottleFixture(t, func(c *server.Config) { c.BehindProxy = true })
	d.exhaust("192.0.2.1", "203.0.113.9")
	d.wantStatus(http.StatusTooManyRequests, "192.0.2.2", "203.0.113.9")
	d.wantStatus(http.StatusOK, "192.0.2.1", "203.0.113.10")
}
