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

// patient makes a client patient, on a clock that jumps over every wait. The waits are kept.
type patient struct {
	mu    sync.Mutex
	now   time.Time
	waits []client.Wait
}

func (p *patient) config(c *client.Config) {
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

func (p *patient) lengths() []time.Duration {
	var lengths []time.Duration
	for _, w := range p.waits {
		lengths = append(lengths, w.For)
	}
	return lengths
}

// troubled plays one part of its script for each request, and answers properly when the script is over.
type troubled struct {
	mu       sync.Mutex
	script   []http.HandlerFunc
	keys     bool // repeats every key that it sees in a proper answer
	requests []string
}

func (s *troubled) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	part := s.proper
	if n := len(s.requests); n < len(s.script) {
		part = s.script[n]
	}
	s.requests = append(s.requests, fmt.Sprintf("%s %s", r.Method, body))
	s.mu.Unlock()
	part(w, r)
}

func (s *troubled) proper(w http.ResponseWriter, r *http.Request) {
	if s.keys && r.Header.Get("Idempotency-Key") != "" {
		w.Header().Set("Idempotency-Key", r.Header.Get("Idempotency-Key"))
	}
	reply(w, 200, map[string]any{"id": "p", "propertyId": 1, "access_token": "t"})
}

func (s *troubled) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.requests)
}

// code answers with a status and a code.
func code(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		reply(w, status, map[string]string{"response": "no", "code": code})
	}
}

// status answers with a status and headers, which are given as "Name: value".
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

// calls are one of each kind that is tried again by rules of its own.
var calls = map[string]func(context.Context, *client.Client) error{
	"read": func(ctx context.Context, c *client.Client) error { _, err := c.Perk(ctx, "p"); return err },
	"token": func(ctx context.Context, c *client.Client) error {
		_, err := c.Token(ctx, client.Credentials{ID: "a", Secret: "b"})
		return err
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
		_, err := c.UpdateProperty(ctx, 1, api.PropertyPatch{Title: api.Some("T")}, "")
		return err
	},
	"delete": func(ctx context.Context, c *client.Client) error { _, err := c.DeleteProperty(ctx, 1, ""); return err },
}

func TestWhatIsSentAgain(t *testing.T) {
	all := []string{"read", "token", "redeem", "keyed redeem", "update", "delete"}
	harmless := []string{"read", "token"}
	for name, test := range map[string]struct {
		trouble http.HandlerFunc
		again   []string // the calls that are tried again; the others fail with the first answer
		unknown bool     // how the others end
	}{
		"put off":                      {status(429), all, false},
		"put off for a second":         {status(429, "Retry-After: 1"), all, false},
		"bad gateway":                  {status(502), harmless, true},
		"unavailable":                  {status(503), harmless, true},
		"unavailable for a second":     {status(503, "Retry-After: 1"), harmless, true},
		"gateway timeout":              {status(504), harmless, true},
		"cut":                          {cut, harmless, true},
		"half an answer":               {half, harmless, true},
		"a fault of the server":        {status(500), nil, true},
		"a refusal":                    {status(409), nil, false},
		"a refusal with a Retry-After": {status(403, "Retry-After: 1"), nil, false},
	} {
		for kind, call := range calls {
			t.Run(name+"/"+kind, func(t *testing.T) {
				server := &troubled{script: repeat(2, test.trouble)}
				c := serve(t, server, (&patient{}).config)
				err := call(t.Context(), c)
				again := slices.Contains(test.again, kind)
				want := map[bool]int{true: 3, false: 1}[again]
				if got := server.count(); got != want || (err == nil) != again {
					t.Errorf("%d requests, want %d: %v", got, want, err)
				}
				if got := client.OutcomeUnknown(err); got != (test.unknown && !again && !slices.Contains(harmless, kind)) {
					t.Errorf("outcome unknown: %t: %v", got, err)
				}
				for _, request := range server.requests {
					if request != server.requests[0] {
						t.Errorf("sent %s first and %s again", server.requests[0], request)
					}
				}
			})
		}
	}
}

