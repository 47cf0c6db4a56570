package tuitest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Proxy forwards requests to a service, unless a test asks for something else. Set and Sent serve as the command
// "service" and as Received of scenarios.
type Proxy struct {
	URL string

	mu       sync.Mutex
	does, to string        // to requests with this method; "" to all
	changed  chan struct{} // closed when it does something else
	changes  []string      // the method and body of each request that changes something
}

// StartProxy starts a proxy. behind puts it before a server, and returns the {api_url}.
func StartProxy(t testing.TB, behind func(proxy func(next http.Handler) http.Handler) (api string)) *Proxy {
	d := &Proxy{changed: make(chan struct{})}
	d.URL = behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(next, w, r) })
	})
	t.Cleanup(func() { d.Set("works") }) // a failed test must not hold a request forever
	return d
}

func (d *Proxy) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	d.record(r)
	switch does, changed := d.doesTo(r); does {
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
