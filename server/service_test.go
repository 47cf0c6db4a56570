package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/server"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
)

func TestRoutesMatchTheDescription(t *testing.T) {
	s := servertest.Start(t)
	var routes []string
	for _, route := range s.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if method == http.MethodHead || path == "/" || strings.HasPrefix(strings.TrimPrefix(path, "/v2"), "/docs") {
			continue // every GET has a HEAD, and the reference page and its redirects are not described
		}
		routes = append(routes, route)
	}
	described := servertest.Paths()
	slices.Sort(routes)
	slices.Sort(described)
	if diff := cmp.Diff(described, routes); diff != "" {
		t.Errorf("described (-) and served (+) differ:\n%s", diff)
	}
}

func TestDescriptionIsServedInBothNotations(t *testing.T) {
	s := servertest.Start(t)
	_, inYAML := s.Get("", s.URL+"/openapi.yaml")
	if !bytes.Equal(inYAML, api.OpenAPI()) {
		t.Error("openapi.yaml is not the embedded document")
	}
	var document struct {
		OpenAPI string
		Info    struct{ Version string }
		Paths   map[string]any
	}
	s.Do(s.Request("", "GET", s.URL+"/openapi.json", ""), &document)
	if document.Info.Version != "1.0.0" || len(document.Paths) == 0 {
		t.Errorf("openapi.json: %+v", document)
	}
}

func TestProbesAnswerWithoutAToken(t *testing.T) {
	s := servertest.Start(t, func(c *server.Config) { c.Version = "1.2.3" })
	for address, want := range map[string]string{
		s.URL + "/health":    `{"status":"ok","version":"1.2.3"}`,
		s.Root() + "/livez":  `{"status":"ok"}`,
		s.URL + "/livez":     `{"status":"ok"}`,
		s.URL + "/readyz":    `{"status":"ready"}`,
		s.Root() + "/readyz": `{"status":"ready"}`,
	} {
		response, body := s.Get("", address)
		if response.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != want {
			t.Errorf("%s: %d %s", address, response.StatusCode, body)
		}
	}
}

func TestValidRequestIDsOfCallersAreKept(t *testing.T) {
	s := servertest.Start(t)
	for given, kept := range map[string]bool{"abc-123": true, "": false, "a b": false,
		strings.Repeat("x", 200): false, s.Token()[:100]: false} {
		request := s.Request("", "GET", s.URL+"/health", "")
		request.Header.Set("X-Request-Id", given)
		response, _ := s.Send(request)
		got := response.Header.Get("X-Request-Id")
		if got == "" || (got == given) != kept {
			t.Errorf("X-Request-Id %q was returned as %q", given, got)
		}
	}
}

func TestATrailingSlashChangesNothing(t *testing.T) {
	s := fixture(t)
	owner, token := s.Caller()
	s.ImportProperties(owner, api.Property{ID: 1}, api.Property{ID: 2})
	for _, r := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v2/health/", "", 200}, {"GET", "/livez/", "", 200}, {"HEAD", "/v2/openapi.json/", "", 200},
		{"GET", "/v2/partners/perks/", "", 200}, {"GET", "/v2/partners/perks/?page=1", "", 200},
		{"GET", "/v2/partners/perks/categories/", "", 200},
		{"GET", "/v2/partners/perks/tea/", "", 200}, {"GET", "/v2/partners/perks/te%61/", "", 200},
		{"GET", "/v2/partners/perks/users/alice/", "", 200},
		{"POST", "/v2/partners/perks/tea/redeem/", `{"user_id":"alice"}`, 201},
		{"PATCH", "/v2/update-property/1/", `{"title":"A"}`, 200}, {"DELETE", "/v2/delete-property/2/", "", 200},
		{"PUT", "/v2/health/", "", 405},
		{"GET", "/.well-known/oauth-authorization-server/v2/", "", 200},
		{"GET", "/v2/get-property/", "", 404}, {"PATCH", "/v2/update-property/", `{}`, 404},
		{"DELETE", "/v2/delete-property/", "", 404},
		{"DELETE", "/v2/delete-property//", "", 404}, {"DELETE", "/v2/delete-property/1//", "", 404},
		{"GET", "/v2/get-property/1%2F", "", 404},
		{"POST", "/v2/partners/perks//redeem/", `{"user_id":"alice"}`, 404},
		{"GET", "/v2/partners/perks/users/", "", 404}, {"GET", "/v2/partners/perks//", "", 404},
		{"GET", "//", "", 404}, {"GET", "/v2/health//", "", 404},
	} {
		response, _ := raw(t, s.Request(token, r.method, s.Root()+r.path, r.body))
		if response.StatusCode != r.status {
			t.Errorf("%s %s: %s, want %d", r.method, r.path, response.Status, r.status)
		}
	}
	if got := s.Status(token, "GET", s.URL+"/get-property/1", ""); got != http.StatusOK {
		t.Errorf("property 1 is gone: %d", got)
	}
}

