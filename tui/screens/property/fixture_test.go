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

// office is a property manager at the terminal UI, before a real service, with a door between the two that a test can hold
// shut.
type office struct {
	*tuitest.Driver
	t        *testing.T
	door     *door
	server   *servertest.Server
	accounts *tuitest.Accounts
	secret   string
	someone  *client.Client // the same partner's colleague, who goes by another door
}

func flat() api.Property {
	price, _ := api.ParsePrice("250.50")
	lat, lng := 53.8008, -1.5491
	return api.Property{
		ID: 42, Title: "Bright flat", Description: "Two rooms.\nA bath.\n\nA view.\n\n", Address: "1 Lane", City: "Leeds", Postcode: "LS1 4AP",
		Images: []string{"https://img.example/a,1.jpg", "https://img.example/2.jpg"}, PricePW: price,
		Bedrooms: 2, Bathrooms: 1, Lat: &lat, Lng: &lng, Deposit: 500,
	}
}

// begin opens a property, or the question for one with id 0.
func begin(t *testing.T, id int64, changes ...func(*tui.Options)) *office {
	server := servertest.Start(t)
	owner, secret := server.Client()
	server.ImportProperties(owner, flat())
	o := &office{t: t, server: server, secret: secret, door: openDoor(t, server), accounts: tuitest.NewAccounts(t, nil)}
	o.accounts.Add(screen.Profile{Name: "test", APIURL: o.door.url, ClientID: owner}, secret)
	someone, err := client.New(client.Config{BaseURL: server.URL, Tokens: token(server.TokenFor(owner, secret))})
	if err != nil {
		t.Fatal(err)
	}
	o.someone = someone
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

// stored is the property as the service has it.
func (o *office) stored() api.Property {
	o.t.Helper()
	p, _, err := o.someone.Property(o.t.Context(), 42)
	if err != nil {
		o.t.Fatal(err)
	}
	return p
}

// change is what somebody else does meanwhile.
func (o *office) change(patch api.PropertyPatch) {
	o.t.Helper()
	if _, err := o.someone.UpdateProperty(o.t.Context(), 42, patch, ""); err != nil {
		o.t.Fatal(err)
	}
}

// fill types a text into a field of the form, in place of what is there.
func (o *office) fill(field, text string) {
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

func (o *office) value(field string) string { return o.App.Top().Form().Value(field) }

// door passes requests on to the service. A rule of the test may answer in its place, or lose the answer.
type door struct {
	url string

	mu      sync.Mutex
	changes []string // the method and body of each change that came
	etags   bool
	weak    bool // as behind a proxy that compresses; set before the first request
	before  func(http.ResponseWriter, *http.Request) (answered bool)
	after   func(*http.Request) (lost bool)
}

func openDoor(t *testing.T, server *servertest.Server) *door {
	to, err := url.Parse(server.Root())
	if err != nil {
		t.Fatal(err)
	}
	d := &door{etags: true}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ErrorHandler = func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }
	proxy.ModifyResponse = func(res *http.Response) error {
		_, after, etags := d.rules()
		if !etags {
			res.Header.Del("ETag")
		}
		if etag := res.Header.Get("ETag"); d.weak && etag != "" {
			res.Header.Set("ETag", "W/"+etag)
		}
		if after != nil && after(res.Request) {
			panic(http.ErrAbortHandler)
		}
		return nil
	}
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.note(r)
		if before, _, _ := d.rules(); before == nil || !before(w, r) {
			proxy.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(outside.Close)
	d.url = outside.URL + "/v2"
	return d
}

func (d *door) note(r *http.Request) {
	if r.Method != http.MethodPatch && r.Method != http.MethodDelete {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, strings.TrimSpace(r.Method+" "+string(body)))
}

func (d *door) rules() (before func(http.ResponseWriter, *http.Request) bool, after func(*http.Request) bool, etags bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.before, d.after, d.etags
}

// sent is what has come through so far.
func (d *door) sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.changes)
}

// answers lets a function answer in the service's place; nil leaves it to the service.
func (d *door) answers(before func(http.ResponseWriter, *http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before = before
}

// loses lets a function say whose answers do not come back; nil loses none.
func (d *door) loses(after func(*http.Request) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.after = after
}

// shut lets nothing through, in either direction, until it is opened.
func (d *door) shut(closed bool) {
	if !closed {
		d.answers(nil)
		return
	}
	d.answers(func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) })
}

func isPatch(r *http.Request) bool  { return r.Method == http.MethodPatch }
func isDelete(r *http.Request) bool { return r.Method == http.MethodDelete }
