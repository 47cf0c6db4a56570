package client_test

import (
	"context"
	"errors"
	"io"
	"net"
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

func TestOutcomeIsKnownAfterRefusedConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	c := dial(t, "http://"+address+"/v2")
	wantUnreachable(t, redeem(c), false)
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

func TestOutcomeIsUnknownAfterPartialResponse(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "100")
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"id":`)
	}))
	wantUnreachable(t, redeem(c), true)
	_, err := c.Perk(context.Background(), "p")
	wantUnreachable(t, err, false)
}

func TestTimeoutAndDeadline(t *testing.T) {
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-release }))
	defer server.Close()
	defer close(release)
	for name, bound := range map[string]func(*client.Config){
		"timeout":  func(c *client.Config) { c.Timeout = 20 * time.Millisecond },
		"deadline": func(c *client.Config) { c.Deadline = time.Now().Add(20 * time.Millisecond) },
	} {
		err := redeem(dial(t, server.URL+"/v2", bound))
		wantUnreachable(t, err, true)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want context.DeadlineExceeded", name, err)
		}
	}
}

func TestErrorWrapsCancellation(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		<-r.Context().Done()
	}))
	_, err := c.DeleteProperty(ctx, "1", "")
	wantUnreachable(t, err, true)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestEndlessResponseIsCutOff(t *testing.T) {
	c := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 1<<20)
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}))
	_, err := c.Perk(context.Background(), "p")
	var refused *client.Error
	if !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
