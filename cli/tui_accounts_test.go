package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui/screen"
)

// tuiFixture has its own configuration directory and environment.
type tuiFixture struct {
	t        *testing.T
	env      map[string]string
	messages bytes.Buffer
}

func newTUIFixture(t *testing.T) *tuiFixture {
	return &tuiFixture{t: t, env: map[string]string{session.EnvConfigDir: t.TempDir(), session.EnvKeyring: "off"}}
}

// accounts returns the accounts of perksctl tui with the flags.
func (d *tuiFixture) accounts(flags ...string) *accounts {
	d.t.Helper()
	s, _, _ := command.BufferedStreams("")
	command := session.New(s, func(name string) string { return d.env[name] }, "test")
	set := pflag.NewFlagSet("tui", pflag.ContinueOnError)
	command.Bind(set)
	if err := set.Parse(flags); err != nil {
		d.t.Fatal(err)
	}
	return &accounts{command, set.Changed("sandbox"), &d.messages}
}

func (d *tuiFixture) config() session.Config {
	d.t.Helper()
	c, err := session.ConfigFile(filepath.Join(d.env[session.EnvConfigDir], "config.yaml")).Load()
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func nobody(string) (string, error) { return "", nil }

// visiblePerk returns the perk that an account sees, which differs between live and the sandbox.
func visiblePerk(t *testing.T, account screen.Account) string {
	t.Helper()
	list, err := account.Client.Perks(t.Context(), api.PerkFilter{}, client.ListOptions{})
	if err != nil || len(list.Data) != 1 {
		t.Fatalf("listing the perks: %v, %v", list.Data, err)
	}
	return list.Data[0].ID
}

func newCatalogue(t *testing.T) (server *servertest.Server, id, secret string) {
	server = servertest.Start(t)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "real", Title: "Real"}})
	server.ImportSandboxPerks(store.PerkRecord{Perk: api.Perk{ID: "trial", Title: "Trial"}})
	id, secret = server.Client()
	return server, id, secret
}

func TestLoginIsSharedWithCommands(t *testing.T) {
	server, id, secret := newCatalogue(t)
	d := newTUIFixture(t)
	work := screen.Profile{Name: "work", APIURL: server.URL, ClientID: id}
	if _, err := d.accounts().Connect(""); !needsLogin(err) {
		t.Errorf("without any profile: %v", err)
	}
	account, note, err := d.accounts().Login(t.Context(), work, secret, nobody)
	if err != nil || account.Profile != work || visiblePerk(t, account) != "real" {
		t.Fatalf("%+v, %v", account.Profile, err)
	}
	if !strings.HasPrefix(note, "The secret is saved in the file ") {
		t.Errorf("the note is %q", note)
	}
	if _, note, err := d.accounts().Login(t.Context(), work, secret, nobody); note != "" || err != nil {
		t.Errorf("the second login says %q, %v", note, err)
	}
	if c := d.config(); c.Current != "work" || c.Profiles["work"] != (session.Profile{APIURL: server.URL,
		ClientID: id}) {
		t.Errorf("saved %+v", c)
	}
	for _, name := range []string{"", "work"} {
		account, err := d.accounts().Connect(name)
		if err != nil || account.Profile != work || visiblePerk(t, account) != "real" {
			t.Errorf("Connect(%q): %+v, %v", name, account.Profile, err)
		}
	}
	profiles, current, err := d.accounts().Profiles()
	if err != nil || current != "work" || len(profiles) != 1 || profiles[0] != work {
		t.Errorf("profiles: %+v, %s, %v", profiles, current, err)
	}
}

