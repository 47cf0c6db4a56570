package property_test

import (
	"bytes"
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
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
	owner     string // the id of the client
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

// start starts the terminal UI, and opens a property, or without an id the prompt for one.
func start(t *testing.T, id api.PropertyID, changes ...func(*tui.Options)) *fixture {
	server := servertest.Start(t)
	owner, secret := server.Client()
	server.ImportProperties(owner, flat())
	o := &fixture{t: t, server: server, owner: owner, secret: secret, proxy: startProxy(t, server),
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
	o.Commands, o.Received = o.commands(), o.proxy.sent
	o.Open(screen.ToProperty{ID: id})
	o.Settle()
	return o
}

type token string

func (t token) Token(context.Context) (string, error)           { return string(t), nil }
func (t token) Replace(context.Context, string) (string, error) { return "", client.ErrNoOtherToken }

// commands are what scenarios do beside the screen.
func (o *fixture) commands() map[string]func(argument string) {
	open := func(id string) {
		o.Open(screen.ToProperty{ID: api.PropertyID(id)})
		o.Settle()
	}
	return map[string]func(string){
		"service": o.proxy.set, // what the proxy does, and to requests with which method
		"fill":    o.fillIn,
		"others":  o.change,
		"deleted": func(string) {
			if _, err := o.colleague.DeleteProperty(o.t.Context(), "42", ""); err != nil {
				o.t.Fatal(err)
			}
		},
		"restored": func(string) {
			_, _, _, err := o.colleague.RestoreProperty(o.t.Context(), "42", api.PropertyRestore{}, "", "k")
			if err != nil {
				o.t.Fatal(err)
			}
		},
		"by another": func(object string) { // as the operator, who imports it
			p := flat()
			o.patch(object).Apply(&p)
			o.server.ImportProperties(o.owner, p)
		},
		"stored": func(want string) {
			stored, _, err := o.colleague.Property(o.t.Context(), "42")
			if err != nil {
				o.t.Fatal(err)
			}
			differing := api.PropertyChanges(stored, stored.With(o.patch(want))).Fields()
			if len(differing) > 0 {
				o.t.Errorf("stored %+v, want %s", stored, want)
			}
		},
		"draft": func(want string) { // the title of the saved draft
			if got := o.draft(); got != want {
				o.t.Errorf("the draft has the title %q, want %q", got, want)
			}
		},
		"open": open,
		"reopen": func(string) {
			o.Send(screen.Back{})
			o.Settle()
			open("42")
		},
		"expired": func(string) { o.accounts.Expire() },
		"secret": func(string) { // types it
			for form := o.App.Top().Form(); form.Focus() != "secret"; {
				o.Press("tab")
			}
			o.Type(o.secret + "\n")
		},
	}
}

func (o *fixture) patch(object string) api.PropertyPatch {
	o.t.Helper()
	members, err := api.ParseObject([]byte(object))
	if err != nil {
		o.t.Fatal(err)
	}
	patch, err := api.ParsePropertyPatch(members)
	if err != nil {
		o.t.Fatal(err)
	}
	return patch
}

// change changes the property as somebody else.
func (o *fixture) change(object string) {
	o.t.Helper()
	if _, err := o.colleague.UpdateProperty(o.t.Context(), "42", o.patch(object), ""); err != nil {
		o.t.Fatal(err)
	}
}

// fillIn replaces the text of a field of the form: "title Mine". A text with several lines is quoted.
func (o *fixture) fillIn(fieldAndText string) {
	field, text, _ := strings.Cut(fieldAndText, " ")
	for form := o.App.Top().Form(); form.Focus() != field; {
		o.Press("tab")
	}
	o.Press("ctrl+end")
	o.Clear()
	if lines, err := strconv.Unquote(text); err == nil {
		text = lines
	}
	o.Type(text)
}

func (o *fixture) value(field string) string { return o.App.Top().Form().Value(field) }

// draft returns the title of the saved draft.
func (o *fixture) draft() string { return o.Memory.Draft(screen.Profile{}, "property-42")["title"] }

// proxy forwards requests to the service, unless a test asks for something else.
type proxy struct {
	url string

	mu       sync.Mutex
	does, to string        // to requests with this method; "" to all
	changed  chan struct{} // closed when it does something else
	changes  []string      // the method and body of each request that changes something
}

func startProxy(t *testing.T, server *servertest.Server) *proxy {
	d := &proxy{changed: make(chan struct{})}
	d.url = server.Behind(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { d.serve(next, w, r) })
	}).URL
	t.Cleanup(func() { d.set("works") }) // a failed test must not hold a request forever
	return d
}

func (d *proxy) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	d.record(r)
	switch does, changed := d.doesTo(r); does {
	case "loses replies", "dies":
		next.ServeHTTP(httptest.NewRecorder(), r)
		if does == "dies" {
			d.set("drops")
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
		if strings.Contains(r.URL.Path, "/properties/") {
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

// set says what is done to requests, after a colon to those with which method: "drops: PATCH".
func (d *proxy) set(how string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.does, d.to, _ = strings.Cut(how, ": ")
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *proxy) doesTo(r *http.Request) (does string, changed chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.to == "" || d.to == r.Method {
		does = d.does
	}
	return does, d.changed
}

func (d *proxy) record(r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/restore") {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.changes = append(d.changes, "POST restore")
	}
	if r.Method != http.MethodPatch && r.Method != http.MethodDelete {
		return
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.changes = append(d.changes, strings.TrimSpace(r.Method+" "+string(body)))
}

// sent returns the changes so far.
func (d *proxy) sent() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.changes)
}
