package client

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
)

// ErrDryRun is the error of every request that a DryRun records.
var ErrDryRun = errors.New("dry run: the request was not sent")

// DryRun is a Config.Transport for dry runs: it records each request instead of sending it, and fails with ErrDryRun.
type DryRun struct {
	mu       sync.Mutex
	requests []DryRequest
}

// DryRequest is a recorded request, with its secrets removed.
type DryRequest struct {
	Method  string            `json:"method"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Body    json.RawMessage   `json:"body"` // a JSON string when the body is not JSON; null without one
}

// RoundTrip records the request.
func (r *DryRun) RoundTrip(req *http.Request) (*http.Response, error) {
	recorded := DryRequest{Method: req.Method, URL: redactURL(req.URL), Headers: map[string]string{}}
	header := redactHeader(req.Header)
	for name := range header {
		recorded.Headers[name] = header.Get(name)
	}
	if req.Body != nil {
		defer req.Body.Close()
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return nil, err
		}
		if clean, _ := redactBody(req.Header.Get("Content-Type"), body); json.Valid(clean) {
			recorded.Body = clean
		} else if len(clean) > 0 {
			recorded.Body, _ = json.Marshal(string(clean)) // a string always marshals
		}
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, recorded)
	return nil, ErrDryRun
}

// Requests returns the recorded requests in order.
func (r *DryRun) Requests() []DryRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}
