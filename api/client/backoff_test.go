package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"testing"
	"time"

	"example.com/perks/api/client"
)

func TestBackoffDoublesUntilBudgetIsSpent(t *testing.T) {
	server := &scriptedServer{script: repeat(100, status(503))}
	p := &fakeClock{}
	c := serve(t, server, p.config)
	_, err := c.Perk(t.Context(), "p")
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != 503 || refused.Message != "no" {
		t.Errorf("got %v", err)
	}
	ms := time.Millisecond
	want := []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 3200 * ms, 6400 * ms, 10000 * ms,
		10000 * ms, 10000 * ms, 10000 * ms, 7300 * ms}
	if got := p.lengths(); !slices.Equal(got, want) || server.count() != len(want)+1 {
		t.Errorf("waited %v, want %v", got, want)
	}
	if p.waits[0] != (client.Wait{For: 100 * ms, Why: "503 Service Unavailable"}) {
		t.Errorf("reported %+v", p.waits[0])
	}
}

func TestBackoffHasItsOwnBudget(t *testing.T) {
	p := &fakeClock{}
	script := slices.Concat(repeat(1, status(503, "Retry-After: 20")), repeat(9, status(503)))
	_, err := serve(t, &scriptedServer{script: script}, p.config,
		func(c *client.Config) { c.BackoffBudget = 500 * time.Millisecond }).Perk(t.Context(), "p")
	ms := time.Millisecond
	if got := p.lengths(); err == nil || !slices.Equal(got, []time.Duration{20000 * ms, 100 * ms, 200 * ms, 200 * ms}) {
		t.Errorf("waited %v: %v", got, err)
	}
}

func TestRetryAfterIsExactOrRefused(t *testing.T) {
	const date = "Date: Mon, 02 Mar 2026 10:00:00 GMT"
	s := time.Second
	for name, test := range map[string]struct {
		headers []string
		want    time.Duration // 0: the default backoff
		refused time.Duration // in the error if it does not retry; 0: it retries
	}{
		"seconds":              {[]string{"Retry-After: 17"}, 17 * s, 0},
		"whole budget":         {[]string{"Retry-After: 60"}, 60 * s, 0},
		"more than the budget": {[]string{"Retry-After: 61"}, 0, 61 * s},
		"more than an integer can hold": {[]string{"Retry-After: 99999999999999999999999"}, 0,
			100 * 365 * 24 * time.Hour},
		"more than a duration can hold": {[]string{"Retry-After: 9999999999999"}, 0, 100 * 365 * 24 * time.Hour},
		"a date, by the server's clock": {[]string{date, "Retry-After: Mon, 02 Mar 2026 10:00:05 GMT"}, 5 * s, 0},
		"an old date format":            {[]string{date, "Retry-After: Monday, 02-Mar-26 10:00:06 GMT"}, 6 * s, 0},
		"a date beyond the budget": {[]string{date, "Retry-After: Mon, 02 Mar 2026 12:00:00 GMT"}, 0,
			2 * time.Hour},
		"now":                 {[]string{"Retry-After: 0"}, 0, 0},
		"a date in the past":  {[]string{date, "Retry-After: Mon, 02 Mar 2026 09:00:00 GMT"}, 0, 0},
		"not a duration":      {[]string{"Retry-After: soon"}, 0, 0},
		"a negative duration": {[]string{"Retry-After: -5"}, 0, 0},
	} {
		p := &fakeClock{}
		server := &scriptedServer{script: repeat(1, status(429, test.headers...))}
		c := serve(t, server, p.config)
		err := calls["delete"](t.Context(), c)
		if test.refused > 0 {
			var refused *client.Error
			if !errors.As(err, &refused) || refused.RetryAfter != test.refused || len(p.waits) != 0 ||
				server.count() != 1 {
				t.Errorf("%s: waited %v, %+v", name, p.waits, refused)
			}
			continue
		}
		want := client.Wait{For: test.want, Requested: true, Why: "429 Too Many Requests"}
		if test.want == 0 {
			want.For, want.Requested = 100*time.Millisecond, false
		}
		if err != nil || !slices.Equal(p.waits, []client.Wait{want}) {
			t.Errorf("%s: waited %+v, want %+v: %v", name, p.waits, want, err)
		}
	}
}

