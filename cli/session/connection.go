package session

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// Connection is where a command goes and as whom, after flags, environment and profile have been weighed.
type Connection struct {
	Profile      string // the profile in use; "" if the environment alone says everything
	APIURL       string
	ClientID     string
	Sandbox      bool
	InsecureHTTP bool
	CACert       string // a file of certificates that are trusted beside the system's; "" is none

	token  string // from the environment; needs neither id nor secret
	secret string // from the environment
}

// String names the address and the profile, for messages.
func (c Connection) String() string {
	from := "profile " + c.Profile
	if c.Profile == "" {
		from = "from the environment"
	}
	return fmt.Sprintf("%s (%s)", c.APIURL, from)
}

// Place is String with the sandbox, for messages about perks and redemptions.
func (c Connection) Place() string {
	if c.Sandbox {
		return "the sandbox of " + c.String()
	}
	return c.String()
}

// ProfileName returns the profile that is meant: by the flag, by the environment, or the current one. It need not exist.
func (s *Session) ProfileName(c Config) (name string, chosen bool) {
	switch {
	case s.Flags.Profile != "":
		return s.Flags.Profile, true
	case s.env(EnvProfile) != "":
		return s.env(EnvProfile), true
	}
	return c.CurrentName(), false
}

// Connection weighs flags, then the environment, then the profile.
func (s *Session) Connection() (Connection, error) {
	if err := s.CheckVariables(); err != nil {
		return Connection{}, err
	}
	c, err := s.profiles()
	if err != nil {
		return Connection{}, err
	}
	name, chosen := s.ProfileName(c)
	profile, known := c.Profiles[name]
	if chosen && !known {
		return Connection{}, UnknownProfile(name, c)
	}
	address := cmp.Or(s.env(EnvAPIURL), profile.APIURL)
	connection := Connection{
		APIURL:       address,
		ClientID:     cmp.Or(s.env(EnvClientID), profile.ClientID),
		Sandbox:      profile.Sandbox,
		InsecureHTTP: profile.AllowsHTTP(address),
		CACert:       s.CACert(profile),
		token:        s.env(EnvToken),
		secret:       s.env(EnvClientSecret),
	}
	if known {
		connection.Profile = name
	}
	if s.Flags.set.Changed("sandbox") {
		connection.Sandbox = s.Flags.Sandbox
	}
	if connection.APIURL == "" {
		return Connection{}, s.noAddress(c)
	}
	return connection, CheckAddress(connection.APIURL, connection.InsecureHTTP)
}

func (s *Session) noAddress(c Config) error {
	for _, name := range []string{EnvToken, EnvClientSecret, EnvClientID} {
		if s.env(name) != "" {
			return &command.NotLoggedIn{Message: name + " is set, but no address of the API is known: set " + EnvAPIURL + " too."}
		}
	}
	if names := slices.Sorted(maps.Keys(c.Profiles)); len(names) > 0 {
		return &command.NotLoggedIn{Message: fmt.Sprintf("No profile is current. Choose one of %s: perksctl profile use NAME", strings.Join(names, ", "))}
	}
	return &command.NotLoggedIn{Message: "Not logged in: no address of the API is known. Run: perksctl auth login"}
}

// FromEnvironment tells whether the connection's token or secret comes from the environment; nothing kept is then needed.
func (c Connection) FromEnvironment() bool { return c.token != "" || c.secret != "" }

// HasToken tells whether the environment gives a token.
func (c Connection) HasToken() bool { return c.token != "" }

// profiles loads the configuration. A process without a home folder, as a service may be, has none; the environment can
// still say everything.
func (s *Session) profiles() (Config, error) {
	file, err := s.Config()
	if err != nil {
		return Config{}, nil
	}
	return file.Load()
}

// UnknownProfile says that there is no profile of that name.
func UnknownProfile(name string, c Config) error {
	known := slices.Sorted(maps.Keys(c.Profiles))
	return command.Usagef("There is no profile %q.%s See perksctl profile list, or make it: perksctl auth login --profile %s", name, command.DidYouMean(name, known), name)
}

// CheckAddress refuses what is no address of an API, and an address at which everyone on the way could read the secret.
func CheckAddress(address string, insecure bool) error {
	base, err := client.ParseBaseURL(address)
	if err != nil {
		return command.Usagef("%s.", err)
	}
	if base.Scheme == "http" && !insecure && !isLoopback(base) {
		return command.Usagef("%s would send the secret unencrypted over the network. Use https; or, if you trust the network, log in with --insecure-http.", base)
	}
	return nil
}

func isLoopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return strings.EqualFold(u.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
}

// CheckVariables refuses a control character in the environment, most often the carriage return of a file that was written on
// Windows: no request can carry it, and each would fail as if the service were away.
func (s *Session) CheckVariables() error {
	for _, name := range []string{EnvAPIURL, EnvClientID, EnvClientSecret, EnvToken, EnvProfile, EnvCACert} {
		if at := strings.IndexFunc(s.env(name), unicode.IsControl); at >= 0 {
			return command.Usagef("%s contains %q at position %d, which cannot be sent. Does it come from a file with Windows line endings?", name, s.env(name)[at], at+1)
		}
	}
	return nil
}

// Advise says what helps where the service refuses credentials that are in the environment: a login would not be used.
func (s *Session) Advise(err error) error {
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized || errors.As(err, new(*command.Advised)) {
		return err
	}
	for _, name := range []string{EnvToken, EnvClientSecret} {
		if s.env(name) != "" {
			return &command.Advised{Err: err, Advice: "The credentials come from " + name + ": correct it, or unset it to use a profile."}
		}
	}
	return err
}
