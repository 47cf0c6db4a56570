package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

// fakeClock gives a client a wait budget and a clock that skips every wait. It records the waits.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	waits []client.Wait
}

func (p *fakeClock) config(c *client.Config) {
	p.now = time.Now()
	c.WaitBudget = time.Minute
	c.OnWait = func(w client.Wait) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.waits = append(p.waits, w)
	}
	c.Clock = &client.Clock{
		Now: func() time.Time {
			p.mu.Lock()
			defer p.mu.Unlock()
			return p.now
		},
		Wait: func(ctx context.Context, d time.Duration) error {
			p.mu.Lock()
			defer p.mu.Unlock()
			p.now = p.now.Add(d)
			return ctx.Err()
		},
		Jitter: func(longest time.Duration) time.Duration { return longest },
	}
}

func (p *fakeClock) lengths() []time.Duration {
	var lengths []time.Duration
	for _, w := range p.waits {
		lengths = append(lengths, w.For)
	}
	return lengths
}

// scriptedServer runs one handler of its script for each request, then replies normally.
type scriptedServer struct {
	mu       sync.Mutex
	script   []http.HandlerFunc
	keys     bool // a normal reply echoes the idempotency key
	requests []string
}

func (s *scriptedServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	part := s.normal
	if n := len(s.requests); n < len(s.script) {
		part = s.script[n]
	}
	s.requests = append(s.requests, fmt.Sprintf("%s %s", r.Method, body))
	s.mu.Unlock()
	part(w, r)
}

func (s *scriptedServer) normal(w http.ResponseWriter, r *http.Request) {
	if s.keys && r.Header.Get("Idempotency-Key") != "" {
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
	}
	reply(w, 200, map[string]any{"id": "p", "propertyId": 1, "access_token": "t"})
}

func (s *scriptedServer) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// code replies with a status and an error code.
func code(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		reply(w, status, map[string]string{"response": "no", "code": code})
	}
}

// status replies with a status and headers given as "Name: value".
func status(status int, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		for _, header := range headers {
			name, value, _ := strings.Cut(header, ": ")
			w.Header().Set(name, value)
		}
		reply(w, status, map[string]string{"response": "no"})
	}
}

func withKey(part http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
		part(w, r)
	}
}

func cut(w http.ResponseWriter, r *http.Request) {
	connection, _, _ := w.(http.Hijacker).Hijack()
	connection.Close()
}

func half(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", "100")
	_, _ = io.WriteString(w, `{"id":`)
}

func repeat(n int, part http.HandlerFunc) []http.HandlerFunc {
	return slices.Repeat([]http.HandlerFunc{part}, n)
}

// calls has one call of each kind with its own retry rules.
var calls = map[string]func(context.Context, *client.Client) error{
	"read": func(ctx context.Context, c *client.Client) error { return errorOf(c.Perk(ctx, "p")) },
	"token": func(ctx context.Context, c *client.Client) error {
		return errorOf(c.Token(ctx, client.Credentials{ID: "a", Secret: "b"}))
	},
	"redeem": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Redeem(ctx, "p", api.RedeemRequest{UserID: "u"}, "")
		return err
	},
	"keyed redeem": func(ctx context.Context, c *client.Client) error {
		_, _, err := c.Redeem(ctx, "p", api.RedeemRequest{UserID: "u"}, "k")
		return err
	},
	"update": func(ctx context.Context, c *client.Client) error {
		return errorOf(c.UpdateProperty(ctx, "1", api.PropertyPatch{Title: api.Some("T")}, ""))
	},
	"delete": func(ctx context.Context, c *client.Client) error { return errorOf(c.DeleteProperty(ctx, "1", "")) },
}

