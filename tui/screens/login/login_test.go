package login_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/tuitest"
)

// scripted is Accounts that answer as a test wants.
type scripted struct {
	profiles []screen.Profile
	current  string
	kept     map[string]bool // the profiles whose secret is kept
	broken   error           // of Profiles
	failure  error           // of Login
	answer   chan error      // what Login waits for, if it is not nil; the end of its context ends the wait
	deaf     bool            // not even that does
	begun    chan screen.Profile
	ended    chan error
}

func (a *scripted) Profiles() ([]screen.Profile, string, error) {
	return a.profiles, a.current, a.broken
}

func (a *scripted) Connect(name string) (screen.Account, error) {
	for _, p := range a.profiles {
		if a.kept[p.Name] && (p.Name == name || name == "" && p.Name == a.current) {
			return account(p)
		}
	}
	return screen.Account{}, &screen.NotLoggedIn{Message: "Not logged in."}
}

func (a *scripted) Login(ctx context.Context, profile screen.Profile, _ string) (screen.Account, string, error) {
	if a.answer != nil {
		a.begun <- profile
		var err error
		given := ctx.Done()
		if a.deaf {
			given = nil
		}
		select {
		case <-given:
			err = ctx.Err()
		case err = <-a.answer:
		}
		a.ended <- err
		if err != nil {
			return screen.Account{}, "", err
		}
	}
	if a.failure != nil {
		return screen.Account{}, "", a.failure
	}
	made, err := account(profile)
	return made, "The secret is kept in the keyring.", err
}

func account(p screen.Profile) (screen.Account, error) {
	c, err := client.New(client.Config{BaseURL: p.APIURL, Sandbox: p.Sandbox, Transport: bare{}})
	return screen.Account{Profile: p, Client: c}, err
}

// bare answers every request as a service does that has nothing.
type bare struct{}

func (bare) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: req}, nil
}

var (
	shop  = screen.Profile{Name: "shop", APIURL: "https://perks.example/v2", ClientID: "acme"}
	trial = screen.Profile{Name: "trial", APIURL: "https://perks.example/v2", ClientID: "acme-trial", Sandbox: true}
	old   = screen.Profile{Name: "office", APIURL: "http://perks.internal:8080/v2", ClientID: "desk", InsecureHTTP: true}
)

func over(accounts screen.Accounts) func(*tui.Options) {
	return func(o *tui.Options) { o.Accounts = accounts }
}

// start shows the login as the first screen over scripted accounts.
func start(t *testing.T, accounts *scripted) *tuitest.Driver {
	d := tuitest.StartWithHandler(t, http.NotFoundHandler(), over(accounts))
	d.Settle()
	return d
}

// enter fills in all fields, and leaves the keyboard in the last.
func enter(d *tuitest.Driver, name, address, id, secret string) {
	form := d.App.Top().Form()
	for field, value := range map[string]string{"profile": name, "api_url": address, "client_id": id} {
		form.FocusOnName(field)
		d.Clear()
		d.Type(value)
	}
	form.FocusOnName("secret")
	d.Type(secret)
}