func TestKeyedRedeemIsSentAgainWhereKeysAreHonoured(t *testing.T) {
	for name, trouble := range map[string]http.HandlerFunc{"cut": cut, "half an answer": half, "unavailable": status(503)} {
		t.Run(name, func(t *testing.T) {
			server := &troubled{keys: true, script: append(repeat(1, withKey(status(409))), repeat(3, trouble)...)}
			c := serve(t, server, (&patient{}).config)
			if c.HonoursKeys() {
				t.Error("honours keys before it has said anything")
			}
			_ = calls["keyed redeem"](t.Context(), c)
			if !c.HonoursKeys() {
				t.Error("a repeated key was not noticed")
			}
			if err := calls["keyed redeem"](t.Context(), c); err != nil || server.count() != 5 {
				t.Errorf("%d requests, want 5: %v", server.count(), err)
			}
		})
		t.Run(name+", without a key or of another kind", func(t *testing.T) {
			for _, kind := range []string{"redeem", "update", "delete"} {
				server := &troubled{script: append(repeat(1, withKey(status(200))), repeat(3, trouble)...)}
				c := serve(t, server, (&patient{}).config)
				_ = calls["keyed redeem"](t.Context(), c)
				if err := calls[kind](t.Context(), c); !client.OutcomeUnknown(err) || server.count() != 2 || !c.HonoursKeys() {
					t.Errorf("%s: %d requests, want 2: %v", kind, server.count(), err)
				}
			}
		})
	}
	for name, test := range map[string]struct {
		first   http.HandlerFunc
		honours bool
	}{
		"the trouble itself repeats the key": {withKey(status(503)), true},
		"half an answer repeats the key":     {withKey(half), true},
		"a replay":                           {status(503, "Idempotent-Replayed: true"), true},
		"another key":                        {status(503, "Idempotency-Key: other"), false},
		"no replay":                          {status(503, "Idempotent-Replayed: false"), false},
	} {
		server := &troubled{script: repeat(1, test.first)}
		c := serve(t, server, (&patient{}).config)
		err := calls["keyed redeem"](t.Context(), c)
		if (err == nil) != test.honours || c.HonoursKeys() != test.honours || server.count() != map[bool]int{true: 2, false: 1}[test.honours] {
			t.Errorf("%s: %d requests, honours %t: %v", name, server.count(), c.HonoursKeys(), err)
		}
	}
}

func TestLostAttemptStaysOpenUntilItsKeyIsLookedAt(t *testing.T) {
	learn := withKey(status(200))
	for name, test := range map[string]struct {
		script  []http.HandlerFunc
		unknown bool
	}{
		"put off for long, and the key not looked at": {[]http.HandlerFunc{learn, cut, status(429, "Retry-After: 7200")}, true},
		"not allowed any more":                        {[]http.HandlerFunc{learn, cut, status(403)}, true},
		"refused under the key":                       {[]http.HandlerFunc{learn, cut, withKey(status(422))}, false},
		"in conflict under the key":                   {[]http.HandlerFunc{learn, cut, withKey(status(409))}, true},
		"redeemed by another under the key":           {[]http.HandlerFunc{learn, cut, withKey(code(409, "already_redeemed"))}, false},
		"redeemed, and the key not looked at":         {[]http.HandlerFunc{learn, cut, code(409, "already_redeemed")}, true},
		"put off before anything was lost":            {[]http.HandlerFunc{learn, status(429), status(403)}, false},
		"lost after it was put off":                   {[]http.HandlerFunc{learn, status(429), cut, status(400)}, true},
	} {
		server := &troubled{script: test.script}
		c := serve(t, server, (&patient{}).config)
		_ = calls["keyed redeem"](t.Context(), c)
		err := calls["keyed redeem"](t.Context(), c)
		if err == nil || client.OutcomeUnknown(err) != test.unknown || server.count() != len(test.script) {
			t.Errorf("%s: %d requests, outcome unknown %t: %v", name, server.count(), client.OutcomeUnknown(err), err)
		}
	}
}

func TestLostAttemptStaysOpenWhenNoTokenCanBeHadForAnother(t *testing.T) {
	server := &troubled{script: []http.HandlerFunc{withKey(status(200)), cut, status(401)}}
	c := serve(t, server, (&patient{}).config, withTokens(&renewing{err: errors.New("not logged in")}))
	_ = calls["keyed redeem"](t.Context(), c)
	err := calls["keyed redeem"](t.Context(), c)
	if !client.OutcomeUnknown(err) || !strings.Contains(err.Error(), "not logged in") || server.count() != 3 {
		t.Errorf("%d requests: %v", server.count(), err)
	}
}

func TestReplayOfALostAttemptIsNone(t *testing.T) {
	replay := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Idempotent-Replayed", "true")
		reply(w, 200, map[string]string{"id": "p"})
	}
	for name, test := range map[string]struct {
		script []http.HandlerFunc
		want   bool
	}{
		"lost":    {[]http.HandlerFunc{withKey(half), replay}, false},
		"put off": {[]http.HandlerFunc{status(429), replay}, true},
	} {
		c := serve(t, &troubled{script: test.script}, (&patient{}).config)
		if _, got, err := c.Redeem(t.Context(), "p", api.RedeemRequest{UserID: "u"}, "k"); err != nil || got != test.want {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}
