package client

import (
	"net/http"
)

// sendOnce makes sure that a change goes out at most once, and that a failure says whether it may have gone out.
//
// net/http sends a request again by itself when a kept connection breaks, if it believes that this is harmless; a header
// named Idempotency-Key makes it believe so of a POST. Whether that is true depends on the server, so it must not decide.
type sendOnce struct{ next http.RoundTripper }

func (s *sendOnce) RoundTrip(req *http.Request) (*http.Response, error) {
	e := effortOf(req.Context())
	e.connected.Store(false)
	if !safe(req.Method) {
		req.GetBody = nil // net/http cannot send again what it cannot rewind; retry made the request for this attempt alone
	}
	res, err := s.next.RoundTrip(req)
	if err != nil {
		return nil, &wireError{err: err, sent: e.connected.Load()}
	}
	return res, nil
}

// wireError is a failure of the network. With sent, bytes of the request may have reached the server.
type wireError struct {
	err  error
	sent bool
}

func (w *wireError) Error() string { return w.err.Error() }
func (w *wireError) Unwrap() error { return w.err }
