// Package session is what a command works with: the streams, the global flags, and, made only when it is asked for, the
// configuration, the credentials, the token and the client of the service. A command that asks for none of them, such as
// version, reads and dials nothing.
//
// It knows nothing of single commands.
package session

import (
	"crypto/x509"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/pflag"

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
	secrets  lazySecrets
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
	return &Session{Streams: s, Version: version, env: env}
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
	dir, err := s.dir()
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

// dir returns the folder of everything that perksctl keeps.
func (s *Session) dir() (string, error) {
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