func TestRetriedCalls(t *testing.T) {
	all := []string{"read", "token", "redeem", "keyed redeem", "update", "delete"}
	harmless := []string{"read", "token"}
	for name, test := range map[string]struct {
		failure http.HandlerFunc
		retried []string // calls that are retried; the others fail at once
		unknown bool     // outcome of the others
	}{
		"throttled":                    {status(429), all, false},
		"throttled for a second":       {status(429, "Retry-After: 1"), all, false},
		"bad gateway":                  {status(502), harmless, true},
		"unavailable":                  {status(503), harmless, true},
		"unavailable for a second":     {status(503, "Retry-After: 1"), harmless, true},
		"gateway timeout":              {status(504), harmless, true},
		"connection closed":            {cut, harmless, true},
		"partial response":             {half, harmless, true},
		"server error":                 {status(500), nil, true},
		"conflict":                     {status(409), nil, false},
		"forbidden with a Retry-After": {status(403, "Retry-After: 1"), nil, false},
	} {
		for kind, call := range calls {
			t.Run(name+"/"+kind, func(t *testing.T) {
				server := &scriptedServer{script: repeat(2, test.failure)}
				c := serve(t, server, (&fakeClock{}).config)
				err := call(t.Context(), c)
				retried := slices.Contains(test.retried, kind)
				want := map[bool]int{true: 3, false: 1}[retried]
				if got := server.count(); got != want || (err == nil) != retried {
					t.Errorf("%d requests, want %d: %v", got, want, err)
				}
				if got := client.OutcomeUnknown(err); got != (test.unknown && !retried &&
					!slices.Contains(harmless, kind)) {
					t.Errorf("outcome unknown: %t: %v", got, err)
				}
				for _, request := range server.requests {
					if request != server.requests[0] {
						t.Errorf("sent %s first, then %s", server.requests[0], request)
					}
				}
			})
		}
	}
}

func TestKeyedRedeemIsRetriedWhereKeysAreHonoured(t *testing.T) {
	for name, failure := range map[string]http.HandlerFunc{"connection closed": cut, "partial response": half,
		"unavailable": status(503)} {
		t.Run(name, func(t *testing.T) {
			server := &scriptedServer{keys: true,
				script: append(repeat(1, withKey(status(409))), repeat(3, failure)...)}
			c := serve(t, server, (&fakeClock{}).config)
			if c.HonoursKeys() {
				t.Error("HonoursKeys before any response")
			}
			_ = calls["keyed redeem"](t.Context(), c)
			if !c.HonoursKeys() {
				t.Error("an echoed key was ignored")
			}
			if err := calls["keyed redeem"](t.Context(), c); err != nil || server.count() != 5 {
				t.Errorf("%d requests, want 5: %v", server.count(), err)
			}
		})
		t.Run(name+", once", func(t *testing.T) {
			server := &scriptedServer{keys: true, script: append(repeat(1, withKey(status(200))), repeat(3, failure)...)}
			c := serve(t, server, (&fakeClock{}).config)
			_ = calls["keyed redeem"](t.Context(), c)
			if err := calls["keyed redeem"](client.Once(t.Context()), c); !client.OutcomeUnknown(err) ||
				server.count() != 2 {
				t.Errorf("%d requests, want 2: %v", server.count(), err)
			}
		})
		t.Run(name+", no key or another kind", func(t *testing.T) {
			for _, kind := range []string{"redeem", "update", "delete"} {
				server := &scriptedServer{script: append(repeat(1, withKey(status(200))), repeat(3, failure)...)}
				c := serve(t, server, (&fakeClock{}).config)
				_ = calls["keyed redeem"](t.Context(), c)
				if err := calls[kind](t.Context(), c); !client.OutcomeUnknown(err) || server.count() != 2 ||
					!c.HonoursKeys() {
					t.Errorf("%s: %d requests, want 2: %v", kind, server.count(), err)
				}
			}
		})
	}
	for name, test := range map[string]struct {
		first   http.HandlerFunc
		honours bool
	}{
		"key echoed in a failure":          {withKey(status(503)), true},
		"key echoed in a partial response": {withKey(half), true},
		"a replay":                         {status(503, "Idempotent-Replayed: true"), true},
		"another key":                      {status(503, "Idempotency-Key: other"), false},
		"not a replay":                     {status(503, "Idempotent-Replayed: false"), false},
	} {
		server := &scriptedServer{script: repeat(1, test.first)}
		c := serve(t, server, (&fakeClock{}).config)
		err := calls["keyed redeem"](t.Context(), c)
		if (err == nil) != test.honours || c.HonoursKeys() != test.honours ||
			server.count() != map[bool]int{true: 2, false: 1}[test.honours] {
			t.Errorf("%s: %d requests, honours %t: %v", name, server.count(), c.HonoursKeys(), err)
		}
	}
}

