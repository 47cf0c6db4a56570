package login_test

import (
	"strings"
	"testing"

	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/tuitest"
)

// session is the terminal UI without profiles, and a real service with two clients.
type session struct {
	*tuitest.Driver
	accounts                       *tuitest.Accounts
	server                         *servertest.Server
	id, secret, other, otherSecret string
	desk, deskSecret               string // may name who sits at it
}

func atService(t *testing.T) *session {
	s := &session{server: servertest.Start(t), accounts: tuitest.NewAccounts(t, nil)}
	s.id, s.secret = s.server.Client()
	s.other, s.otherSecret = s.server.Client()
	s.desk, s.deskSecret = s.server.ClientWith(func(c *store.Client) { c.NamesActors = true })
	s.Driver = tuitest.Start(t, s.server, func(o *tui.Options) { o.Accounts = s.accounts })
	s.Settle()
	below := s.App.Top()
	s.Commands = map[string]func(string){
		"profile": func(want string) {
			s.Until("profile "+want, func() bool { return !s.isLogin() && s.App.Shell().Account.Profile.Name == want })
			s.Settle()
		},
		"actor": func(want string) {
			if got := s.App.Shell().Account.Profile.Actor; got != want {
				t.Errorf("%q sits at the client, want %q", got, want)
			}
		},
		"address": func(want string) {
			if got := s.App.Shell().Account.Profile.APIURL; got != want {
				t.Errorf("the profile has %s, want %s", got, want)
			}
		},
		// of the first client; a trial and an office of the other, whose secret is not stored
		"profiles": func(string) {
			s.accounts.Add(screen.Profile{Name: "till", APIURL: s.server.URL, ClientID: s.id}, s.secret)
			s.accounts.Add(screen.Profile{Name: "trial", APIURL: s.server.URL, ClientID: s.other, Sandbox: true},
				s.otherSecret)
			s.accounts.Add(screen.Profile{Name: "office", APIURL: s.server.URL, ClientID: s.other}, "")
			account, err := s.accounts.Connect("till")
			if err != nil {
				t.Fatal(err)
			}
			s.Send(screen.LoggedIn{Account: account})
			s.Settle()
			below = s.App.Top()
		},
		"expired": func(string) {
			s.accounts.Expire()
			s.Send(screen.Sent[int]{Err: &screen.NotLoggedIn{Message: "Not logged in."}})
		},
		"below": func(string) { s.Until("the screen below", func() bool { return s.App.Top() == below }) },
		"stops": func(string) { s.server.Stop() },
	}
	return s
}

func (s *session) isLogin() bool {
	_, is := s.App.Top().(*login.Screen)
	return is
}

// flows are sessions of two clients, with $id and $secret, and with $other and $hidden, at $http$host/v2.
var flows = map[string]string{
	"first login": `
		                 => Ask your operator for these. | Profile | default | Address of the API | Client id
		                 => Sandbox | Secret
		"$http$host/v2/\n" => Live Redemptions are real.
		"$id\nwrong"     => ≠ wrong
		enter            => ! The service did not accept this id and secret.
		focus: secret
		form: secret=
		"$secret\n"      => Done: Logged in. The secret of default is kept by this test.
		profile: default
		address: $http$host/v2`,

	"login to the sandbox": `
		"$http$host/v2\n$id" tab "y" => Space switches it.
		space            => SANDBOX Redemptions are only tests.
		"\n$secret\n"    => ● sandbox
		profile: default`,

	"an address without a service": `
		"$http$host/v9\n$id\n$secret\n" => ! No Perks API here (404). The address ends in /v2.
		stops:
		ctrl+s           => ! No reply from $http$host/v9: connection refused by | and is the port right?
		focus: api_url
		form: secret=$secret`,

	// with what people have: a host and a port, or the address of the website

	"an address without the version": `
		"$http$host\n$id\nwrong\n" => ! The service did not accept this id and secret.
		"$secret\n"
		profile: default
		address: $http$host/v2`,

	"an address without a scheme": `
		"$host/v2\n$id\nwrong\n" => ! The service did not accept this id and secret.
		"$secret\n"
		profile: default
		address: $http$host/v2`,

	"an address of a host": `
		"$host/\n$id\nwrong\n" => ! The service did not accept this id and secret.
		"$secret\n"
		profile: default
		address: $http$host/v2`,

	"who sits at a shared client": `
		"$http$host/v2\n$desk\n$deskSecret\n" => Say who you are. | > Your name | tester
		focus: actor
		ctrl+u " ann\u200b" enter => ! Your name must not contain control characters
		ctrl+u "Zoë Ö." enter => Done: Logged in.
		profile: default
		actor: Zoë Ö.
		L                => Your name | Zoë Ö.
		form: actor=Zoë Ö. | secret=`,

	"nobody is named": `
		"$http$host/v2\n$desk\n$deskSecret\n" => Your name
		ctrl+u enter     => Done: Logged in.
		profile: default
		actor:`,

	"another client names nobody": `
		"$http$host/v2\n$desk\n$deskSecret\n" => Your name
		shift+tab shift+tab shift+tab ctrl+u "$id" => ≠ Your name
		tab tab ctrl+u "$secret\n" => Done: Logged in. | ≠ tester
		profile: default
		actor:`,

	"switching profiles": `
		profiles:
		L                => Log in with which profile? | till: $id | trial: $other
		"trial\n"
		profile: trial
		L                => Log in with which profile?
		"office\n"       => No secret is stored for profile office: enter it.
		focus: secret
		form: client_id=$other | sandbox=no
		"$hidden\n"
		profile: office
		L                => A new profile ...
		"new prof\n"     => Its name
		"till\n"         => ! This profile exists already.
		"-2\n" settle
		form: profile=till-2 | api_url=$http$host/v2 | secret=
		esc
		profile: office`,

	"an expired session is resumed after a login": `
		profiles:
		expired:         => Log in again; your text is kept.
		focus: secret
		form: client_id=$id
		"$secret\n"
		below:`,
}

func TestFlows(t *testing.T) {
	for name, flow := range flows {
		t.Run(name, func(t *testing.T) {
			s := atService(t)
			host := strings.TrimSuffix(strings.TrimPrefix(s.server.URL, "http://"), "/v2")
			s.Play(flow, "$id", s.id, "$secret", s.secret, "$other", s.other, "$hidden", s.otherSecret,
				"$http", "http://", "$host", host, "$deskSecret", s.deskSecret, "$desk", s.desk)
		})
	}
}