// TestANameIsAskedForWhereItCounts asks who sits at the client only if that may say so and nothing else does.
func TestANameIsAskedForWhereItCounts(t *testing.T) {
	server, plain, plainSecret := newCatalogue(t)
	desk, deskSecret := server.ClientWith(func(c *store.Client) { c.NamesActors = true })
	for name, test := range map[string]struct {
		isPlain      bool   // a client that may name nobody
		before, user string // of the profile, and at the operating system
		env          string // PERKSCTL_ACTOR
		answer       string
		offered      string // "" if nobody is asked
		saved        string
	}{
		"asked":              {user: "ann", answer: "Zoë", offered: "ann", saved: "Zoë"},
		"asked again":        {before: "bob", user: "ann", offered: "bob"},
		"not allowed":        {isPlain: true, user: "ann", answer: "Zoë"},
		"in the environment": {user: "ann", env: "eve", answer: "Zoë"},
		"invalid":            {user: " ann", answer: "Zoë", offered: "nothing", saved: "Zoë"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newTUIFixture(t)
			d.env["USER"], d.env[session.EnvActor] = test.user, test.env
			id, secret := desk, deskSecret
			if test.isPlain {
				id, secret = plain, plainSecret
			}
			profile := screen.Profile{Name: "till", APIURL: server.URL, ClientID: id, Actor: test.before}
			if test.before != "" {
				if _, _, err := d.accounts().Login(t.Context(), profile, secret, nil); err != nil {
					t.Fatal(err)
				}
				profile.Actor = ""
			}
			offered := ""
			account, _, err := d.accounts().Login(t.Context(), profile, secret, func(name string) (string, error) {
				offered = cmp.Or(name, "nothing")
				return test.answer, nil
			})
			saved := d.config().Profiles["till"].Actor
			if err != nil || offered != test.offered || saved != test.saved {
				t.Errorf("offered %q, saved %q, %v; want %q, %q", offered, saved, err, test.offered, test.saved)
			}
			if shown, want := account.Profile.Actor, cmp.Or(test.env, test.saved); shown != want {
				t.Errorf("the screen shows %q, want %q", shown, want)
			}
		})
	}
	d := newTUIFixture(t)
	cancelled := errors.New("cancelled")
	_, _, err := d.accounts().Login(t.Context(), screen.Profile{Name: "till", APIURL: server.URL, ClientID: desk},
		deskSecret, func(string) (string, error) { return "", cancelled })
	if c := d.config(); !errors.Is(err, cancelled) || len(c.Profiles) > 0 {
		t.Errorf("%v, and %+v is saved", err, c)
	}
}

func needsLogin(err error) bool {
	var missing *screen.NotLoggedIn
	return errors.As(err, &missing)
}

func TestMissingSecretNeedsLogin(t *testing.T) {
	server, id, secret := newCatalogue(t)
	d := newTUIFixture(t)
	work := screen.Profile{Name: "work", APIURL: server.URL, ClientID: id}
	if _, _, err := d.accounts().Login(t.Context(), work, secret, nobody); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(d.env[session.EnvConfigDir], "secrets.json")); err != nil {
		t.Fatal(err)
	}
	if account, err := d.accounts().Connect("work"); !needsLogin(err) || account.Profile != work ||
		account.Client != nil {
		t.Errorf("%+v, %v", account.Profile, err)
	}
}

func TestFailedLoginSavesNothing(t *testing.T) {
	server, id, secret := newCatalogue(t)
	var refused *client.Error
	var unreachable *client.Unreachable
	for name, test := range map[string]struct {
		profile screen.Profile
		secret  string
		is      func(error) bool
		text    string
	}{
		"a wrong secret": {screen.Profile{Name: "work", APIURL: server.URL, ClientID: id}, "wrong",
			func(err error) bool { return errors.As(err, &refused) && refused.Status == http.StatusUnauthorized }, ""},
		"a wrong path": {screen.Profile{Name: "work", APIURL: server.URL + "9", ClientID: id}, secret,
			func(err error) bool { return errors.As(err, &refused) && refused.Status == http.StatusNotFound },
			"It ends with the path of the version, such as /v2."},
		"unreachable": {screen.Profile{Name: "work", APIURL: "http://127.0.0.1:1/v2", ClientID: id}, secret,
			func(err error) bool { return errors.As(err, &unreachable) }, "No reply from http://127.0.0.1:1/v2"},
		"unencrypted": {screen.Profile{Name: "work", APIURL: "http://perks.example/v2", ClientID: id}, secret, nil,
			"unencrypted"},
		"a bad name": {screen.Profile{Name: "../work", APIURL: server.URL, ClientID: id}, secret, nil,
			"cannot name a profile"},
	} {
		d := newTUIFixture(t)
		account, _, err := d.accounts().Login(t.Context(), test.profile, test.secret, nobody)
		if err == nil || test.is != nil && !test.is(err) || !strings.Contains(err.Error(), test.text) ||
			account.Client != nil {
			t.Errorf("%s: %v", name, err)
		}
		if c := d.config(); len(c.Profiles) > 0 {
			t.Errorf("%s: saved %+v", name, c)
		}
	}
}

