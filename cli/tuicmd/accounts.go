package tuicmd

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/screen"
)

// How long a request waits between its attempts. A person sees that the service is away, and is told when it is back, so that
// nothing is won by waiting long.
const (
	patience = 10 * time.Second
	unasked  = 2 * time.Second
)

// accounts is a screen.Accounts over the profiles, secrets and tokens of the commands. Every connection has a session of its
// own, as a command would.
type accounts struct {
	command      *session.Session // of the tui command itself
	sandboxGiven bool             // --sandbox goes before what profiles say
	told         io.Writer        // gets notes and warnings, a line each
}

func newAccounts(command *session.Session, sandboxGiven bool, told io.Writer) *accounts {
	return &accounts{command, sandboxGiven, told}
}

// Profiles returns the profiles of the configuration.
func (a *accounts) Profiles() ([]screen.Profile, string, error) {
	c, err := a.command.LoadConfig()
	if err != nil {
		return nil, "", err
	}
	var profiles []screen.Profile
	for _, name := range slices.Sorted(maps.Keys(c.Profiles)) {
		p := c.Profiles[name]
		profiles = append(profiles, screen.Profile{Name: name, APIURL: p.APIURL, ClientID: p.ClientID, Sandbox: p.Sandbox, InsecureHTTP: p.InsecureHTTP})
	}
	current, _ := a.command.ProfileName(c)
	return profiles, current, nil
}

// Connect returns a client as the command line, the environment and the configuration have it, or that of a profile that was
// chosen on the screen. For the latter the environment's address and credentials do not count: they are not what was
// chosen. Beside NotLoggedIn it returns what is known of the profile.
func (a *accounts) Connect(name string) (screen.Account, error) {
	env, profile := a.environmentOfChosen, name
	if name == "" {
		env, profile = a.command.Env, a.command.Flags.Profile
	}
	flags := []string{"--profile=" + profile}
	if a.sandboxGiven {
		flags = append(flags, sandboxFlag(a.command.Flags.Sandbox))
	}
	s, err := a.session(env, flags)
	if err != nil {
		return screen.Account{}, err
	}
	return connect(s)
}

func connect(s *session.Session) (screen.Account, error) {
	c, connection, err := s.Connect()
	account := screen.Account{Profile: screen.Profile{
		Name: connection.Profile, APIURL: connection.APIURL, ClientID: connection.ClientID,
		Sandbox: connection.Sandbox, InsecureHTTP: connection.InsecureHTTP,
	}}
	if err != nil {
		return account, forScreen(err)
	}
	if !connection.FromEnvironment() {
		place, _, err := s.SecretPlace(connection)
		if err != nil {
			return account, forScreen(err)
		}
		if place == "" {
			return account, &screen.NotLoggedIn{Message: "Not logged in at " + connection.String() + "."}
		}
	}
	account.Client = c
	return account, nil
}

// Login keeps what it proves, as perksctl auth login does, and makes the profile the current one. What --sandbox says of this
// run does not become the profile's own by a mere login.
func (a *accounts) Login(ctx context.Context, p screen.Profile, secret string) (screen.Account, string, error) {
	if err := session.CheckName(p.Name); err != nil {
		return screen.Account{}, "", err
	}
	if err := session.CheckAddress(p.APIURL, p.InsecureHTTP); err != nil {
		return screen.Account{}, "", forScreen(err)
	}
	s, err := a.session(a.environmentOfChosen, []string{"--profile=" + p.Name, sandboxFlag(p.Sandbox)})
	if err != nil {
		return screen.Account{}, "", err
	}
	c, err := s.LoadConfig()
	if err != nil {
		return screen.Account{}, "", err
	}
	before, known := c.Profiles[p.Name]
	trusted, err := s.KeptCACert(before)
	if err != nil {
		return screen.Account{}, "", err
	}
	kept := session.Profile{APIURL: p.APIURL, ClientID: p.ClientID, Sandbox: p.Sandbox, InsecureHTTP: p.InsecureHTTP, CACert: trusted}
	if known && before.APIURL == p.APIURL && before.ClientID == p.ClientID && a.sandboxGiven && p.Sandbox == a.command.Flags.Sandbox {
		kept.Sandbox = before.Sandbox
	}
	done, err := s.Login(ctx, p.Name, kept, secret)
	if err != nil {
		return screen.Account{}, "", forScreen(err)
	}
	account, err := connect(s)
	return account, done.Secret.String(), err
}

// session makes a session as a command with these flags has it, which tells what it has to say by the screen.
func (a *accounts) session(env func(string) string, flags []string) (*session.Session, error) {
	outer := a.command
	s := session.New(&command.Streams{In: strings.NewReader(""), Out: io.Discard, Err: a.told, Quiet: outer.Flags.Quiet}, env, outer.Version)
	s.Patience, s.Unasked, s.Open, s.Trace = patience, unasked, true, outer.Streams.Err
	set := pflag.NewFlagSet("tui", pflag.ContinueOnError)
	s.Bind(set)
	if err := set.Parse(append(outer.TrustFlags(), flags...)); err != nil {
		return nil, err
	}
	s.Flags.Timeout, s.Flags.Debug = outer.Flags.Timeout, outer.Flags.Debug
	return s, nil
}

func sandboxFlag(sandbox bool) string { return "--sandbox=" + strconv.FormatBool(sandbox) }

// environmentOfChosen is the environment without what would go before a profile.
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
