// Package session is what a command works with: the streams, the global flags, and, when it asks for them, the
// configuration, the credentials, the token and the client of the service. A command that asks for none of them, such
// as version, reads no file.
package session

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// The environment that perksctl reads, apart from what decides about colour.
const (
	EnvAPIURL       = "PERKSCTL_API_URL"
	EnvClientID     = "PERKSCTL_CLIENT_ID"
	EnvClientSecret = "PERKSCTL_CLIENT_SECRET" // #nosec G101 -- a name, not a secret
	EnvActor        = "PERKSCTL_ACTOR"
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

	// WaitBudget and BackoffBudget limit the waits between the attempts of a request, as in client.Config. A WaitBudget
	// of zero chooses the defaults of a single command for both.
	WaitBudget, BackoffBudget time.Duration

	CacheFor time.Duration // for this long, use the saved response of an earlier command; 0 saves none

	Open  bool      // --timeout ends each request, not all of them together
	Trace io.Writer // where --debug goes; nil is Streams.Err

	env      func(string) string
	deadline time.Time // set with the first client, so that the time a person takes to reply does not count
	secrets  func() (*Secrets, error)
	roots    map[string]*x509.CertPool // by their file
	watched  *watched                  // nil without Watch
	asking   sync.Mutex                // for consent to a change

	Unguarded bool // ETags are sent to a server that gives none

	remember sync.Once
	memo     remembered // after remember

	wrapped sync.Once // notes that the service wraps its records
	unnamed sync.Once // warns that the service keeps no names

	records map[*cobra.Command]func() []string // the fields of what each command writes
}

// Flags is the global flags, apart from those of the output.
type Flags struct {
	Profile  string
	Sandbox  bool
	CACert   string
	Debug    bool
	Timeout  time.Duration
	NoColour bool
	Quiet    bool

	ConfirmProfile string // the protected profile that may be changed without asking

	set *pflag.FlagSet
}

// Environment returns the environment of this process and unsets its secrets: editors, browsers and clipboards inherit
// the rest, and a browser runs for days.
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
	made := &Session{Streams: s, Version: version, Output: output.Options{Now: time.Now}, env: env}
	made.secrets = sync.OnceValues(made.newSecrets)
	return made
}