func TestStatesOfTheLogin(t *testing.T) {
	profiles := []screen.Profile{shop, trial, old}
	refused := &client.Error{Status: http.StatusUnauthorized, Code: api.CodeInvalidToken, Message: "Unknown client."}
	for name, test := range map[string]struct {
		accounts *scripted
		do       func(d *tuitest.Driver)
	}{
		"first": {&scripted{}, func(*tuitest.Driver) {}},
		"known": {&scripted{profiles: profiles, current: "trial"}, func(*tuitest.Driver) {}},
		"empty": {&scripted{}, func(d *tuitest.Driver) { d.Press("ctrl+s") }},
		"http": {&scripted{}, func(d *tuitest.Driver) {
			enter(d, "default", "http://perks.example/v2", "acme", "s")
			d.Press("enter")
		}},
		"http allowed": {&scripted{profiles: profiles, current: "office"}, func(*tuitest.Driver) {}},
		"refused": {&scripted{failure: refused}, func(d *tuitest.Driver) {
			enter(d, "default", "https://perks.example/v2", "acme", "wrong")
			d.Press("enter")
		}},
		"failed": {&scripted{failure: errors.New("write the configuration: no space is left on the device")}, func(d *tuitest.Driver) {
			enter(d, "default", "https://perks.example/v2", "acme", "s")
			d.Press("enter")
		}},
		"replacing": {&scripted{profiles: profiles, current: "shop"}, func(d *tuitest.Driver) {
			enter(d, "trial", "https://perks.example/v3", "somebody-else", "s")
		}},
		"long": {&scripted{}, func(d *tuitest.Driver) {
			enter(d, strings.Repeat("a-very-long-name.", 5), "https://"+strings.Repeat("寿司.", 30)+"example/v2", "👩‍👩‍👧‍👦 مرحبا עולם", strings.Repeat("s", 300))
			for range 6 { // around, past every field
				d.Press("shift+tab")
			}
		}},
		"choosing": {&scripted{profiles: profiles, current: "trial"}, func(d *tuitest.Driver) { d.Press("ctrl+p") }},
		"naming": {&scripted{profiles: profiles, current: "trial"}, func(d *tuitest.Driver) {
			d.Press("ctrl+p")
			d.See("A new profile ...")
			d.Type("new prof\n")
			d.See("Its name")
			d.Type("shop\n")
		}},
		"ended": {&scripted{profiles: profiles, current: "trial", kept: map[string]bool{"trial": true}}, func(d *tuitest.Driver) {
			d.Send(screen.Sent[int]{Err: &screen.NotLoggedIn{Message: "The session has ended."}})
		}},
		"unreadable": {&scripted{broken: errors.New("config.yaml cannot be read: line 3: field profilse not found")}, func(*tuitest.Driver) {}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.accounts)
			test.do(d)
			d.Settle()
			d.Golden(strings.ReplaceAll(name, " ", "-"), name == "choosing")
		})
	}
}

func TestAnEndedSessionAsksForTheSecretAlone(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{shop, trial}, current: "trial", kept: map[string]bool{"trial": true}}
	d := start(t, accounts)
	top := login.New(d.App.Shell(), "The session has ended. Log in again.")
	form := top.Form()
	if form.Focus() != "secret" || form.Value("profile") != "trial" || form.Value("api_url") != trial.APIURL || form.Value("client_id") != trial.ClientID || form.Value("sandbox") != "yes" {
		t.Errorf("the form has %v, the keyboard is in %s", form.Values(), form.Focus())
	}
	if text := top.AccessibleText(); !strings.HasPrefix(text, "The session has ended. Log in again.\nSandbox. ") {
		t.Errorf("it is said as:\n%s", text)
	}
}

func TestTheLoginFitsEverySize(t *testing.T) {
	d := start(t, &scripted{profiles: []screen.Profile{shop, old}, current: "office", failure: errors.New("all went wrong, and it takes a long sentence to say so")})
	d.Type("s")
	d.Press("enter")
	d.Settle()
	d.EverySize()
}

func TestWhileTypingNoKeyDoesAnythingElse(t *testing.T) {
	d := start(t, &scripted{})
	for _, field := range []string{"profile", "api_url", "client_id", "secret"} {
		d.App.Top().Form().FocusOnName(field)
		d.Clear()
		d.TypesEverywhere()
	}
}

func TestASecondSubmitIsIgnoredAndLeavingEndsTheFirst(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{shop}, current: "shop", answer: make(chan error), begun: make(chan screen.Profile, 1), ended: make(chan error, 1)}
	d := start(t, accounts)
	d.Type("secret")
	d.Press("enter")
	if got := <-accounts.begun; got != shop {
		t.Errorf("logs in as %+v", got)
	}
	d.See("Logging in at https://perks.example/v2")
	d.Press("enter", "ctrl+s")
	if cmd := d.App.Top().Do(actions.Submit); cmd != nil || len(accounts.begun) > 0 {
		t.Error("a second login began")
	}
	d.Press("esc")
	if err := <-accounts.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the login that was given up ended with %v", err)
	}
	d.See("Cancelled.")
	d.Press("enter")
	<-accounts.begun
	top := d.App.Top().(*login.Screen)
	top.Close()
	if err := <-accounts.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the login of a screen that was closed ended with %v", err)
	}
	d.Settle()
	if d.App.Top() != top {
		t.Error("a login that was given up has logged in")
	}
}

