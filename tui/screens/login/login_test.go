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
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/tuitest"
)

// scripted is Accounts that do what a test wants.
type scripted struct {
	profiles       []screen.Profile
	current        string
	kept           map[string]bool // the profiles with a stored secret
	broken         error           // of Profiles
	failure        error           // of Login
	reply          chan error      // Login waits for it, or for its context, if it is not nil
	ignoresContext bool
	started        chan screen.Profile
	finished       chan error
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

func (a *scripted) Login(
	ctx context.Context, profile screen.Profile, _ string, _ screen.AskName,
) (screen.Account, string, error) {
	if a.reply != nil {
		a.started <- profile
		var err error
		done := ctx.Done()
		if a.ignoresContext {
			done = nil
		}
		select {
		case <-done:
			err = ctx.Err()
		case err = <-a.reply:
		}
		a.finished <- err
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
	c, err := client.New(client.Config{BaseURL: p.APIURL, Sandbox: p.Sandbox, Transport: notFound{}})
	return screen.Account{Profile: p, Client: c}, err
}

// notFound answers every request with 404.
type notFound struct{}

func (notFound) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody, Request: req}, nil
}

var (
	work   = screen.Profile{Name: "work", APIURL: "https://perks.example/v2", ClientID: "acme"}
	trial  = screen.Profile{Name: "trial", APIURL: "https://perks.example/v2", ClientID: "acme-trial", Sandbox: true}
	office = screen.Profile{Name: "office", APIURL: "http://perks.internal:8080/v2", ClientID: "acme-office",
		InsecureHTTP: true}
)

func withAccounts(accounts screen.Accounts) func(*tui.Options) {
	return func(o *tui.Options) { o.Accounts = accounts }
}

// start starts the terminal UI with scripted accounts.
func start(t *testing.T, accounts *scripted) *tuitest.Driver {
	d := tuitest.StartWithHandler(t, http.NotFoundHandler(), withAccounts(accounts))
	d.Settle()
	return d
}

// enter fills in all fields, and leaves the focus on the last.
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

func TestStates(t *testing.T) {
	known := func(current string) *scripted {
		return &scripted{profiles: []screen.Profile{work, trial, office}, current: current}
	}
	atWork := []string{"default", "https://perks.example/v2", "acme", "s"}
	for name, test := range map[string]struct {
		accounts *scripted
		enters   []string // the fields
		flow     string
		says     []string // where the layout is that of another with a golden
	}{
		"first": {accounts: &scripted{}},
		"known": {accounts: known("trial"), says: []string{"SANDBOX Redemptions are only tests.",
			"> Secret ▏(not shown)", "ctrl+p chooses among 3 profiles."}},
		"empty": {accounts: &scripted{}, flow: "ctrl+s"},
		"http": {&scripted{}, []string{"default", "http://perks.example/v2", "acme", "s"}, "enter", []string{
			"! http sends the secret unencrypted. Use https, or allow http below.",
			"> Allow http (others can read the secret) [ no ]"}},
		"http allowed": {accounts: known("office"), says: []string{
			"Live Redemptions are real.", "Allow http (others can read the secret) [ yes ]"}},
		"refused": {&scripted{failure: &client.Error{
			Status: http.StatusUnauthorized, Code: api.CodeInvalidToken, Message: "Unknown client.",
		}}, atWork, "enter", []string{"> Secret ▏(not shown) ! The service did not accept this id and secret."}},
		"no such client": {&scripted{failure: &client.Error{
			Status: http.StatusNotFound, Message: "Unknown client.", CredentialsRefused: true,
		}}, atWork, "enter", []string{"! Unknown client. Check the id, the secret and the address."}},
		"failed": {&scripted{failure: errors.New("write the configuration: no space is left on the device")}, atWork,
			"enter", nil},
		"replacing": {known("work"), []string{"trial", "https://perks.example/v3", "somebody-else", "s"}, "", []string{
			"This replaces profile trial, which is acme-trial at https://perks.example/v2."}},
		"long": {&scripted{}, []string{
			strings.Repeat("a-very-long-name.", 5), "https://" + strings.Repeat("寿司.", 30) + "example/v2",
			"👩‍👩‍👧‍👦 مرحبا עולם", strings.Repeat("s", 300),
		}, strings.Repeat("shift+tab ", 6), nil}, // through every field
		"choosing": {accounts: known("trial"), flow: "ctrl+p"},
		"naming": {accounts: known("trial"), flow: `
			ctrl+p       => A new profile ...
			"new prof\n" => Its name
			"work\n"`, says: []string{"A new profile"}},
		"expired": {accounts: &scripted{profiles: []screen.Profile{trial}, current: "trial",
			kept: map[string]bool{"trial": true}}, flow: "expired:", says: []string{
			"logged out", "Your session has expired. Log in again; your text is kept.", "> Secret ▏(not shown)"}},
		"unreadable": {accounts: &scripted{
			broken: errors.New("config.yaml cannot be read: line 3: field profilse not found"),
		}, says: []string{"! Config.yaml cannot be read: line 3: field profilse not found."}},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, test.accounts)
			d.Commands = map[string]func(string){"expired": func(string) {
				d.Send(screen.Sent[int]{Err: &screen.NotLoggedIn{Message: "Not logged in."}})
			}}
			if e := test.enters; e != nil {
				enter(d, e[0], e[1], e[2], e[3])
			}
			d.Play(test.flow)
			d.Settle()
			d.Golden(name, name == "choosing", test.says...)
		})
	}
}

