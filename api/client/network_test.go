package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
)

func redeem(c *client.Client) error {
	_, _, err := c.Redeem(context.Background(), "p", api.RedeemRequest{UserID: "u"}, "key")
	return err
}

func wantUnreachable(t *testing.T, err error, outcomeUnknown bool) {
	t.Helper()
	var unreachable *client.Unreachable
	if !errors.As(err, &unreachable) {
		t.Fatalf("got %T: %v, want *client.Unreachable", err, err)
	}
	if unreachable.OutcomeUnknown != outcomeUnknown {
		t.Errorf("OutcomeUnknown is %t, want %t: %v", unreachable.OutcomeUnknown, outcomeUnknown, err)
	}
}

// hangUp answers the first request and keeps the connection. It reads each later request and closes the connection.
type hangUp struct{ requests atomic.Int32 }

func (h *hangUp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	if h.requests.Add(1) == 1 {
		reply(w, 200, []string{})
		return
	}
	connection, _, _ := w.(http.Hijacker).Hijack()
	connection.Close()
}

func TestChangeIsSentOnceWhenConnectionBreaks(t *testing.T) {
	server := &hangUp{}
	c := serve(t, server)
	if _, err := c.Categories(context.Background()); err != nil {
		t.Fatal(err)
	}
	wantUnreachable(t, redeem(c), true)
	if got := server.requests.Load(); got != 2 {
		t.Errorf("the server got %d requests, want 2: one read and one redeem", got)
	}
}

// TestLimitsOfARequest has no server that replies. What ran out of time is not tried again, whatever budget there is.
func TestLimitsOfARequest(t *testing.T) {
	var interrupt context.CancelFunc
	release := make(chan struct{})
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Method == http.MethodDelete {
			interrupt()
		}
		<-release
	}))
	defer server.Close()
	defer close(release)
	soon, tooLate := 20*time.Millisecond, context.DeadlineExceeded
	timeout := func(c *client.Config) { c.Timeout = soon }
	for name, test := range map[string]struct {
		bound func(*client.Config)
		call  string
		want  error
	}{
		"timeout":           {timeout, "redeem", tooLate},
		"timeout of a read": {timeout, "read", tooLate},
		"deadline":          {func(c *client.Config) { c.Deadline = time.Now().Add(soon) }, "redeem", tooLate},
		"interrupted":       {func(*client.Config) {}, "delete", context.Canceled},
	} {
		requests.Store(0)
		ctx, cancel := context.WithCancel(t.Context())
		interrupt = cancel
		c := dial(t, server.URL+"/v2", test.bound, func(c *client.Config) { c.WaitBudget = time.Second })
		err := calls[test.call](ctx, c)
		wantUnreachable(t, err, test.call != "read")
		if !errors.Is(err, test.want) || requests.Load() != 1 {
			t.Errorf("%s: %d requests: %v, want %v", name, requests.Load(), err, test.want)
		}
	}
}
