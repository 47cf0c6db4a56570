package property_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/server/servertest"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/tuitest"
)

// fixture is a terminal UI over a real service, with a proxy between the two that a test controls.
type fixture struct {
	*tuitest.Driver
	t         *testing.T
	proxy     *proxy
	server    *servertest.Server
	accounts  *tuitest.Accounts
	secret    string
	colleague *client.Client // of the same partner, without the proxy
}

func flat() api.Property {
	price, _ := api.ParsePrice("250.50")
	lat, lng := 53.8008, -1.5491
	return api.Property{
		ID: 42, Title: "Bright flat", Description: "Two rooms.\nA bath.\n\nA view.\n\n", Address: "1 Lane",
		City: "Leeds", Postcode: "LS1 4AP",
		Images: []string{"https://img.example/a,1.jpg", "https://img.example/2.jpg"}, PricePW: price,
		Bedrooms: 2, Bathrooms: 1, Lat: &lat, Lng: &lng, Deposit: 500,
	}
}

// start starts the terminal UI, and opens a property, or with id 0 the prompt for one.
func start(t *testing.T, id api.PropertyID, changes ...func(*tui.Options)) *fixture {
	server := servertest.Start(t)
	owner, secret := server.Client()
	server.ImportProperties(owner, flat())
	o := &fixture{t: t, server: server, secret: secret, proxy: startProxy(t, server),
		accounts: tuitest.NewAccounts(t, nil)}
	o.accounts.Add(screen.Profile{Name: "test", APIURL: o.proxy.url, ClientID: owner}, secret)
	colleague, err := client.New(client.Config{BaseURL: server.URL, Tokens: token(server.TokenFor(owner, secret))})
	if err != nil {
		t.Fatal(err)
	}
	o.colleague = colleague
	o.Driver = tuitest.Start(t, server, append([]func(*tui.Options){
		func(options *tui.Options) { options.Accounts = o.accounts }, tuitest.Route(screen.ToPerks{}),
	}, changes...)...)
	o.Open(screen.ToProperty{ID: id})
	o.Settle()
	return o
}

type token string

func (t token) Token(context.Context) (string, error)           { return string(t), nil }
func (t token) Replace(context.Context, string) (string, error) { return "", client.ErrNoOtherToken }

// stored returns the property as the service has it.
func (o *fixture) stored() api.Property {
	o.t.Helper()
	p, _, err := o.colleague.Property(o.t.Context(), "42")
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// change changes the property as somebody else.
func (o *fixture) change(patch api.PropertyPatch) {
	o.t.Helper()
	if _, err := o.colleague.UpdateProperty(o.t.Context(), "42", patch, ""); err != nil {
		o.t.Fatal(err)
	}
}

// fill replaces the text of a field of the form.
func (o *fixture) fill(field, text string) {
	o.t.Helper()
	form := o.App.Top().Form()
	if form == nil {
		o.t.Fatalf("no form is open:\n%s", o.Screen())
	}
	for range form.Names() {
		if form.Focus() == field {
			break
		}
		o.Press("tab")
	}
	o.Press("ctrl+end")
	o.Clear()
	o.Type(text)
}

func (o *fixture) value(field string) string { return o.App.Top().Form().Value(field) }

// proxy forwards requests to the service. A test may let it respond itself, or lose replies.
type proxy struct {
	url string

	mu      sync.Mutex
	changes []string // the method and body of each request that changes something
	etags   bool
	before  func(http.ResponseWriter, *http.Request) (handled bool)
	after   func(*http.Request) (lost bool)
}

func startProxy(t *testing.T, server *servertest.Server) *proxy {
	to, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	d := &proxy{etags: true}
	forward := httputil.NewSingleHostReverseProxy(to)
	forward.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	forward.ModifyResponse = func(res *http.Response) error {
		_, after, etags := d.hooks()
		if !etags {
			res.Header.Del("ETag")
		}
		if after != nil && after(res.Request) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.record(r)
		if before, _, _ := d.hooks(); before == nil || !before(w, r) {
			forward.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(listener.Close)
	d.url = listener.URL + "/v2"
	return d
}

func (d *proxy) record(r *http.Request) {
	if r.Method != http.MethodPatch && r.Method != http.MethodDelete {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, strings.TrimSpace(r.Method+" "+string(body)))
}

func (d *proxy) hooks() (before func(http.ResponseWriter, *http.Request) bool, after func(*http.Request) bool,
	etags bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.before, d.after, d.etags
}

// sent returns the changes so far.
func (d *proxy) sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.changes)
}

// respond lets a function respond instead of the service; nil forwards every request.
func (d *proxy) respond(before func(http.ResponseWriter, *http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// lose loses the replies to the requests that a function chooses; nil loses none.
func (d *proxy) lose(after func(*http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after = after
}

// setDown lets every request fail until it is called with false.
func (d *proxy) setDown(down bool) {
	if !down {
		d.respond(nil)
		return
	}
	d.respond(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
}

func isPatch(r *http.Request) bool  { return r.Method == http.MethodPatch }
func isDelete(r *http.Request) bool { return r.Method == http.MethodDelete }