func TestBrowsersAreRedirectedToTheReferencePage(t *testing.T) {
	s := servertest.Start(t)
	for _, path := range []string{"/", "/docs", "/v2/docs", "/v2/docs/"} {
		response, body := raw(t, s.Request("", "GET", s.Root()+path, ""))
		location, err := response.Location() // relative to the requested address
		if err != nil || response.StatusCode != http.StatusPermanentRedirect || location.Path != "/docs/" ||
			strings.HasPrefix(response.Header.Get("Location"), "/") ||
			!strings.Contains(string(body), `"docs":"`) {
			t.Errorf("%s leads to %q: %v, %s", path, response.Header.Get("Location"), err, body)
		}
	}
}

func TestAByteOrderMarkBeforeJSONIsIgnored(t *testing.T) {
	s := fixture(t)
	owner, token := s.Caller()
	s.ImportProperties(owner, api.Property{ID: 1})
	for request, want := range map[*http.Request]int{
		redeemRequest(s, token, "tea", "\ufeff{\"user_id\":\"alice\"}", ""):                    201,
		s.Request(token, "PATCH", s.URL+"/update-property/1", "\ufeff{\"title\":\"A\"}"):       200,
		s.Request(token, "PATCH", s.URL+"/update-property/1", "\ufeff\ufeff{\"title\":\"A\"}"): 400,
		s.Request(token, "PATCH", s.URL+"/update-property/1", "{\"title\":\"A\"}\ufeff"):       400,
	} {
		if response, _ := raw(t, request); response.StatusCode != want {
			t.Errorf("%s %s: %s, want %d", request.Method, request.URL, response.Status, want)
		}
	}
}

// broken is a store that fails as each test needs; everything else is the real store's.
type broken struct {
	store.Store
	perk  func() error // nil is the real store's
	ready error
}

func (b broken) Ready(context.Context) error { return b.ready }
func (b broken) Perk(ctx context.Context, id string) (api.Perk, error) {
	if b.perk == nil {
		return b.Store.Perk(ctx, id)
	}
	return api.Perk{}, b.perk()
}

func TestInternalErrorsDoNotReachTheClient(t *testing.T) {
	const inside = "table perks at /var/lib/secret.db"
	for _, r := range []struct {
		name   string
		fail   func() error
		status int
		code   api.Code
	}{
		{"panic", func() error { panic(inside) }, 500, api.CodeInternal},
		{"unforeseen error", func() error { return errors.New(inside) }, 500, api.CodeInternal},
		{"database unavailable", func() error { return store.Unavailable(errors.New(inside)) }, 503,
			api.CodeUnavailable},
		{"too slow", func() error { return context.DeadlineExceeded }, 503, api.CodeUnavailable},
	} {
		t.Run(r.name, func(t *testing.T) {
			var logged bytes.Buffer
			s := servertest.Start(t, servertest.LogTo(&logged),
				func(c *server.Config) { c.Live = broken{Store: c.Live, perk: r.fail} })
			token := s.Token(api.ScopePerksRead)
			response, body := wantError(t, s, s.Request(token, "GET", s.LiveURL()+"/perks/tea", ""), r.status,
				problemType, r.code)
			if strings.Contains(fmt.Sprint(body), inside) {
				t.Errorf("the body is %+v", body)
			}
			if r.status == 503 && response.Header.Get("Retry-After") == "" {
				t.Error("503 without Retry-After")
			}
			if got := s.Status(token, "GET", s.LiveURL()+"/perks", ""); got != http.StatusOK {
				t.Errorf("the next request: %d", got)
			}
			s.Stop()
			if r.name != "too slow" && !strings.Contains(logged.String(), inside) {
				t.Errorf("the log lacks the cause:\n%s", logged.String())
			}
		})
	}
}

func TestADisconnectedClientIsNotLoggedAsAnError(t *testing.T) {
	var logged bytes.Buffer
	left := func() error { return store.Unavailable(context.Canceled) }
	s := servertest.Start(t, servertest.LogTo(&logged),
		func(c *server.Config) { c.Live = broken{Store: c.Live, perk: left} })
	s.Status(s.Token(api.ScopePerksRead), "GET", s.LiveURL()+"/perks/tea", "")
	s.Stop()
	if text := logged.String(); strings.Contains(text, "level=ERROR") || !strings.Contains(text, "status=503") {
		t.Errorf("the log is\n%s", text)
	}
}

func TestReadinessIsThatOfTheDatabase(t *testing.T) {
	unreadable := func() error { return store.NotStarted(errors.New("no connection")) }
	for db, statuses := range map[*broken]map[string]int{
		{ready: errors.New("read only")}: {
			"/readyz": http.StatusServiceUnavailable, "/readyz?for=writes": http.StatusServiceUnavailable,
			"/readyz?for=reads": http.StatusOK, "/livez": http.StatusOK,
			"/readyz?for=read": http.StatusUnprocessableEntity, "/readyz?for=": http.StatusUnprocessableEntity,
		},
		{perk: unreadable}: {"/readyz?for=reads": http.StatusServiceUnavailable},
	} {
		s := servertest.Start(t, func(c *server.Config) { db.Store, c.Live = c.Live, db })
		for path, want := range statuses {
			if got := s.Status("", "GET", s.Root()+path, ""); got != want {
				t.Errorf("%s: %d, want %d", path, got, want)
			}
		}
	}
}
