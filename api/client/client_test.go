package client_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
)

// serve starts a server under /v2 and returns a client of it. change may adjust the client's config.
func serve(t *testing.T, handler http.Handler, change ...func(*client.Config)) *client.Client {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/v2", handler))
	t.Cleanup(server.Close)
	return dial(t, server.URL+"/v2", change...)
}

func dial(t *testing.T, baseURL string, change ...func(*client.Config)) *client.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	config := client.Config{BaseURL: baseURL, Tokens: client.StaticToken("good"), Transport: transport}
	for _, f := range change {
		f(&config)
	}
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// tracing has a client write its trace.
func tracing(to *bytes.Buffer) func(*client.Config) { return func(c *client.Config) { c.Trace = to } }

func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// seen is a request that a server received.
type seen struct {
	Method, URI, Body string
	Header            http.Header
}

// recorder records every request and replies to each with the same JSON.
type recorder struct {
	mu     sync.Mutex
	seen   []seen
	status int
	header map[string]string
	body   string
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.seen = append(r.seen, seen{req.Method, req.URL.RequestURI(), string(body), req.Header.Clone()})
	r.mu.Unlock()
	for name, value := range r.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(max(r.status, 200))
	_, _ = io.WriteString(w, r.body)
}

func (r *recorder) only(t *testing.T) seen {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.seen) != 1 {
		t.Fatalf("the server got %d requests, want 1: %+v", len(r.seen), r.seen)
	}
	return r.seen[0]
}

func TestParseBaseURL(t *testing.T) {
	for address, want := range map[string]string{
		"https://perks.example/v2":   "https://perks.example/v2",
		"https://perks.example/v2//": "https://perks.example/v2",
		"http://127.0.0.1:8080/v2":   "http://127.0.0.1:8080/v2",
		"perks.example/v2":           "",
		"ftp://perks.example":        "",
		"https://":                   "",
		"https://a:b@perks.example":  "",
		"https://perks.example/v2?x": "",
		"https://perks.example/#top": "",
		"":                           "",
	} {
		base, err := client.ParseBaseURL(address)
		if got := fmt.Sprint(base); (err == nil) != (want != "") || (err == nil && got != want) {
			t.Errorf("ParseBaseURL(%q) = %v, %v; want %q", address, base, err, want)
		}
	}
}

// Requests made over TLS must never be repeated over plain HTTP, even to the same computer.
func TestRedirectsStayOnTLS(t *testing.T) {
	open := &recorder{body: `{"id":"p"}`}
	plain := httptest.NewServer(open)
	defer plain.Close()
	authority := servertest.NewAuthority(t, "Our own")
	for name, target := range map[string]string{
		"to another port":  plain.URL + "/v2/partners/perks/p",
		"to the same port": "", // filled in below
	} {
		var asked []string
		server := httptest.NewUnstartedServer(nil)
		server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked = append(asked, r.URL.Path)
			if target == "" {
				target = "http://" + r.Host + r.URL.Path
			}
			http.Redirect(w, r, target, http.StatusFound)
		})
		server.TLS = &tls.Config{Certificates: []tls.Certificate{authority.Issue().Pair(t)}}
		server.StartTLS()
		c := dial(t, server.URL+"/v2", func(c *client.Config) { c.Transport, c.Roots = nil, authority.Roots() })
		_, err := c.Perk(t.Context(), "p")
		var refused *client.Error
		if !errors.As(err, &refused) || refused.Status != http.StatusFound || len(asked) != 1 || len(open.seen) != 0 {
			t.Errorf("%s: %v; over TLS %v, in plain text %+v", name, err, asked, open.seen)
		}
		server.Close()
	}
}

func TestRedirectsStayOnTheServer(t *testing.T) {
	other := &recorder{body: `{"id":"p"}`}
	elsewhere := httptest.NewServer(other)
	defer elsewhere.Close()
	mux := http.NewServeMux()
	mux.HandleFunc("/partners/perks/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/steal", http.StatusFound)
	})
	mux.HandleFunc("/partners/perks/old", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v2/partners/perks/new", http.StatusMovedPermanently)
	})
	mux.HandleFunc("/partners/perks/new", func(w http.ResponseWriter, r *http.Request) {
		reply(w, 200, map[string]string{"id": "new", "title": r.Header.Get("Authorization")})
	})
	mux.HandleFunc("/delete-property/1", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/v2/delete-property/2", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/delete-property/2", func(w http.ResponseWriter, r *http.Request) {
		t.Error("a change followed a redirect")
	})
	c := serve(t, mux)

	perk, err := c.Perk(context.Background(), "old")
	if err != nil || perk.ID != "new" || perk.Title != "Bearer good" {
		t.Errorf("within the server: %+v, %v", perk, err)
	}
	if _, err := c.Perk(context.Background(), "moved"); err == nil {
		t.Error("a redirect to another server was followed")
	}
	if len(other.seen) != 0 {
		t.Errorf("the other server received %+v", other.seen)
	}
	if _, err := c.DeleteProperty(context.Background(), "1", ""); err == nil {
		t.Error("a redirected change succeeded")
	}
}
