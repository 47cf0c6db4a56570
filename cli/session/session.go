// Package session is what a command works with: the streams, the global flags, and, made only when it is asked for, the
// configuration, the credentials, the token and the client of the service. A command that asks for none of them, such as
// version, reads and dials nothing.
//
// It knows nothing of single commands.
package session

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/pflag"

	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// The environment that perksctl reads, apart from what decides about colour.
const (
	EnvAPIURL       = "PERKSCTL_API_URL"
	EnvClientID     = "PERKSCTL_CLIENT_ID"
	EnvClientSecret = "PERKSCTL_CLIENT_SECRET" // #nosec G101 -- a name, not a secret
	EnvProfile      = "PERKSCTL_PROFILE"
	EnvToken        = "PERKSCTL_TOKEN" // #nosec G101 -- a name, not a token
	EnvCACert       = "PERKSCTL_CA_CERT"
	EnvConfigDir    = "PERKSCTL_CONFIG_DIR"
)

// Session is one run of perksctl.
type Session struct {
	Streams *command.Streams
	Version string
	Flags   Flags
	Output  output.Options

	// Patience is how long one request may wait between its attempts, and Unasked the part of it that may go to waits that no
	// server asked for; zero is all of it. A command may set them before Connect; a Patience of zero is what a single command
	// has, in both.
	Patience, Unasked time.Duration

	// Open says that this session lasts as long as a person likes: --timeout then ends each request, not all of them together.
	Open bool

	// Trace is where --debug goes; nil is Streams.Err.
	Trace io.Writer

	env      func(string) string
	deadline time.Time // set when the first client is made, so that a person's thinking does not count
	secrets  func() (*Secrets, error)
	roots    map[string]*x509.CertPool // by their file
}

// Flags is the flags that every command has, apart from those of the output.
type Flags struct {
	Profile  string
	Sandbox  bool
	CACert   string
	Debug    bool
	Timeout  time.Duration
	NoColour bool
	Quiet    bool

	set *pflag.FlagSet
}

// Environment returns the environment of this process, after taking the secrets out of it. Editors, browsers, clipboards and
// keyrings are started with what is left, by libraries too, and a browser outlives the command by days.
func Environment() func(name string) string {
	taken := map[string]string{}
	for _, name := range []string{EnvClientSecret, EnvToken} {
		taken[name] = os.Getenv(name)
		_ = os.Unsetenv(name) // fails only for names that cannot be
	}
	return func(name string) string {
		if secret, ok := taken[name]; ok {
			return secret
		}
		return os.Getenv(name)
	}
}

// New makes a session. Nothing is read yet.
func New(s *command.Streams, env func(string) string, version string) *Session {
	made := &Session{Streams: s, Version: version, env: env}
	made.secrets = sync.OnceValues(made.newSecrets)
	return made
}

// Bind declares the global flags.
func (s *Session) Bind(flags *pflag.FlagSet) {
	f := &s.Flags
	f.set = flags
	flags.StringVar(&f.Profile, "profile", "", "use this `profile` (env "+EnvProfile+")")
	flags.BoolVar(&f.Sandbox, "sandbox", false, "work on the sandbox instead of live perks and redemptions")
	flags.StringVar(&f.CACert, caCertFlag, "", "trust the certificates in this PEM `file` too, beside the system's (env "+EnvCACert+")")
	s.Output.Bind(flags)
	flags.BoolVar(&f.Debug, "debug", false, "show requests and answers on standard error, without secrets")
	flags.DurationVar(&f.Timeout, "timeout", 0, "end all requests of the command after this `duration`, such as 10s (default 30s for each request)")
	flags.BoolVar(&f.NoColour, "no-color", false, "write no colour (env NO_COLOR)")
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "write only errors to standard error")
}

// Prepare checks the global flags and applies those that change the streams.
func (s *Session) Prepare() error {
	s.Streams.Quiet = s.Flags.Quiet
	s.Streams.JSON = s.Output.WantsJSON()
	s.Streams.ChooseColour(s.Flags.NoColour, s.env)
	if s.Flags.Timeout < 0 {
		return command.Usagef("--timeout must not be negative.")
	}
	return s.Output.Check()
}

// Env returns a variable of the environment, "" if it is not set.
func (s *Session) Env(name string) string { return s.env(name) }

// Config returns the configuration file.
func (s *Session) Config() (ConfigFile, error) {
	dir, err := s.Folder()
	return ConfigFile(filepath.Join(dir, "config.yaml")), err
}

// LoadConfig reads the configuration file. One that is missing is an empty configuration.
func (s *Session) LoadConfig() (Config, error) {
	file, err := s.Config()
	if err != nil {
		return Config{}, err
	}
	return file.Load()
}

// UpdateConfig changes the configuration file and returns what is in it then.
func (s *Session) UpdateConfig(ctx context.Context, change func(*Config) error) (changed Config, err error) {
	file, err := s.Config()
	if err != nil {
		return Config{}, err
	}
	err = file.Update(ctx, func(c *Config) error {
		err := change(c)
		changed = *c
		return err
	})
	return changed, err
}

