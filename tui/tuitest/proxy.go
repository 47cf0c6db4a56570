package tuitest

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
)

// Proxy forwards requests to a service, unless a test asks for something else. Set and Sent serve as the command
// "service" and as Received of scenarios.
type Proxy struct {
	URL string

	mu       sync.Mutex
	does, to string          // to requests with this method; "" to all
	changed  chan struct{}   // closed when it does something else
	changes  []string        // the method and body of each request that changes something
	lost     map[string]bool // the requests whose first reply was lost
}

// StartProxy starts a proxy. behind puts it before a server, and returns the {api_url}.
func StartProxy(t testing.TB, behind func(proxy func(next http.Handler) http.Handler) (api string)) *Proxy {
	d := &Proxy{changed: make(chan struct{}), lost: map[string]bool{}}
	d.URL = behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(next, w, r) })
	})
	t.Cleanup(func() { d.Set("works") }) // a failed test must not hold a request forever
	return d
}

func (d *Proxy) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	d.record(r)
	switch does, changed := d.doesTo(r); does {
	case "is late":
		select {
		case <-time.After(lateBy):
		case <-r.Context().Done():
			return
		}
	case "loses first replies":
		if !d.isFirst(r) {
			break
		}
		next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	case "is unavailable":
		refuse(w, http.StatusServiceUnavailable, api.CodeUnavailable)
		return
	case "is throttled":
		refuse(w, http.StatusTooManyRequests, api.CodeRateLimited)
		return
	case "loses replies", "dies":
		next.ServeHTTP(httptest.NewRecorder(), r)
		if does == "dies" {
			d.Set("drops")
		}
		panic(http.ErrAbortHandler)
	case "drops":
		panic(http.ErrAbortHandler)
	case "is another":
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	case "refuses":
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		w.Write([]byte(`{"response":"Some values are not valid.","code":"validation_failed",
			"errors":{"city":["is outside of our region"],"season":["is closed"]}}`))
		return
	case "keeps no history":
		if strings.Contains(r.URL.Path, "/properties/") || strings.HasSuffix(r.URL.Path, "/history") ||
			strings.HasSuffix(r.URL.Path, "/stock") {
			http.NotFound(w, r)
			return
		}
	case "has no ETags":
		reply := httptest.NewRecorder()
		next.ServeHTTP(reply, r)
		reply.Header().Del("ETag")
		maps.Copy(w.Header(), reply.Header())
		w.WriteHeader(reply.Code)
		w.Write(reply.Body.Bytes())
		return
	case "holds":
		<-changed
	}
	next.ServeHTTP(w, r)
}

// lateBy is how late replies are.
const lateBy = 300 * time.Millisecond

// isFirst tells whether such a request comes for the first time, with its idempotency key if it has one.
func (d *Proxy) isFirst(r *http.Request) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	request := r.Method + " " + r.URL.String() + " " + r.Header.Get("Idempotency-Key")
	defer func() { d.lost[request] = true }()
	return !d.lost[request]
}

func refuse(w http.ResponseWriter, status int, code api.Code) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.ErrorBody{Response: http.StatusText(status), Code: code})
}

// Set says what is done to requests, after a colon to those with which method: "drops: PATCH".
func (d *Proxy) Set(how string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.does, d.to, _ = strings.Cut(how, ": ")
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *Proxy) doesTo(r *http.Request) (does string, changed chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == "" || d.to == r.Method {
		does = d.does
	}
	return does, d.changed
}

func (d *Proxy) record(r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/restore") {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changes = append(d.changes, "POST restore")
	}
	isStock := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/stock")
	if r.Method != http.MethodPatch && r.Method != http.MethodDelete && !isStock {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, strings.TrimSpace(r.Method+" "+string(body)))
}

// Sent returns the changes so far.
func (d *Proxy) Sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.changes)
}