func TestLoginCanBeCancelled(t *testing.T) {
	server, id, secret := newCatalogue(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	d := newTUIFixture(t)
	_, _, err := d.accounts().Login(ctx, screen.Profile{Name: "work", APIURL: server.URL, ClientID: id}, secret, nobody)
	if !errors.Is(err, context.Canceled) || len(d.config().Profiles) > 0 {
		t.Errorf("%v; saved %+v", err, d.config())
	}
}

func TestEnvironmentNeedsNoLogin(t *testing.T) {
	server, id, secret := newCatalogue(t)
	other, otherSecret := server.Client()
	d := newTUIFixture(t)
	work := screen.Profile{Name: "work", APIURL: server.URL, ClientID: other}
	if _, _, err := d.accounts().Login(t.Context(), work, otherSecret, nobody); err != nil {
		t.Fatal(err)
	}
	d.env[session.EnvClientID], d.env[session.EnvClientSecret] = id, secret
	if account, err := d.accounts().Connect(""); err != nil || account.Profile.ClientID != id ||
		visiblePerk(t, account) != "real" {
		t.Errorf("the environment's client: %+v, %v", account.Profile, err)
	}
	d.env[session.EnvClientSecret], d.env[session.EnvToken] = "", "not a token"
	account, err := d.accounts().Connect("")
	if err != nil {
		t.Fatal(err)
	}
	var refused *client.Error
	if _, err := account.Client.Categories(t.Context()); !errors.As(err, &refused) ||
		refused.Status != http.StatusUnauthorized {
		t.Errorf("the environment's token is not used: %v", err)
	}
	if account, err := d.accounts().Connect("work"); err != nil || account.Profile != work ||
		visiblePerk(t, account) != "real" {
		t.Errorf("a selected profile: %+v, %v", account.Profile, err)
	}
	d.env[session.EnvProfile] = "elsewhere"
	if _, err := d.accounts().Connect(""); err == nil || !strings.Contains(err.Error(), `no profile "elsewhere"`) {
		t.Errorf("an unknown profile: %v", err)
	}
}

func TestSandboxFlagIsNotSaved(t *testing.T) {
	server, id, secret := newCatalogue(t)
	d := newTUIFixture(t)
	work := screen.Profile{Name: "work", APIURL: server.URL, ClientID: id}
	if _, _, err := d.accounts().Login(t.Context(), work, secret, nobody); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "work"} {
		account, err := d.accounts("--sandbox").Connect(name)
		if err != nil || !account.Profile.Sandbox || visiblePerk(t, account) != "trial" {
			t.Errorf("Connect(%q): %+v, %v", name, account.Profile, err)
		}
	}
	again := work
	again.Sandbox = true // as returned by Connect
	account, _, err := d.accounts("--sandbox").Login(t.Context(), again, secret, nobody)
	if err != nil || visiblePerk(t, account) != "trial" {
		t.Errorf("another login in the sandbox: %v", err)
	}
	if d.config().Profiles["work"].Sandbox {
		t.Error("--sandbox was saved in the profile")
	}
	if account, _, err = d.accounts().Login(t.Context(), again, secret, nobody); err != nil ||
		visiblePerk(t, account) != "trial" || !d.config().Profiles["work"].Sandbox {
		t.Errorf("the selected sandbox is not saved: %v", err)
	}
}

