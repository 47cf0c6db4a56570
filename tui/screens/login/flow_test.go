package login_test

import (
	"strings"
	"testing"

	"example.com/perks/server/servertest"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/tuitest"
)

// atService starts a real service, and the terminal UI without profiles.
func atService(t *testing.T) (d *tuitest.Driver, accounts *tuitest.Accounts, server *servertest.Server) {
	server = servertest.Start(t)
	accounts = tuitest.NewAccounts(t, nil)
	d = tuitest.Start(t, server, func(o *tui.Options) { o.Accounts = accounts })
	d.Settle()
	return d, accounts, server
}

func isLogin(d *tuitest.Driver) bool {
	_, is := d.App.Top().(*login.Screen)
	return is
}

func TestFirstLogin(t *testing.T) {
	d, _, server := atService(t)
	id, secret := server.Client()
	d.See("Ask your operator for these.", "Profile", "default", "Address of the API", "Client id", "Sandbox", "Secret")
	d.Type(server.URL + "/\n")
	d.See("Live Redemptions are real.")
	d.Type(id + "\nwrong")
	if d.Shows("wrong") {
		t.Fatalf("the secret is shown:\n%s", d.Screen())
	}
	d.Press("enter")
	d.See("! The service did not accept this id and secret.")
	if form := d.App.Top().Form(); form.Focus() != "secret" || form.Value("secret") != "" {
		t.Errorf("focus on %s; the wrong secret is still there: %t", form.Focus(), form.Value("secret") != "")
	}
	d.Type(secret + "\n")
	d.Until("the list of perks", func() bool { return !isLogin(d) })
	d.See("Done: Logged in. The secret of default is kept by this test.")
	want := screen.Profile{Name: "default", APIURL: server.URL, ClientID: id}
	if got := d.App.Shell().Account; got.Profile != want || got.Client == nil {
		t.Errorf("logged in as %+v", got.Profile)
	}
}

func TestLoginToTheSandbox(t *testing.T) {
	d, _, server := atService(t)
	id, secret := server.Client()
	d.Type(server.URL + "\n" + id)
	d.Press("tab", "y")
	d.See("Space switches it.")
	d.Press(" ")
	d.See("SANDBOX Redemptions are only tests.")
	d.Type("\n" + secret + "\n")
	d.Until("the list of perks", func() bool { return !isLogin(d) })
	if !d.App.Shell().Account.Profile.Sandbox {
		t.Error("not in the sandbox")
	}
	d.See("● sandbox")
}

func TestAddressesWithoutAService(t *testing.T) {
	d, _, server := atService(t)
	id, secret := server.Client()
	d.Type(strings.TrimSuffix(server.URL, "/v2") + "/v9\n" + id + "\n" + secret + "\n")
	d.See("! No Perks API here (404). The address ends in /v2.")
	server.Stop()
	d.Press("ctrl+s")
	d.See("! No reply from "+strings.TrimSuffix(server.URL, "/v2")+"/v9: connection refused by ",
		"Is the server running, and is the port right?")
	if form := d.App.Top().Form(); form.Focus() != "api_url" || form.Value("secret") != secret {
		t.Errorf("focus on %s; the secret is kept: %t", form.Focus(), form.Value("secret") == secret)
	}
}

// TestAddressNeedsNoSchemeAndNoVersion logs in with what people have: a host and a port, or the address of the website.
func TestAddressNeedsNoSchemeAndNoVersion(t *testing.T) {
	for _, cut := range []func(string) string{
		func(url string) string { return strings.TrimSuffix(url, "/v2") },
		func(url string) string { return strings.TrimPrefix(url, "http://") },
		func(url string) string { return strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/v2") + "/" },
	} {
		d, _, server := atService(t)
		id, secret := server.Client()
		d.Type(cut(server.URL) + "\n" + id + "\nwrong\n")
		d.See("! The service did not accept this id and secret.")
		d.Type(secret + "\n")
		d.Until("the list of perks", func() bool { return !isLogin(d) })
		if got := d.App.Shell().Account.Profile.APIURL; got != server.URL {
			t.Errorf("after %s, the profile has %s", cut(server.URL), got)
		}
	}
}

func TestSwitchingProfiles(t *testing.T) {
	d, accounts, server := atService(t)
	id, secret := server.Client()
	other, otherSecret := server.Client()
	accounts.Add(screen.Profile{Name: "till", APIURL: server.URL, ClientID: id}, secret)
	accounts.Add(screen.Profile{Name: "trial", APIURL: server.URL, ClientID: other, Sandbox: true}, otherSecret)
	accounts.Add(screen.Profile{Name: "office", APIURL: server.URL, ClientID: other}, "")
	d.Send(screen.LoggedIn{Account: must(accounts.Connect("till"))})
	d.Settle()

	d.Press("L")
	d.See("Log in with which profile?", "till: "+id, "trial: "+other)
	d.Type("trial\n")
	d.Until("profile trial", func() bool { return d.App.Shell().Account.Profile.Name == "trial" })
	d.Settle()
	if isLogin(d) {
		t.Errorf("it asks for a stored secret:\n%s", d.Screen())
	}

	d.Press("L")
	d.See("Log in with which profile?")
	d.Type("office\n")
	d.See("No secret is stored for profile office: enter it.")
	if form := d.App.Top().Form(); form.Focus() != "secret" || form.Value("client_id") != other ||
		form.Value("sandbox") != "no" {
		t.Errorf("the form has %v, focus on %s", form.Values(), form.Focus())
	}
	d.Type(otherSecret + "\n")
	d.Until("profile office", func() bool { return d.App.Shell().Account.Profile.Name == "office" })
	d.Settle()

	d.Press("L")
	d.See("A new profile ...")
	d.Type("new prof\n")
	d.See("Its name")
	d.Type("till\n")
	d.See("! This profile exists already.")
	d.Type("-2\n")
	d.Settle()
	if form := d.App.Top().Form(); form.Value("profile") != "till-2" || form.Value("api_url") != server.URL ||
		form.Value("secret") != "" {
		t.Errorf("a new profile starts with %v", form.Values())
	}
	d.Press("esc")
	d.Until("the list of perks", func() bool { return !isLogin(d) })
}

func must(account screen.Account, err error) screen.Account {
	if err != nil {
		panic(err)
	}
	return account
}

func TestExpiredSessionIsResumedAfterLogin(t *testing.T) {
	d, accounts, server := atService(t)
	id, secret := server.Client()
	accounts.Add(screen.Profile{Name: "till", APIURL: server.URL, ClientID: id}, secret)
	d.Send(screen.LoggedIn{Account: must(accounts.Connect("till"))})
	d.Settle()
	below := d.App.Top()
	accounts.Expire()
	d.Send(screen.Sent[int]{Err: &screen.NotLoggedIn{Message: "Not logged in."}})
	d.See("Log in again; your text is kept.")
	if form := d.App.Top().Form(); form.Focus() != "secret" || form.Value("client_id") != id {
		t.Errorf("the form has %v, focus on %s", form.Values(), form.Focus())
	}
	d.Type(secret + "\n")
	d.Until("the screen below", func() bool { return !isLogin(d) })
	if d.App.Top() != below {
		t.Error("another screen is below")
	}
}
