package client_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/client"
)

// closedPort returns an address where nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestAllCallsRetryUntilServerStarts(t *testing.T) {
	for kind, call := range calls {
		t.Run(kind, func(t *testing.T) {
			address := closedPort(t)
			server := &scriptedServer{}
			waits := 0
			c := dial(t, "http://"+address, (&fakeClock{}).config, func(c *client.Config) {
				c.OnWait = func(w client.Wait) {
					if w.Requested || !strings.Contains(w.Why, "connection refused") {
						t.Errorf("reported %+v", w)
					}
					if waits++; waits == 2 {
						start(t, address, server)
					}
				}
			})
			if err := call(t.Context(), c); err != nil || waits != 2 || server.count() != 1 {
				t.Errorf("%d waits, %d requests: %v", waits, server.count(), err)
			}
		})
	}
}

func start(t *testing.T, address string, handler http.Handler) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
}

func TestUnreachableReportsWhetherRequestWasSent(t *testing.T) {
	wantNotSent := func(name string, err error, want bool) {
		t.Helper()
		var unreachable *client.Unreachable
		if !errors.As(err, &unreachable) || unreachable.NotSent != want || unreachable.TimedOut() ||
			want && unreachable.OutcomeUnknown {
			t.Errorf("%s: %+v", name, err)
		}
	}
	for kind, call := range calls {
		wantNotSent("refused: "+kind, call(t.Context(), dial(t, "http://"+closedPort(t), (&fakeClock{}).config)), true)
		wantNotSent("connection closed: "+kind,
			call(t.Context(), serve(t, http.HandlerFunc(cut), (&fakeClock{}).config)), false)
	}
	gone := httptest.NewServer(nil)
	script := &scriptedServer{script: []http.HandlerFunc{withKey(status(200)), cut}}
	c := serve(t, script, (&fakeClock{}).config, func(c *client.Config) {
		c.Transport = &switchingTransport{after: 2, address: strings.TrimPrefix(gone.URL, "http://")}
	})
	gone.Close()
	_ = calls["keyed redeem"](t.Context(), c)
	err := calls["keyed redeem"](t.Context(), c)
	wantNotSent("lost, then refused", err, false)
	if !client.OutcomeUnknown(err) {
		t.Errorf("outcome not unknown after a lost attempt: %v", err)
	}
}

// switchingTransport sends requests to another address after the first few.
type switchingTransport struct {
	http.Transport
	after   int
	address string
}

func (v *switchingTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if v.after--; v.after < 0 {
		req = req.Clone(req.Context())
		req.URL.Host = v.address
	}
	v.DisableKeepAlives = true
	return v.Transport.RoundTrip(req)
}

func TestLaterAttemptHasTheRemainingTime(t *testing.T) {
	p := &fakeClock{}
	var left []time.Duration
	c := serve(t, status(503), p.config, func(c *client.Config) {
		c.Timeout, c.BackoffBudget = 30*time.Second, time.Millisecond
		next := c.Transport
		c.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			deadline, _ := req.Context().Deadline()
			left = append(left, time.Until(deadline).Round(time.Second))
			p.now = p.now.Add(20 * time.Second)
			return next.RoundTrip(req)
		})
	})
	if err := calls["read"](t.Context(), c); err == nil || len(left) != 2 || left[0] != 30*time.Second ||
		left[1] != 10*time.Second {
		t.Errorf("attempts had %v: %v", left, err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