// Bind declares the global flags.
func (s *Session) Bind(flags *pflag.FlagSet) {
	f := &s.Flags
	f.set = flags
	flags.StringVar(&f.Profile, "profile", "", "use this `profile` (env "+EnvProfile+")")
	flags.BoolVar(&f.Sandbox, "sandbox", false, "use the sandbox instead of live perks and redemptions")
	flags.StringVar(&f.ConfirmProfile, "confirm-profile", "",
		"change live data of this protected `profile` without asking")
	flags.StringVar(&f.CACert, caCertFlag, "", "also trust the certificates in this PEM `file` (env "+EnvCACert+")")
	s.Output.Bind(flags)
	flags.BoolVar(&f.Debug, "debug", false, "show requests and responses on standard error, without secrets")
	flags.DurationVar(&f.Timeout, "timeout", 0,
		"limit all requests together to this `duration`, such as 10s (default 30s for each request)")
	flags.BoolVar(&f.NoColour, "no-color", false, "disable colour (env NO_COLOR)")
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

// Writes declares the records of a command, for the completion of --fields.
func Writes[T any](s *Session, cmd *cobra.Command) *cobra.Command {
	return s.Writing(cmd, func() []string { return output.FieldsOf(*new(T)) })
}

// Writing declares the fields of the records of a command, where a flag chooses the records.
func (s *Session) Writing(cmd *cobra.Command, fields func() []string) *cobra.Command {
	if s.records == nil {
		s.records = map[*cobra.Command]func() []string{}
	}
	s.records[cmd] = fields
	return cmd
}

// FieldsOf returns the fields of the records that a command writes, nil if it writes none or others each time.
func (s *Session) FieldsOf(cmd *cobra.Command) []string {
	if fields := s.records[cmd]; fields != nil {
		return fields()
	}
	return nil
}

// Env returns a variable of the environment, "" if it is not set.
func (s *Session) Env(name string) string { return s.env(name) }

// Config returns the configuration file.
func (s *Session) Config() (ConfigFile, error) {
	dir, err := s.Dir()
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

// UpdateConfig changes the configuration file, and returns the new configuration.
func (s *Session) UpdateConfig(ctx context.Context, change func(*Config) error) (Config, error) {
	file, err := s.Config()
	if err != nil {
		return Config{}, err
	}
	return file.Update(ctx, change)
}

// Dir returns the directory of everything that perksctl saves.
func (s *Session) Dir() (string, error) {
	if dir := s.env(EnvConfigDir); dir != "" {
		return dir, nil
	}
	base, err := os.UserConfigDir()
	if err != nil {
		return "", errors.New("there is no home directory to keep the configuration in: set " + EnvConfigDir)
	}
	return filepath.Join(base, "perksctl"), nil
}

// CommandLine returns the words of a command with this session's profile, sandbox and certificates.
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

// Target is String with the sandbox, for messages about perks and redemptions.
func (c Connection) Target() string { return c.inSandbox(c.String()) }

// ProfileName returns the profile in use: that of the flag, of the environment, or the current one. It need not exist.
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

// Connection combines flags, environment and profile, in this order.
func (s *Session) Connection() (Connection, error) {
	if err := s.CheckVariables(); err != nil {
		return Connection{}, err
	}
	var c Config // empty for a process without a home directory, such as a service: the environment can say everything
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
	connection.Actor = cmp.Or(s.env(EnvActor), profile.Actor)
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
	if err := CheckActor(connection.Actor); err != nil {
		return Connection{}, err
	}
	return connection, CheckAddress(connection.APIURL, connection.InsecureHTTP)
}

// CheckActor refuses a name that the service would refuse. "" names nobody.
func CheckActor(name string) error {
	if problem := api.ActorRule(name); name != "" && problem != "" {
		return command.Usagef("The name %q of who sits at the client %s. Set %s, or log in with --actor NAME.", name,
			problem, EnvActor)
	}
	return nil
}

func (s *Session) noAddress(c Config) error {
	for _, name := range []string{EnvToken, EnvClientSecret, EnvClientID} {
		if s.env(name) != "" {
			return &command.NotLoggedIn{Message: name + " is set, but no address of the API is known: set " +
				EnvAPIURL + " too."}
		}
	}
	if names := c.Names(); len(names) > 0 {
		return &command.NotLoggedIn{Message: fmt.Sprintf("No profile is current. Choose one of %s: perksctl profile "+
			"use NAME", strings.Join(names, ", "))}
	}
	return &command.NotLoggedIn{Message: "Not logged in: no address of the API is known. Run: perksctl auth login"}
}

// FromEnvironment reports whether the token or secret comes from the environment; nothing saved is needed then.
func (c Connection) FromEnvironment() bool { return c.token != "" || c.secret != "" }

// HasToken reports whether the token comes from the environment.
func (c Connection) HasToken() bool { return c.token != "" }

// UnknownProfile says that there is no profile of that name.
func UnknownProfile(name string, c Config) error {
	return command.Usagef("There is no profile %q.%s See perksctl profile list, or create it: perksctl auth login "+
		"--profile %s", name, command.DidYouMean(name, c.Names()), name)
}

// CheckAddress refuses an invalid address of an API, and plain http to another computer unless insecure allows it.
func CheckAddress(address string, insecure bool) error {
	base, err := client.ParseBaseURL(address)
	if err != nil {
		return command.Usagef("%s.", err)
	}
	if isPlainAway(base) && !insecure {
		return command.Usagef("%s would send the secret unencrypted over the network. Use https; or, if you trust "+
			"the network, log in with --insecure-http.", base)
	}
	return nil
}

// CheckReceiver does the same for the URL of a flag that events are posted to. The profile's insecure-http allows plain
// http.
func (c Connection) CheckReceiver(flag, address string) error {
	receiver, err := url.Parse(address)
	switch {
	case err != nil || receiver.Hostname() == "" || receiver.Scheme != "http" && receiver.Scheme != "https":
		return command.Usagef("--%s %q is not a URL: it must look like http://localhost:3000/webhooks.", flag, address)
	case receiver.User != nil:
		return command.Usagef("--%s must not hold a name or password: the signature proves who sends.", flag)
	case isPlainAway(receiver) && !c.InsecureHTTP:
		return command.Usagef("--%s %s would send events unencrypted over the network. Use https; or, if you trust "+
			"the network, log in with --insecure-http.", flag, receiver)
	}
	return nil
}

// isPlainAway tells whether a URL is of plain http to another computer.
func isPlainAway(address *url.URL) bool {
	ip := net.ParseIP(address.Hostname())
	isLoopback := strings.EqualFold(address.Hostname(), "localhost") || ip != nil && ip.IsLoopback()
	return address.Scheme == "http" && !isLoopback
}

// CheckVariables refuses a control character in the environment, such as the carriage return of a file from Windows: no
// request can carry it, and each would fail as if the service were unreachable.
func (s *Session) CheckVariables() error {
	for _, name := range []string{EnvAPIURL, EnvClientID, EnvClientSecret, EnvToken, EnvActor, EnvProfile,
		EnvCACert} {
		if at := strings.IndexFunc(s.env(name), unicode.IsControl); at >= 0 {
			return command.Usagef("%s contains %q at position %d, which cannot be sent. Does it come from a file "+
				"with Windows line endings?", name, s.env(name)[at], at+1)
		}
	}
	return nil
}

// Advise adds advice to a refusal of credentials from the environment, where a login would not help, and to what is
// missing with --sandbox.
func (s *Session) Advise(err error) error {
	var refused *client.Error
	switch {
	case !errors.As(err, &refused), errors.As(err, new(*command.Advised)):
		return err
	case s.Flags.Sandbox && client.IsMissing(err) && !client.IsUnsupported(err):
		return &command.Advised{Err: err,
			Advice: "This is about the sandbox. Whether there is one: perksctl doctor --sandbox"}
	case !refused.LoginNeeded():
		return err
	}
	for _, name := range []string{EnvToken, EnvClientSecret} {
		if s.env(name) != "" {
			return &command.Advised{Err: err, Advice: "The credentials come from " + name +
				": correct it, or unset it to use a profile."}
		}
	}
	return err
}

// RestartTimeout lets --timeout begin with the next connection.
func (s *Session) RestartTimeout() { s.deadline = time.Time{} }

// IsTimeUp tells whether err comes from the end of the time that --timeout gives the whole command.
func (s *Session) IsTimeUp(err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && !s.deadline.IsZero() && !time.Now().Before(s.deadline)
}

// shortWait is a pause too short to mention.
const shortWait = time.Second

// repeatAfter is how long a log gets no further note of waits for the same reason. A terminal gets them all.
const repeatAfter = time.Minute

// noteWaits notes why nothing happens, once for many requests that wait until about the same time.
func (s *Session) noteWaits(now func() time.Time) func(client.Wait) {
	var mu sync.Mutex
	var until, notedAt time.Time // of the last note
	var why string
	return func(w client.Wait) {
		mu.Lock()
		defer mu.Unlock()
		at := now()
		if w.For < shortWait || at.Add(w.For).Before(until.Add(shortWait/2)) {
			return
		}
		until = at.Add(w.For)
		if !s.Streams.ErrTTY && w.Why == why && at.Sub(notedAt) < repeatAfter {
			return
		}
		why, notedAt = w.Why, at
		length := w.For.Round(shortWait / 10)
		if w.Requested {
			s.Streams.Note("The server asks to wait %s (%s).", length, w.Why)
		} else {
			s.Streams.Note("Retrying in %s: %s.", length, w.Why)
		}
	}
}