// Folder returns the folder of everything that perksctl keeps.
func (s *Session) Folder() (string, error) {
	if dir := s.env(EnvConfigDir); dir != "" {
		return dir, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", errors.New("there is no home folder to keep the configuration in: set " + EnvConfigDir)
	}
	return filepath.Join(base, "perksctl"), nil
}

// CommandLine returns the words of a command that goes where this session goes.
func (s *Session) CommandLine(words ...string) []string {
	line := []string{"perksctl"}
	if s.Flags.Profile != "" {
		line = append(line, "--profile", s.Flags.Profile)
	}
	if s.Flags.set.Changed("sandbox") {
		line = append(line, "--sandbox="+strconv.FormatBool(s.Flags.Sandbox))
	}
	line = append(line, s.TrustFlags()...)
	return append(line, words...)
}

// Connection is where a command goes and as whom, as flags, environment and profile say together.
type Connection struct {
	Profile
	ProfileName string // "" if the environment alone says everything

	token  string // from the environment; needs neither id nor secret
	secret string // from the environment
}

// String names the address and the profile, for messages.
func (c Connection) String() string {
	from := "profile " + c.ProfileName
	if c.ProfileName == "" {
		from = "from the environment"
	}
	return fmt.Sprintf("%s (%s)", c.APIURL, from)
}

// Place is String with the sandbox, for messages about perks and redemptions.
func (c Connection) Place() string { return c.inSandbox(c.String()) }

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

// Profile returns the profile in use. One that does not exist is an error.
func (s *Session) Profile(c Config) (name string, profile Profile, err error) {
	name, _ = s.ProfileName(c)
	profile, known := c.Profiles[name]
	if !known {
		err = UnknownProfile(name, c)
	}
	return name, profile, err
}

// Connection weighs flags, then the environment, then the profile.
func (s *Session) Connection() (Connection, error) {
	if err := s.CheckVariables(); err != nil {
		return Connection{}, err
	}
	var c Config // a process without a home folder, as a service may be, has none; the environment can still say everything
	if file, err := s.Config(); err == nil {
		if c, err = file.Load(); err != nil {
			return Connection{}, err
		}
	}
	name, chosen := s.ProfileName(c)
	profile, known := c.Profiles[name]
	if chosen && !known {
		return Connection{}, UnknownProfile(name, c)
	}
	connection := Connection{Profile: profile, token: s.env(EnvToken), secret: s.env(EnvClientSecret)}
	connection.APIURL = cmp.Or(s.env(EnvAPIURL), profile.APIURL)
	connection.ClientID = cmp.Or(s.env(EnvClientID), profile.ClientID)
	connection.InsecureHTTP = profile.AllowsHTTP(connection.APIURL)
	connection.CACert = s.CACert(profile)
	if known {
		connection.ProfileName = name
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
	if names := c.Names(); len(names) > 0 {
		return &command.NotLoggedIn{Message: fmt.Sprintf("No profile is current. Choose one of %s: perksctl profile use NAME", strings.Join(names, ", "))}
	}
	return &command.NotLoggedIn{Message: "Not logged in: no address of the API is known. Run: perksctl auth login"}
}

// FromEnvironment tells whether the connection's token or secret comes from the environment; nothing kept is then needed.
func (c Connection) FromEnvironment() bool { return c.token != "" || c.secret != "" }

// HasToken tells whether the environment gives a token.
func (c Connection) HasToken() bool { return c.token != "" }

// UnknownProfile says that there is no profile of that name.
func UnknownProfile(name string, c Config) error {
	return command.Usagef("There is no profile %q.%s See perksctl profile list, or make it: perksctl auth login --profile %s", name, command.DidYouMean(name, c.Names()), name)
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

// shortWait is a pause that nobody would notice.
const shortWait = time.Second

// sameAgain is how long off a terminal nothing is told of further waits for the same reason: a log of one line every few
// seconds hides the rest of it.
const sameAgain = time.Minute

// tellWaits says why nothing happens. Of many requests that wait for about the same moment, one is told about.
func (s *Session) tellWaits(now func() time.Time) func(client.Wait) {
	var mu sync.Mutex
	var told time.Time // until when the last wait lasts that was told about
	var why string
	var saidAt time.Time
	return func(w client.Wait) {
		if w.For < shortWait {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		at := now()
		until := at.Add(w.For)
		if until.Before(told.Add(shortWait / 2)) {
			return
		}
		told = until
		if !s.Streams.ErrTTY && w.Why == why && at.Sub(saidAt) < sameAgain {
			return
		}
		why, saidAt = w.Why, at
		length := w.For.Round(shortWait / 10)
		if w.Asked {
			s.Streams.Note("The server asks to wait %s (%s).", length, w.Why)
		} else {
			s.Streams.Note("Trying again in %s: %s.", length, w.Why)
		}
	}
}
