package client

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"time"
)

// Cache keeps responses by keys that tell requests apart. It is used by many goroutines at once.
type Cache interface {
	Load(key string) (Kept, bool)
	Save(key string, response Kept)
}

// Kept is a response that a Cache keeps.
type Kept struct {
	At     time.Time   `json:"at"` // when the server sent it, or said that it is still current
	Header http.Header `json:"header"`
	Body   []byte      `json:"body"`
}

// Memory is a Cache that ends with the process.
type Memory struct{ kept sync.Map }

// Load returns what was saved under the key.
func (m *Memory) Load(key string) (Kept, bool) {
	found, ok := m.kept.Load(key)
	kept, _ := found.(Kept)
	return kept, ok
}

// Save replaces what was saved under the key.
func (m *Memory) Save(key string, response Kept) { m.kept.Store(key, response) }

// reuse answers a GET with a kept response while that is fresh, and later if the server says that it has not changed.
// It is above the token, which a fresh response does not need.
type reuse struct {
	next     http.RoundTripper
	cache    Cache
	freshFor time.Duration
	now      func() time.Time
}

func (r *reuse) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet || req.Header.Get("If-None-Match") != "" || req.Header.Get("Cache-Control") != "" {
		return r.next.RoundTrip(req)
	}
	key := keyOf(req)
	kept, known := r.cache.Load(key)
	if age := r.now().Sub(kept.At); known && age >= 0 && age < r.freshFor {
		return kept.answer(req), nil
	}
	if tag := kept.Header.Get("ETag"); tag != "" {
		req = req.Clone(req.Context())
		req.Header.Set("If-None-Match", tag)
	}
	res, err := r.next.RoundTrip(req)
	switch {
	case err != nil || stateOf(req.Context()).broken != nil:
		return res, err
	case res.StatusCode == http.StatusNotModified && known:
		kept.At = r.now()
		res = kept.answer(req)
	case res.StatusCode == http.StatusOK:
		kept = Kept{r.now(), res.Header, stateOf(req.Context()).reply}
	default:
		return res, nil
	}
	r.cache.Save(key, kept)
	return res, nil
}

// keyOf names the headers too, which may choose another response. The token is not among them.
func keyOf(req *http.Request) string {
	var key bytes.Buffer
	key.WriteString(req.URL.String() + "\n")
	_ = req.Header.Write(&key) // sorted; a buffer takes everything
	return key.String()
}

func (k Kept) answer(req *http.Request) *http.Response {
	stateOf(req.Context()).reply = k.Body
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: k.Header.Clone(), Body: io.NopCloser(bytes.NewReader(k.Body)), ContentLength: int64(len(k.Body)),
		Request: req,
	}
}