func TestExpiredSessionAsksOnlyForTheSecret(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{work, trial}, current: "trial",
		kept: map[string]bool{"trial": true}}
	d := start(t, accounts)
	top := login.New(d.App.Shell(), "Your session has expired. Log in again.")
	form := top.Form()
	if form.Focus() != "secret" || form.Value("profile") != "trial" || form.Value("api_url") != trial.APIURL ||
		form.Value("client_id") != trial.ClientID || form.Value("sandbox") != "yes" {
		t.Errorf("the form has %v, focus on %s", form.Values(), form.Focus())
	}
	if text := top.AccessibleText(); !strings.HasPrefix(text, "Your session has expired. Log in again.\nSandbox. ") {
		t.Errorf("accessible text:\n%s", text)
	}
}

func TestEverySizeFits(t *testing.T) {
	d := start(t, &scripted{profiles: []screen.Profile{work, office}, current: "office",
		failure: errors.New("everything failed, and the reason is a long sentence")})
	d.Type("s")
	d.Press("enter")
	d.Settle()
	d.EverySize()
}

func TestTypedTextRunsNoActions(t *testing.T) {
	d := start(t, &scripted{})
	for _, field := range []string{"profile", "api_url", "client_id", "secret"} {
		d.App.Top().Form().FocusOnName(field)
		d.Clear()
		d.TypesEverywhere()
	}
}

func TestSecondSubmitIsIgnoredAndLeavingCancelsTheFirst(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{work}, current: "work", reply: make(chan error),
		started: make(chan screen.Profile, 1), finished: make(chan error, 1)}
	d := start(t, accounts)
	d.Type("secret")
	d.Press("enter")
	if got := <-accounts.started; got != work {
		t.Errorf("logs in as %+v", got)
	}
	d.See("Logging in at https://perks.example/v2")
	d.Press("enter", "ctrl+s")
	if len(accounts.started) > 0 {
		t.Error("a second login started")
	}
	d.Press("esc")
	if err := <-accounts.finished; !errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled login returned %v", err)
	}
	d.See("Cancelled.")
	d.Press("enter")
	<-accounts.started
	top := d.App.Top().(*login.Screen)
	top.Close()
	if err := <-accounts.finished; !errors.Is(err, context.Canceled) {
		t.Errorf("the login of a closed screen returned %v", err)
	}
	d.Settle()
	if d.App.Top() != top {
		t.Error("a cancelled login logged in")
	}
}

func TestCancelledLoginHasNoEffect(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{work}, current: "work", ignoresContext: true,
		reply: make(chan error), started: make(chan screen.Profile, 1), finished: make(chan error, 1)}
	d := start(t, accounts)
	top := d.App.Top()
	d.Type("secret")
	d.Press("enter")
	<-accounts.started
	d.Press("esc")
	accounts.reply <- nil
	d.Settle()
	if d.App.Top() != top || !d.Shows("Cancelled.") {
		t.Errorf("a cancelled login logged in:\n%s", d.Screen())
	}
}

func TestHTTPSwitchIsShownOnlyForRemoteHosts(t *testing.T) {
	d := start(t, &scripted{})
	form := d.App.Top().Form()
	shown := func() bool { return form.Field("insecure_http").Name != "" }
	form.FocusOnName("api_url")
	for _, test := range []struct {
		typed string
		shown bool
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
		if shown() != test.shown || form.Focus() != "api_url" {
			t.Errorf("at %s the switch is shown: %t; focus on %s", form.Value("api_url"), shown(), form.Focus())
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
	if !shown() {
		t.Error("the switch is hidden for a prefix of localhost")
	}
}

func TestHTTPIsAllowedForOneAddress(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{office}, current: "office"}
	d := start(t, accounts)
	d.App.Top().Form().FocusOnName("api_url")
	d.Play(`
		form: insecure_http=yes
		"x"
		form: insecure_http=no
		backspace
		form: insecure_http=yes
		ctrl+u "http://192.0.2.2/v2"
		form: insecure_http=no
		down space up
		form: insecure_http=yes
		"/"
		form: insecure_http=yes
		"x"
		form: insecure_http=no`)
}

func TestLateErrorIsNotShownBesideANewAddress(t *testing.T) {
	accounts := &scripted{profiles: []screen.Profile{work}, current: "work", reply: make(chan error),
		started: make(chan screen.Profile, 1), finished: make(chan error, 1)}
	d := start(t, accounts)
	d.Type("secret")
	d.Press("enter")
	<-accounts.started
	d.App.Top().Form().FocusOnName("api_url")
	d.Type("x")
	accounts.reply <- &client.Unreachable{Address: work.APIURL, Err: errors.New("connection refused"), NotSent: true}
	d.See("! No reply from https://perks.example/v2: connection refused.")
	if problems := d.App.Top().Form().Problems("api_url"); len(problems) > 0 {
		t.Errorf("problems of another address: %q", problems)
	}
}

func TestCheckName(t *testing.T) {
	for name, right := range map[string]bool{"work": true, "a.b-c_9": true, "": false, "-x": false, "a/b": false,
		"..": false, "a b": false, strings.Repeat("a", 65): false} {
		if problem := login.CheckName(name); (problem == "") != right {
			t.Errorf("CheckName(%q) = %q", name, problem)
		}
	}
}