func TestSessionMessagesBecomeNotices(t *testing.T) {
	d := newTUIFixture(t)
	s := d.accounts().session(d.accounts().command.Env, nil)
	messages, texts := newNotices()
	s.Streams.Err = messages
	s.Streams.Note("The server asks to wait 3s (429).")
	s.Streams.Warn("The token \x1b[2Jcannot be kept.")
	for _, want := range []string{"The server asks to wait 3s (429).", "Warning: The token [2Jcannot be kept."} {
		if got := <-texts; got != want {
			t.Errorf("messages %q, want %q", got, want)
		}
	}
	for range 3 * maxNotices {
		s.Streams.Note("again")
	}
	if len(texts) != maxNotices {
		t.Errorf("%d queued messages, want the maximum", len(texts))
	}
}

func TestReadOnlyAndProtectedProfilesInTheTUI(t *testing.T) {
	server, id, secret := newCatalogue(t)
	server.ImportUsers("alice")
	d := newTUIFixture(t)
	profile := screen.Profile{Name: "prod", APIURL: server.URL, ClientID: id}
	redeem := func(account screen.Account, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		_, _, err = account.Client.Redeem(t.Context(), visiblePerk(t, account), api.RedeemRequest{UserID: "alice"}, "")
		return err
	}
	account, _, err := d.accounts().Login(t.Context(), profile, secret, nobody)
	if err := redeem(account, err); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		set   func(*session.Profile)
		flags []string
		want  string
	}{
		{func(p *session.Profile) { p.ReadOnly = true }, nil, "Profile prod is read-only, so nothing was sent."},
		{func(p *session.Profile) { p.ReadOnly, p.Protected = false, true }, nil,
			"Profile prod is protected, and there is no terminal to ask on."},
		{func(*session.Profile) {}, []string{"--confirm-profile=prod"}, `User "alice" has already redeemed`},
		{func(*session.Profile) {}, []string{"--sandbox"}, ""},
	} {
		_, err := session.ConfigFile(filepath.Join(d.env[session.EnvConfigDir], "config.yaml")).Update(t.Context(),
			func(c *session.Config) error {
				p := c.Profiles["prod"]
				test.set(&p)
				c.Profiles["prod"] = p
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
		account, err := d.accounts(test.flags...).Connect("prod")
		if got := d.config().Profiles["prod"].ReadOnly; account.Profile.ReadOnly != got {
			t.Errorf("read-only is shown as %t", !got)
		}
		if shown := account.Profile.Protected; shown == (account.Profile.ReadOnly || account.Profile.Sandbox) {
			t.Errorf("%v: protected is shown as %t", test.flags, shown)
		}
		if err := redeem(account, err); (err == nil) != (test.want == "") || err != nil &&
			!strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: %v, want %s", test.flags, err, test.want)
		}
		if asks := strings.Contains(test.want, "is protected"); asks != (account.Confirm != nil) {
			t.Fatalf("%v: asks for the name: %t", test.flags, !asks)
		}
		if account.Confirm == nil {
			continue
		}
		for typed, want := range map[string]string{"Prod": "is protected", "prod ": "has already redeemed"} {
			wrong := account.Confirm(typed)
			err := redeem(account, nil)
			if (wrong == nil) != (typed == "prod ") || !strings.Contains(err.Error(), want) {
				t.Errorf("after %q, %v: %v", typed, wrong, err)
			}
			account, _ = d.accounts(test.flags...).Connect("prod")
		}
	}
	before := d.config().Profiles["prod"]
	if _, _, err := d.accounts().Login(t.Context(), profile, secret, nobody); err != nil ||
		d.config().Profiles["prod"] != before {
		t.Errorf("a login changed the profile: %+v, %v", d.config().Profiles["prod"], err)
	}
}
