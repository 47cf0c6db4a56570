// Package servertest starts the real server with a real database on loopback, checks every exchange with it against the
// OpenAPI description, and issues certificates. Only tests and cmd/dev import it.
package servertest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/store"
)

// Server is a running server. It stops when its test ends.
type Server struct {
	URL     string // {api_url}: http://127.0.0.1:PORT/v2
	Live    store.Store
	Sandbox store.Store

	t       testing.TB
	handler *server.Server
	http    *httptest.Server
	client  *http.Client
}

// Start runs a server with two new databases, of the kind that DatabaseAddress chooses. Each option may change its
// configuration before it starts.
func Start(t testing.TB, options ...func(*server.Config)) *Server {
	t.Helper()
	s := &Server{Live: OpenStore(t), Sandbox: OpenStore(t)}
	config := server.Config{Live: s.Live, Sandbox: s.Sandbox}
	for _, option := range options {
		option(&config)
	}
	var err error
	if s.handler, err = server.New(t.Context(), config); err != nil {
		t.Fatalf("starting the server: %v", err)
	}
	s.http = httptest.NewServer(s.handler)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	go func() { defer close(ended); s.handler.Run(ctx) }()
	t.Cleanup(func() { s.http.Close(); stop(); <-ended })
	s.URL = s.http.URL + "/v2"
	return s.With(t)
}

// With returns the same server for another test, as the inside of a fuzz target needs. Exchanges through Do and Send
// are checked against the API description, and faults fail that test.
func (s *Server) With(t testing.TB) *Server {
	with := *s
	with.t = t
	with.client = &http.Client{Transport: NewChecker(t, s.http.Client().Transport)}
	return &with
}

// Behind returns the server behind a proxy, which passes requests on to next, or does something else with them. A panic
// with http.ErrAbortHandler breaks the connection.
func (s *Server) Behind(proxy func(next http.Handler) http.Handler) *Server {
	front := httptest.NewServer(proxy(s.handler))
	s.t.Cleanup(front.Close)
	behind := *s
	behind.URL = front.URL + "/v2"
	return &behind
}

// Routes lists the server's routes, as server.Server.Routes does.
func (s *Server) Routes() []string { return s.handler.Routes() }

// API returns URL, for helpers that take any server.
func (s *Server) API() string { return s.URL }

// Root is the server's address without the path of the API.
func (s *Server) Root() string { return s.http.URL }

// Stop shuts the server down before the end of the test. Its address refuses connections from then on.
func (s *Server) Stop() { s.http.Close() }

// Client makes a client with the scopes, or with all if none is named, and returns its id and secret.
func (s *Server) Client(scopes ...api.Scope) (id, secret string) {
	s.t.Helper()
	return s.ClientWith(func(c *store.Client) {
		if len(scopes) > 0 {
			c.Scopes = scopes
		}
	})
}

// ClientWith makes a client with all scopes that change may alter.
func (s *Server) ClientWith(change func(*store.Client)) (id, secret string) {
	s.t.Helper()
	id, secret = "client-"+uuid.NewString()[:8], "secret+of%a:test="+uuid.NewString()
	client := store.Client{ID: id, Name: "A client of a test", Secret: server.HashSecret(secret),
		Scopes: api.AllScopes(), CreatedAt: time.Now()}
	change(&client)
	if err := s.Live.CreateClient(context.Background(), client, store.Operator); err != nil {
		s.t.Fatalf("creating a client: %v", err)
	}
	return client.ID, secret
}

// Token gets a token for a new client with the scopes.
func (s *Server) Token(scopes ...api.Scope) string {
	s.t.Helper()
	_, token := s.Caller(scopes...)
	return token
}

// Caller makes a client as Client does, and returns its id with a token.
func (s *Server) Caller(scopes ...api.Scope) (id, token string) {
	s.t.Helper()
	id, secret := s.Client(scopes...)
	return id, s.TokenFor(id, secret)
}

// TokenFor gets a token for the client.
func (s *Server) TokenFor(id, secret string) string {
	s.t.Helper()
	request := s.Request("", http.MethodPost, s.URL+"/auth/token", "")
	request.SetBasicAuth(id, secret)
	var token api.Token
	if status := s.Do(request, &token); status != http.StatusOK {
		s.t.Fatalf("getting a token: status %d", status)
	}
	return token.AccessToken
}

// ImportPerks imports perks into the live store, with defaults for title, description, city and approval.
func (s *Server) ImportPerks(perks ...store.PerkRecord) { s.importPerks(s.Live, perks) }

// ImportSandboxPerks imports perks into the sandbox.
func (s *Server) ImportSandboxPerks(perks ...store.PerkRecord) { s.importPerks(s.Sandbox, perks) }

