package property_test

import (
	"context"
	"net/http"
	"strconv"
	"strings"
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
	proxy     *tuitest.Proxy
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
	o := &fixture{t: t, server: server, owner: owner, secret: secret, proxy: tuitest.StartProxy(t, behind(server)),
		accounts: tuitest.NewAccounts(t, nil)}
	o.accounts.Add(screen.Profile{Name: "test", APIURL: o.proxy.URL, ClientID: owner}, secret)
	colleague, err := client.New(client.Config{BaseURL: server.URL, Tokens: token(server.TokenFor(owner, secret))})
	if err != nil {
		t.Fatal(err)
	}
	o.colleague = colleague
	o.Driver = tuitest.Start(t, server, append([]func(*tui.Options){
		func(options *tui.Options) { options.Accounts = o.accounts }, tuitest.Route(screen.ToPerks{}),
	}, changes...)...)
	o.Commands, o.Received = o.commands(), o.proxy.Sent
	o.Open(screen.ToProperty{ID: id})
	o.Settle()
	return o
}

// behind puts a proxy before a server.
func behind(server *servertest.Server) func(func(http.Handler) http.Handler) string {
	return func(proxy func(http.Handler) http.Handler) string { return server.Behind(proxy).API() }
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
		"service": o.proxy.Set, // what the proxy does, and to requests with which method
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
