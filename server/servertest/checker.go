package servertest

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// Checker is an http.RoundTripper that passes exchanges on and fails its test for each one that is not as described:
// an address, method, status, header, media type or body that the description does not have. It checks a request only
// if the server took it, and authorization never. It is safe for use by many goroutines.
type Checker struct {
	t        testing.TB
	next     http.RoundTripper
	contract *contract
}

// New makes a Checker over a transport; nil is http.DefaultTransport.
func NewChecker(t testing.TB, next http.RoundTripper) *Checker {
	if next == nil {
		next = http.DefaultTransport
	}
	return &Checker{t: t, next: next, contract: described()}
}

// RoundTrip sends the request and returns the response as it came. Both bodies are held in memory in between. A response
// that breaks off is returned unchecked.
func (c *Checker) RoundTrip(request *http.Request) (*http.Response, error) {
	sent, requestBody, err := keepBody(request)
	if err != nil {
		return nil, err
	}
	response, err := c.next.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err}))
		return response, nil
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	if err := c.contract.check(exchange{request, requestBody, response, body}); err != nil {
		c.t.Errorf("%s %s was answered with %d against the API description: %v", request.Method, request.URL.Path, response.StatusCode, err)
	}
	return response, nil
}

// keepBody returns a request that can be sent and the body that it will send.
func keepBody(request *http.Request) (*http.Request, []byte, error) {
	if request.Body == nil || request.Body == http.NoBody {
		return request, nil, nil
	}
	body, err := io.ReadAll(request.Body)
	request.Body.Close()
	if err != nil {
		return nil, nil, err
	}
	sent := request.Clone(request.Context())
	sent.Body = io.NopCloser(bytes.NewReader(body))
	return sent, body, nil
}

// broken is the end of a body that was cut off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }
