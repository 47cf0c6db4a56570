package session

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"example.com/perks/cli/command"
)

// DefaultProfile is the name of the profile that is meant when no other is chosen.
const DefaultProfile = "default"

// Config is the whole file.
type Config struct {
	Current  string             `yaml:"current,omitempty"` // the profile to use; empty is DefaultProfile
	Profiles map[string]Profile `yaml:"profiles,omitempty"`
	TUI      TUISettings        `yaml:"tui,omitempty"`
}

// Profile is one service and the client that calls it.
type Profile struct {
	APIURL       string `yaml:"api-url"`
	ClientID     string `yaml:"client-id"`
	Sandbox      bool   `yaml:"sandbox,omitempty"`       // perks and redemptions of the sandbox
	InsecureHTTP bool   `yaml:"insecure-http,omitempty"` // allow http to APIURL, though that is not this computer
	CACert       string `yaml:"ca-cert,omitempty"`       // a file of certificates that are trusted beside the system's
}

// AllowsHTTP tells whether plain http to this address was allowed. What was allowed for one address holds for no other.
func (p Profile) AllowsHTTP(address string) bool {
	return p.InsecureHTTP && strings.TrimRight(address, "/") == strings.TrimRight(p.APIURL, "/")
}

// String names the address, and the sandbox if commands go there.
func (p Profile) String() string { return p.inSandbox(p.APIURL) }

func (p Profile) inSandbox(name string) string {
	if p.Sandbox {
		return "the sandbox of " + name
	}
	return name
}

// Names returns the names of the profiles in their order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Profiles)) }

// CurrentName returns the name of the profile to use.
func (c Config) CurrentName() string { return cmp.Or(c.Current, DefaultProfile) }

// Remove takes out a profile. If no current one is left then, the default profile is current next; where there is none, the
// only one that is left; and of several none, because a guess could be the wrong service.
func (c *Config) Remove(name string) {
	delete(c.Profiles, name)
	if _, known := c.Profiles[c.CurrentName()]; known {
		return
	}
	c.Current = ""
	if _, known := c.Profiles[DefaultProfile]; !known && len(c.Profiles) == 1 {
		c.Current = c.Names()[0]
	}
}

const maxName = 64

// CheckName refuses a name that cannot be a profile's. It goes without a regular expression, whose compilation every start
// of the program would pay for.
func CheckName(name string) error {
	strange := strings.ContainsFunc(name, func(r rune) bool { return !isAlphanumeric(r) && !strings.ContainsRune("._-", r) })
	if name == "" || len(name) > maxName || strange || !isAlphanumeric(rune(name[0])) {
		return fmt.Errorf("%q cannot name a profile: use up to 64 letters, digits, dots, underscores and hyphens, a letter or digit first", name)
	}
	return nil
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// File is a config.yaml by its path.
type ConfigFile string

// Load reads the file; one that does not exist is an empty Config. A setting that is not known is an error, because a typo
// in one would otherwise be a setting that does nothing.
func (f ConfigFile) Load() (Config, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, fmt.Errorf("read the configuration: %w", err)
	}
	var c Config
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && err != io.EOF {
		return Config{}, command.Usagef("%s cannot be read: %s. Correct it, or move it away and log in again.", f, whatIsWrong(err))
	}
	return c, nil
}

// whatIsWrong says of YAML where it is not as it must be, without the names of types.
func whatIsWrong(err error) string {
	var mistyped *yaml.TypeError
	if !errors.As(err, &mistyped) {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	problems := make([]string, len(mistyped.Errors))
	for i, problem := range mistyped.Errors {
		problem, _, _ = strings.Cut(problem, " in type ")
		if line, value, found := strings.Cut(problem, ": cannot unmarshal "); found {
			what := "this"
			if _, quoted, found := strings.Cut(value, "`"); found {
				what, _, _ = strings.Cut(quoted, "`")
				what = strconv.Quote(what)
			}
			problem = line + ": " + what + " is not what the setting takes"
		}
		problems[i] = problem
	}
	return strings.Join(problems, "; ")
}

// Update changes the file. Other processes that change it at the same time come before or after.
func (f ConfigFile) Update(ctx context.Context, change func(*Config) error) error {
	unlock, err := command.LockFile(ctx, string(f))
	if err != nil {
		return err
	}
	defer unlock()
	c, err := f.Load()
	if err != nil {
		return err
	}
	if c.Profiles == nil {
		c.Profiles = map[string]Profile{}
	}
	if err := change(&c); err != nil {
		return err
	}
	text, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err := command.WritePrivate(string(f), text); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}

// TUI is how the terminal UI is to be. What is right for a theme or a key is for the terminal UI to say.
type TUISettings struct {
	Theme      string                 `yaml:"theme,omitempty"`
	Mouse      bool                   `yaml:"mouse,omitempty"`      // use the mouse from the start
	Accessible bool                   `yaml:"accessible,omitempty"` // talk in lines instead of drawing
	Keys       map[string]KeySettings `yaml:"keys,omitempty"`       // by the action
}

// Keys is the keys of an action. A single one may stand without brackets.
type KeySettings []string

// UnmarshalYAML reads a list of keys, or one.
func (k *KeySettings) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return node.Decode((*[]string)(k))
	}
	*k = KeySettings{""}
	return node.Decode(&(*k)[0])
}
