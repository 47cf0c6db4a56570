package session_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

const yaml = `current: work
profiles:
  work:
    api-url: https://work.example/v2
    client-id: worker
  test:
    api-url: http://10.1.2.3/v2
    client-id: tester
    sandbox: true
    insecure-http: true
  plain:
    api-url: http://10.1.2.3/v2
    client-id: tester
`

// start creates a session with the configuration in a temporary directory.
func start(t *testing.T, configuration string, env map[string]string, flags ...string) *session.Session {
	t.Helper()
	dir := t.TempDir()
	if configuration != "" {
		if err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(configuration), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	buffers, _, _ := command.BufferedStreams("")
	s := session.New(buffers, func(name string) string {
		switch name {
		case session.EnvConfigDir:
			return dir
		case session.EnvKeyring:
			return "off"
		}
		return env[name]
	}, "test")
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	s.Bind(set)
	if err := set.Parse(flags); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConnectionPrecedence(t *testing.T) {
	env := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m["PERKSCTL_"+pairs[i]] = pairs[i+1]
		}
		return m
	}
	for name, test := range map[string]struct {
		yaml  string
		env   map[string]string
		flags []string
		want  string // profile, client, sandbox, address
	}{
		"the current profile": {yaml, nil, nil, "work worker live https://work.example/v2"},
		"a profile from the flag": {yaml, env("PROFILE", "work"), []string{"--profile", "test"},
			"test tester sandbox http://10.1.2.3/v2"},
		"a profile from the environment": {yaml, env("PROFILE", "test"), nil,
			"test tester sandbox http://10.1.2.3/v2"},
		"the environment before the profile": {yaml, env("API_URL", "https://env.example", "CLIENT_ID", "envy"),
			nil, "work envy live https://env.example"},
		"the environment alone": {"", env("API_URL", "http://[::1]:1/v2", "CLIENT_ID", "envy"), nil,
			" envy live http://[::1]:1/v2"},
		"the flag for the sandbox": {yaml, nil, []string{"--sandbox"},
			"work worker sandbox https://work.example/v2"},
		"the flag against the profile's sandbox": {yaml, nil, []string{"--profile=test", "--sandbox=false"},
			"test tester live http://10.1.2.3/v2"},
	} {
		got, err := start(t, test.yaml, test.env, test.flags...).Connection()
		mode := map[bool]string{true: "sandbox", false: "live"}[got.Sandbox]
		if joined := strings.Join([]string{got.ProfileName, got.ClientID, mode, got.APIURL}, " "); err != nil ||
			joined != test.want {
			t.Errorf("%s: %q, %v; want %q", name, joined, err, test.want)
		}
	}
}

func TestInsecureHTTPIsPerAddress(t *testing.T) {
	for address, refused := range map[string]bool{
		"http://10.1.2.3/v2": false, "http://10.1.2.3/v2/": false, "http://10.1.2.4/v2": true,
		"http://10.1.2.3:81/v2": true, "http://10.1.2.3/v3": true,
	} {
		got, err := start(t, yaml, map[string]string{session.EnvAPIURL: address,
			session.EnvProfile: "test"}).Connection()
		if (err != nil) != refused || got.InsecureHTTP == refused {
			t.Errorf("%s from the environment: allowed %t, %v", address, got.InsecureHTTP, err)
		}
	}
}

func TestConfigurationIsReadLazily(t *testing.T) {
	s := start(t, ": not YAML", nil)
	if err := s.Prepare(); err != nil {
		t.Errorf("Prepare read the configuration: %v", err)
	}
	if _, err := s.Connection(); err == nil {
		t.Error("no error for a broken configuration")
	}
}