func TestLostAttemptStaysUnknownUntilItsKeyIsChecked(t *testing.T) {
	learn, throttled := withKey(status(200)), status(429, "Retry-After: 99")
	for name, test := range map[string]struct {
		script  []http.HandlerFunc
		unknown bool
	}{
		"throttled for too long, key not checked": {[]http.HandlerFunc{learn, cut, status(429, "Retry-After: 7200")},
			true},
		"no longer allowed":             {[]http.HandlerFunc{learn, cut, status(403)}, true},
		"throttled, key echoed":         {[]http.HandlerFunc{learn, cut, withKey(throttled)}, true},
		"no longer allowed, key echoed": {[]http.HandlerFunc{learn, cut, withKey(status(403))}, true},
		"redirected, key echoed":        {[]http.HandlerFunc{learn, cut, withKey(status(307))}, true},
		"refused, key echoed":           {[]http.HandlerFunc{learn, cut, withKey(status(422))}, false},
		"conflict, key echoed":          {[]http.HandlerFunc{learn, cut, withKey(status(409))}, true},
		"redeemed by another, key echoed": {[]http.HandlerFunc{learn, cut,
			withKey(code(409, "already_redeemed"))}, false},
		"redeemed, key not checked": {[]http.HandlerFunc{learn, cut, code(409, "already_redeemed")},
			true},
		"throttled before anything was lost": {[]http.HandlerFunc{learn, status(429), status(403)}, false},
		"lost after throttling":              {[]http.HandlerFunc{learn, status(429), cut, status(400)}, true},
	} {
		server := &scriptedServer{script: test.script}
		c := serve(t, server, (&fakeClock{}).config)
		_ = calls["keyed redeem"](t.Context(), c)
		err := calls["keyed redeem"](t.Context(), c)
		if err == nil || client.OutcomeUnknown(err) != test.unknown || server.count() != len(test.script) {
			t.Errorf("%s: %d requests, outcome unknown %t: %v", name, server.count(), client.OutcomeUnknown(err), err)
		}
	}
}

func TestLostAttemptStaysUnknownWithoutNewToken(t *testing.T) {
	server := &scriptedServer{script: []http.HandlerFunc{withKey(status(200)), cut, status(401)}}
	c := serve(t, server, (&fakeClock{}).config, withTokens(&renewingTokens{err: errors.New("not logged in")}))
	_ = calls["keyed redeem"](t.Context(), c)
	err := calls["keyed redeem"](t.Context(), c)
	if !client.OutcomeUnknown(err) || !strings.Contains(err.Error(), "not logged in") || server.count() != 3 {
		t.Errorf("%d requests: %v", server.count(), err)
	}
}

func TestReplayOfLostAttemptIsNotReported(t *testing.T) {
	replay := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Idempotent-Replayed", "true")
		reply(w, 200, map[string]string{"id": "p"})
	}
	for name, test := range map[string]struct {
		script []http.HandlerFunc
		want   bool
	}{
		"lost":      {[]http.HandlerFunc{withKey(half), replay}, false},
		"throttled": {[]http.HandlerFunc{status(429), replay}, true},
	} {
		c := serve(t, &scriptedServer{script: test.script}, (&fakeClock{}).config)
		if _, got, err := c.Redeem(t.Context(), "p", api.RedeemRequest{UserID: "u"}, "k"); err != nil ||
			got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