func (s *Server) importPerks(into store.Store, perks []store.PerkRecord) {
	s.t.Helper()
	for i := range perks {
		p := &perks[i]
		p.Title = cmp.Or(p.Title, "Perk "+p.ID)
		p.Description = cmp.Or(p.Description, "A perk of a test.")
		p.City = cmp.Or(p.City, "Berlin")
		p.Approval = cmp.Or(p.Approval, store.ApprovalAuto)
	}
	if _, err := into.ImportPerks(context.Background(), Rows(perks), uuid.NewString, store.Operator,
		time.Now()); err != nil {
		s.t.Fatalf("importing perks: %v", err)
	}
}

// ImportUsers imports users into the live store and the sandbox.
func (s *Server) ImportUsers(ids ...string) {
	s.t.Helper()
	users := make([]store.User, len(ids))
	for i, id := range ids {
		users[i].ID = id
	}
	for _, into := range []store.Store{s.Live, s.Sandbox} {
		if _, err := into.ImportUsers(context.Background(), Rows(users), store.Operator, time.Now()); err != nil {
			s.t.Fatalf("importing users: %v", err)
		}
	}
}

// ImportProperties imports properties into the live store for their owner.
func (s *Server) ImportProperties(owner string, properties ...api.Property) {
	s.t.Helper()
	records := make([]store.PropertyRecord, len(properties))
	for i, p := range properties {
		p.Images = slices.Clone(p.Images)
		p.Title = cmp.Or(p.Title, fmt.Sprintf("Property %d", p.ID))
		records[i] = store.PropertyRecord{Property: p, Owner: owner}
	}
	if _, err := s.Live.ImportProperties(context.Background(), Rows(records), store.Operator, time.Now()); err != nil {
		s.t.Fatalf("importing properties: %v", err)
	}
}

// Rows is a sequence for the store's imports that never fails.
func Rows[T any](records []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, record := range records {
			if !yield(record, nil) {
				return
			}
		}
	}
}

// Clock is a clock that stands still until it is set forward.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock makes a clock that shows the instant.
func NewClock(at time.Time) *Clock { return &Clock{now: at} }

// Now returns the instant that the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance sets the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// WithClock makes the server use the clock.
func WithClock(clock *Clock) func(*server.Config) {
	return func(config *server.Config) { config.Now = clock.Now }
}

// LiveURL is {base_url}, the base of the perk endpoints.
func (s *Server) LiveURL() string { return s.URL + "/partners" }

// SandboxURL is {sandbox_base_url}.
func (s *Server) SandboxURL() string { return s.URL + "/sandbox/partners" }

// Request makes a request with the token; a body that is not "" is sent as JSON.
func (s *Server) Request(token, method, url, body string) *http.Request {
	s.t.Helper()
	request, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	return request
}

// LogTo makes the server log everything, at every level, as text.
func LogTo(w io.Writer) func(*server.Config) {
	return func(config *server.Config) {
		config.Logger = slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
}

// Do sends a request and decodes a JSON answer into a pointer unless it is nil. It returns the status.
func (s *Server) Do(request *http.Request, into any) int {
	s.t.Helper()
	response, body := s.Send(request)
	if into != nil {
		if err := json.Unmarshal(body, into); err != nil {
			s.t.Fatalf("%s %s answered %d with %q: %v", request.Method, request.URL, response.StatusCode, body, err)
		}
	}
	return response.StatusCode
}

// Send sends a request and returns the response with its whole body.
func (s *Server) Send(request *http.Request) (*http.Response, []byte) {
	s.t.Helper()
	response, err := s.client.Do(request)
	if err != nil {
		s.t.Fatalf("%s %s: %v", request.Method, request.URL, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatalf("%s %s: reading the answer: %v", request.Method, request.URL, err)
	}
	return response, body
}

// Get sends a GET request with the token and returns the response with its whole body.
func (s *Server) Get(token, address string) (*http.Response, []byte) {
	s.t.Helper()
	return s.Send(s.Request(token, http.MethodGet, address, ""))
}

// Status sends a request with the token and returns the status.
func (s *Server) Status(token, method, address, body string) int {
	s.t.Helper()
	return s.Do(s.Request(token, method, address, body), nil)
}

// Read gets what is at an address, which must be there.
func Read[T any](s *Server, token, address string) (record T, response *http.Response) {
	s.t.Helper()
	response, body := s.Get(token, address)
	if err := json.Unmarshal(body, &record); err != nil || response.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s answered %d with %q: %v", address, response.StatusCode, body, err)
	}
	return record, response
}
