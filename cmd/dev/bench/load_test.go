package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// counter is a server that records its requests.
type counter struct {
	mu   sync.Mutex
	seen []int
	then func(came int) // called with each request, when it is set
}

func (c *counter) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("n"))
	c.mu.Lock()
	c.seen = append(c.seen, n)
	came := len(c.seen)
	c.mu.Unlock()
	if c.then != nil {
		c.then(came)
	}
	w.WriteHeader(http.StatusCreated)
}

func serve(t *testing.T, c *counter) string {
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func numbered(buffer []byte, n int64) []byte {
	return fmt.Appendf(buffer, "GET /?n=%d HTTP/1.1\r\nHost: test\r\n\r\n", n)
}

func TestRunSendsEachRequestOnceAndWaitsForEveryResponse(t *testing.T) {
	c := &counter{}
	report, err := Run(t.Context(), Plan{
		Address: serve(t, c), Connections: 8, Warmup: 50, Count: 400, Status: http.StatusCreated, Request: numbered,
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := slices.Sorted(slices.Values(c.seen))
	for n := range 450 {
		if n >= len(seen) || seen[n] != n {
			t.Fatalf("request %d is missing or came twice, among %d", n, len(seen))
		}
	}
	if len(seen) != 450 || report.Responses != 450 || report.Measured != 400 || len(report.Latencies) != 400 {
		t.Errorf("%d requests came, and the report has %d responses, %d of them measured, and %d latencies",
			len(seen), report.Responses, report.Measured, len(report.Latencies))
	}
	if report.Rate() <= 0 || report.Elapsed < slices.Max(report.Latencies) {
		t.Errorf("%d requests took %s, and one of them %s", report.Measured, report.Elapsed,
			slices.Max(report.Latencies))
	}
}

func TestRunStopsAfterItsTime(t *testing.T) {
	c := &counter{}
	report, err := Run(t.Context(), Plan{
		Address: serve(t, c), Connections: 2, Time: 20 * time.Millisecond, Status: http.StatusCreated,
		Request: numbered,
	})
	if err != nil || report.Measured == 0 || report.Responses != int64(len(c.seen)) {
		t.Errorf("%d requests came, %d got a response: %v", len(c.seen), report.Responses, err)
	}
	if report.Elapsed < 20*time.Millisecond {
		t.Errorf("it stopped after %s", report.Elapsed)
	}
}

func TestRunFails(t *testing.T) {
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	stopping := &counter{then: func(came int) {
		if came == 10 {
			cancel(cause)
		}
	}}
	breaking := &counter{then: func(came int) {
		if came == 10 {
			panic(http.ErrAbortHandler)
		}
	}}
	tests := []struct {
		name    string
		ctx     context.Context
		address string
		status  int
		problem string
	}{
		{"when a response has another status", t.Context(), serve(t, &counter{}), http.StatusOK,
			"got status 201 instead of 200"},
		{"when a connection breaks", t.Context(), serve(t, breaking), http.StatusCreated, "unexpected EOF"},
		{"when nothing listens", t.Context(), "127.0.0.1:1", http.StatusCreated, "refused"},
		{"when the context is cancelled", ctx, serve(t, stopping), http.StatusCreated, "enough"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Run(test.ctx, Plan{Address: test.address, Connections: 4, Status: test.status, Request: numbered})
			if err == nil || !strings.Contains(err.Error(), test.problem) {
				t.Errorf("the error is %v, want one with %q", err, test.problem)
			}
		})
	}
}
