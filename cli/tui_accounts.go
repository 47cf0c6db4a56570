package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/screen"
)

// How long a request waits between its attempts: briefly, because the screen shows when the service is unreachable and
// when it is back.
const (
	waitBudget    = 10 * time.Second
	backoffBudget = 2 * time.Second
)

// accounts implements screen.Accounts with the profiles, secrets and tokens that all commands share. Each connection
// has a session of its own, as each command has.
type accounts struct {
	command      *session.Session // of the tui command itself
	sandboxGiven bool             // --sandbox overrides the profiles
	messages     io.Writer        // gets notes and warnings, a line each
}

// Profiles returns the profiles of the configuration, and the name of the current one.
func (a *accounts) Profiles() ([]screen.Profile, string, error) {
	c, err := a.command.LoadConfig()
	if err != nil {
		return nil, "", err
	}
	var profiles []screen.Profile
	for _, name := range c.Names() {
		profiles = append(profiles, onScreen(name, c.Profiles[name]))
	}
	current, _ := a.command.ProfileName(c)
	return profiles, current, nil
}

func onScreen(name string, p session.Profile) screen.Profile {
	return screen.Profile{
		Name: name, APIURL: p.APIURL, ClientID: p.ClientID, Actor: p.Actor, Sandbox: p.Sandbox,
		InsecureHTTP: p.InsecureHTTP, ReadOnly: p.ReadOnly, Protected: p.Protected && !p.Sandbox,
	}
}

// Connect returns a client of a profile that was chosen on the screen, whatever address and credentials the environment
// has; or, without a name, the client that a command would use. With NotLoggedIn it returns what is known of the
// profile.
func (a *accounts) Connect(name string) (screen.Account, error) {
	env, profile := a.environmentOfChosen, name
	if name == "" {
		env, profile = a.command.Env, a.command.Flags.Profile
	}
	flags := []string{"--profile=" + profile}
	if a.sandboxGiven {
		flags = append(flags, sandboxFlag(a.command.Flags.Sandbox))
	}
	return connect(a.session(env, flags))
}

func connect(s *session.Session) (screen.Account, error) {
	c, connection, err := s.Connect()
	account := screen.Account{Profile: onScreen(connection.ProfileName, connection.Profile)}
	if err != nil {
		return account, forScreen(err)
	}
	if !connection.FromEnvironment() {
		location, _, err := s.SecretLocation(connection)
		if err != nil {
			return account, forScreen(err)
		}
		if location == "" {
			return account, &screen.NotLoggedIn{Message: "Not logged in at " + connection.String() + "."}
		}
	}
	account.Client = c
	if s.NeedsName(connection) {
		account.Confirm = func(typed string) error { return s.Confirm(connection, typed) }
	}
	return account, nil
}

// Login obtains a token and then saves secret and profile, as perksctl auth login does. A --sandbox of this run does
// not become a setting of the profile.
func (a *accounts) Login(
	ctx context.Context, p screen.Profile, secret string, ask screen.AskName,
) (screen.Account, string, error) {
	if err := session.CheckName("profile", p.Name); err != nil {
		return screen.Account{}, "", err
	}
	if err := session.CheckAddress(p.APIURL, p.InsecureHTTP); err != nil {
		return screen.Account{}, "", forScreen(err)
	}
	s := a.session(a.environmentOfChosen, []string{"--profile=" + p.Name, sandboxFlag(p.Sandbox)})
	c, err := s.LoadConfig()
	if err != nil {
		return screen.Account{}, "", err
	}
	before, known := c.Profiles[p.Name]
	trusted, err := s.AbsoluteCACert(before)
	if err != nil {
		return screen.Account{}, "", err
	}
	saved := before
	saved.APIURL, saved.ClientID, saved.Sandbox, saved.InsecureHTTP, saved.CACert = p.APIURL, p.ClientID, p.Sandbox,
		p.InsecureHTTP, trusted
	saved.Actor = p.Actor
	if known && before.APIURL == p.APIURL && before.ClientID == p.ClientID && a.sandboxGiven &&
		p.Sandbox == a.command.Flags.Sandbox {
		saved.Sandbox = before.Sandbox
	}
	done, err := s.Login(ctx, p.Name, saved, secret, func(offered string) (string, error) {
		return ask(cmp.Or(before.Actor, offered))
	})
	if err != nil {
		return screen.Account{}, "", forScreen(err)
	}
	account, err := connect(s)
	if known && done.Profile == before {
		return account, "", err // where the secret is was said at the first login
	}
	return account, done.Secret.String(), err
}

// session makes the session of a command with these flags. Its notes and warnings go to the screen.
func (a *accounts) session(env func(string) string, flags []string) *session.Session {
	outer := a.command
	s := session.New(&command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: a.messages,
		Quiet: outer.Flags.Quiet}, env, outer.Version)
	s.WaitBudget, s.BackoffBudget, s.Open, s.Trace = waitBudget, backoffBudget, true, outer.Streams.Err
	set := pflag.NewFlagSet("tui", pflag.ContinueOnError)
	s.Bind(set)
	_ = set.Parse(append(outer.TrustFlags(), flags...)) // fails only for flags and values that do not exist
	s.Flags.Timeout, s.Flags.Debug, s.Flags.ConfirmProfile = outer.Flags.Timeout, outer.Flags.Debug,
		outer.Flags.ConfirmProfile
	return s
}

func sandboxFlag(sandbox bool) string { return "--sandbox=" + strconv.FormatBool(sandbox) }

// environmentOfChosen is the environment without the variables that override a profile.
func (a *accounts) environmentOfChosen(name string) string {
	switch name {
	case session.EnvAPIURL, session.EnvClientID, session.EnvClientSecret, session.EnvToken, session.EnvProfile:
		return ""
	}
	return a.command.Env(name)
}

// forScreen puts an error into the terms of the terminal UI, and its advice into its sentence.
func forScreen(err error) error {
	var login *command.NotLoggedIn
	var advised *command.Advised
	switch {
	case errors.As(err, &login):
		return &screen.NotLoggedIn{Message: login.Message}
	case errors.As(err, &advised):
		return &withAdvice{advised}
	}
	return err
}

type withAdvice struct{ *command.Advised }

func (w *withAdvice) Error() string {
	return strings.TrimSuffix(w.Err.Error(), ".") + ". " + w.Advice
}
