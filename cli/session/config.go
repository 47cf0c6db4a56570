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

// DefaultProfile is the current profile if the configuration names none.
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
	Actor        string `yaml:"actor,omitempty"`         // who sits at the client, named in each request
	Sandbox      bool   `yaml:"sandbox,omitempty"`       // perks and redemptions of the sandbox
	InsecureHTTP bool   `yaml:"insecure-http,omitempty"` // allow http to APIURL on another computer
	CACert       string `yaml:"ca-cert,omitempty"`       // a file of certificates to trust beside the system's
	ReadOnly     bool   `yaml:"read-only,omitempty"`     // refuse to change anything
	Protected    bool   `yaml:"protected,omitempty"`     // ask for the profile's name before live data is changed
}

// AllowsHTTP reports whether plain http is allowed to this address: only to that of the profile.
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

// Use makes a profile the current one.
func (c *Config) Use(name string) error {
	return c.Change(name, func(*Profile) { c.Current = name })
}

// Change changes a profile. One that does not exist is an error.
func (c *Config) Change(name string, change func(*Profile)) error {
	p, known := c.Profiles[name]
	if !known {
		return UnknownProfile(name, *c)
	}
	change(&p)
	c.Profiles[name] = p
	return nil
}

// Remove deletes a profile. If it was current, the default profile is next, or the only one left; of several none,
// because the wrong one could be the wrong service.
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

// CheckName refuses a name that cannot be that of a profile, or of another thing with files of its own. It uses no
// regular expression, because compiling one slows every start.
func CheckName(thing, name string) error {
	strange := strings.ContainsFunc(name, func(r rune) bool {
		return !isAlphanumeric(r) &&
			!strings.ContainsRune("._-", r)
	})
	if name == "" || len(name) > maxName || strange || !isAlphanumeric(rune(name[0])) {
		return fmt.Errorf("%q cannot name a %s: use up to 64 letters, digits, dots, underscores and hyphens, a "+
			"letter or digit first", name, thing)
	}
	return nil
}

func isAlphanumeric(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

// ConfigFile is the path of a config.yaml.
type ConfigFile string

// Load reads the file; a missing one is an empty Config. An unknown setting is an error, because a misspelt one would
// do nothing.
func (f ConfigFile) Load() (Config, error) {
	text, err := os.ReadFile(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return Config{}, nil
	}
	if err != nil {
		return Config{}, command.BadFile("The configuration cannot be read", err)
	}
	var c Config
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&c); err != nil && err != io.EOF {
		return Config{}, command.Usagef("%s cannot be read: %s. Correct it, or rename it and log in again.", f,
			command.ExplainYAML(err))
	}
	return c, nil
}

// Line returns the line of a setting by the names and indexes on the way to it, or of the last of them that is there; 0
// if none is.
func (f ConfigFile) Line(path ...string) (line int) {
	text, err := os.ReadFile(string(f))
	var node yaml.Node
	if err != nil || yaml.Unmarshal(text, &node) != nil || len(node.Content) == 0 {
		return 0
	}
	node = *node.Content[0]
	for _, name := range path {
		at := -1
		switch node.Kind {
		case yaml.MappingNode:
			at = slices.IndexFunc(node.Content, func(n *yaml.Node) bool { return n.Value == name })
		case yaml.SequenceNode:
			at, err = strconv.Atoi(name)
		}
		if at < 0 || at >= len(node.Content) || err != nil {
			return line
		}
		line = node.Content[at].Line
		if node.Kind == yaml.MappingNode {
			at++
		}
		node = *node.Content[at]
	}
	return line
}

// Update changes the file under a lock, and returns the new configuration.
func (f ConfigFile) Update(ctx context.Context, change func(*Config) error) (Config, error) {
	unlock, err := command.LockFile(ctx, string(f))
	if err != nil {
		return Config{}, err
	}
	defer unlock()
	c, err := f.Load()
	if err != nil {
		return Config{}, err
	}
	if c.Profiles == nil {
		c.Profiles = map[string]Profile{}
	}
	if err := change(&c); err != nil {
		return Config{}, err
	}
	text, err := yaml.Marshal(c)
	if err == nil {
		err = command.WritePrivate(string(f), text)
	}
	if err != nil {
		return Config{}, fmt.Errorf("the configuration cannot be written: %w", err)
	}
	return c, nil
}

// TUISettings is the settings of the terminal UI, which itself checks themes, notices, keys and commands.
type TUISettings struct {
	Theme      string                 `yaml:"theme,omitempty"`
	Mouse      *bool                  `yaml:"mouse,omitempty"`      // nil is as it was last
	Accessible bool                   `yaml:"accessible,omitempty"` // print lines instead of drawing
	Notify     string                 `yaml:"notify,omitempty"`     // how to tell that something new waits
	Keys       map[string]KeySettings `yaml:"keys,omitempty"`       // by the action
	Commands   []CommandSettings      `yaml:"commands,omitempty"`
}

// CommandSettings is a program of the user's own, and the key that runs it.
type CommandSettings struct {
	Key     string   `yaml:"key,omitempty"`
	Name    string   `yaml:"name"`
	Command []string `yaml:"command"` // the program and its arguments, each a template
}

// KeySettings is the keys of an action: a list, or one without brackets.
type KeySettings struct {
	Keys     []string `yaml:"keys"`
	Override bool     `yaml:"override,omitempty"` // take them from the actions that have them
}

// UnmarshalYAML reads a list of keys, one key, or both settings.
func (k *KeySettings) UnmarshalYAML(node *yaml.Node) error {
	switch node.Kind {
	case yaml.ScalarNode:
		k.Keys = []string{""}
		return node.Decode(&k.Keys[0])
	case yaml.MappingNode:
		type both KeySettings
		for i := 0; i < len(node.Content); i += 2 {
			if name := node.Content[i].Value; name != "keys" && name != "override" {
				return fmt.Errorf("line %d: a key setting has keys and override, not %q", node.Content[i].Line, name)
			}
		}
		return node.Decode((*both)(k))
	}
	return node.Decode(&k.Keys)
}

// MarshalYAML writes a list where that says all.
func (k KeySettings) MarshalYAML() (any, error) {
	type both KeySettings
	if k.Override {
		return both(k), nil
	}
	return k.Keys, nil
}