func TestALoginThatWasGivenUpIsNotHeardOfAgain(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{shop}, current: "shop", deaf: true, answer: make(chan error), begun: make(chan screen.Profile, 1), ended: make(chan error, 1)}
	d := start(t, accounts)
	top := d.App.Top()
	d.Type("secret")
	d.Press("enter")
	<-accounts.begun
	d.Press("esc")
	accounts.answer <- nil
	d.Settle()
	if d.App.Top() != top || !d.Shows("Cancelled.") {
		t.Errorf("it has logged in all the same:\n%s", d.Screen())
	}
}

func TestHTTPIsAskedAboutOnlyWhereItMatters(t *testing.T) {
	d := start(t, &scripted{})
	form := d.App.Top().Form()
	asked := func() bool { return form.Field("insecure_http").Name != "" }
	form.FocusOnName("api_url")
	for _, test := range []struct {
		typed string
		asked bool
	}{
		{"http://loc", false}, {"alhost:8080/v2", false},
		{"http://127.", false}, {"0.0.1/v2", false},
		{"http://[::1]:80/v2", false},
		{"https://perks.example/v2", false},
		{"http://perks.example/v2", true},
		{"http://localhost.example/v2", true},
	} {
		if strings.HasPrefix(test.typed, "http") {
			d.Clear()
		}
		d.Type(test.typed)
		if asked() != test.asked || form.Focus() != "api_url" {
			t.Errorf("at %s it is asked: %t; the keyboard is in %s", form.Value("api_url"), asked(), form.Focus())
		}
	}
	d.Press("down", " ")
	if form.Focus() != "insecure_http" || form.Value("insecure_http") != "yes" || len(form.Problems("api_url")) > 0 {
		t.Errorf("allowed, but %v", form.Problems("api_url"))
	}
	form.FocusOnName("api_url")
	d.Clear()
	d.Type("http://local")
	d.Press("ctrl+s")
	if !asked() {
		t.Error("a host that only looks like the beginning of localhost is let through")
	}
}

func TestHTTPIsAllowedForOneAddress(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{old}, current: "office"}
	d := start(t, accounts)
	form := d.App.Top().Form()
	allowed := func() string { return form.Value("insecure_http") }
	form.FocusOnName("api_url")
	steps := []string{allowed()}
	d.Type("x")
	steps = append(steps, allowed())
	d.Press("backspace")
	steps = append(steps, allowed())
	d.Clear()
	d.Type("http://192.0.2.2/v2")
	steps = append(steps, allowed())
	d.Press("down", " ", "up")
	steps = append(steps, allowed())
	d.Type("/")
	steps = append(steps, allowed())
	d.Type("x")
	steps = append(steps, allowed())
	if want := "yes no yes no yes yes no"; strings.Join(steps, " ") != want {
		t.Errorf("allowed: %q, want %s", steps, want)
	}
}

func TestAnErrorBesideTheAddressIsAboutThatAddress(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{shop}, current: "shop", answer: make(chan error), begun: make(chan screen.Profile, 1), ended: make(chan error, 1)}
	d := start(t, accounts)
	d.Type("secret")
	d.Press("enter")
	<-accounts.begun
	d.App.Top().Form().FocusOnName("api_url")
	d.Type("x")
	accounts.answer <- &client.Unreachable{Address: shop.APIURL, Err: errors.New("connection refused"), NotSent: true}
	d.See("! No answer from https://perks.example/v2: connection refused.")
	if problems := d.App.Top().Form().Problems("api_url"); len(problems) > 0 {
		t.Errorf("of another address it is said: %q", problems)
	}
}

func TestNamesOfProfiles(t *testing.T) {
	for name, right := range map[string]bool{"work": true, "a.b-c_9": true, "": false, "-x": false, "a/b": false, "..": false, "a b": false, strings.Repeat("a", 65): false} {
		if problem := login.CheckName(name); (problem == "") != right {
			t.Errorf("CheckName(%q) = %q", name, problem)
		}
	}
}