func TestNoWaitBeyondDeadline(t *testing.T) {
	for name, bound := range map[string]func(context.Context, *client.Client) (*client.Client, context.Context){
		"of the client": func(ctx context.Context, c *client.Client) (*client.Client, context.Context) {
			return c.Until(time.Now().Add(10 * time.Second)), ctx
		},
		"of the caller": func(ctx context.Context, c *client.Client) (*client.Client, context.Context) {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			t.Cleanup(cancel)
			return c, ctx
		},
	} {
		p := &fakeClock{}
		server := &scriptedServer{script: repeat(1, status(429, "Retry-After: 30"))}
		c, ctx := bound(t.Context(), serve(t, server, p.config))
		if _, err := c.Perk(ctx, "p"); err == nil || len(p.waits) != 0 {
			t.Errorf("%s: waited %v, %v", name, p.waits, err)
		}
	}
}

func TestNoRetriesWithoutWaitBudget(t *testing.T) {
	for kind, call := range calls {
		server := &scriptedServer{script: repeat(9, status(429, "Retry-After: 1"))}
		c := serve(t, server)
		for range 2 {
			if err := call(t.Context(), c); err == nil {
				t.Errorf("%s succeeded", kind)
			}
		}
		if server.count() != 2 {
			t.Errorf("%s: %d requests, want 2", kind, server.count())
		}
	}
}

func TestThrottledRequestsShareTheWait(t *testing.T) {
	p := &fakeClock{}
	var c *client.Client
	server := &scriptedServer{script: repeat(1, status(429, "Retry-After: 50"))}
	c = serve(t, server, p.config, func(config *client.Config) {
		config.WaitBudget = 49 * time.Second
	})
	if err := calls["delete"](t.Context(), c); err == nil {
		t.Fatal("a wait beyond the budget succeeded")
	}
	p.now = p.now.Add(2 * time.Second)
	if err := calls["update"](t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := calls["update"](t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if want := []client.Wait{{For: 48 * time.Second, Requested: true,
		Why: "429 Too Many Requests"}}; !slices.Equal(p.waits, want) || server.count() != 3 {
		t.Errorf("waited %+v, want %+v; %d requests", p.waits, want, server.count())
	}
}

func TestSecondTokenSharesTheWaitBudget(t *testing.T) {
	p := &fakeClock{}
	server := &scriptedServer{script: []http.HandlerFunc{status(429, "Retry-After: 40"), status(401),
		status(429, "Retry-After: 40"), status(200)}}
	c := serve(t, server, p.config, withTokens(&renewingTokens{}))
	if err := calls["delete"](t.Context(), c); err == nil || server.count() != 3 || len(p.waits) != 1 {
		t.Errorf("%d requests, waited %v: %v", server.count(), p.waits, err)
	}
}

// TestInterruptEndsAWait interrupts the waits of a call by its own context, or by one for waits alone.
func TestInterruptEndsAWait(t *testing.T) {
	for kind, call := range calls {
		for _, onlyWaits := range []bool{false, true} {
			interrupted, interrupt := context.WithCancel(t.Context())
			server := &scriptedServer{}
			server.script = []http.HandlerFunc{server.normal, status(429, "Retry-After: 60")}
			c := serve(t, server, func(c *client.Config) {
				c.WaitBudget = time.Hour
				c.OnWait = func(client.Wait) { interrupt() }
			})
			ctx := interrupted
			if onlyWaits {
				ctx = client.WithWaitContext(t.Context(), interrupted)
			}
			if err := call(ctx, c); err != nil {
				t.Errorf("%s: %v", kind, err)
			}
			err := call(ctx, c)
			if !errors.Is(err, context.Canceled) || client.OutcomeUnknown(err) || server.count() != 2 {
				t.Errorf("%s: %d requests: %v", kind, server.count(), err)
			}
		}
	}
}
