package cli_test

import (
	"os"
	"strings"
	"testing"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// terminal runs perksctl in this process, with its own environment and possibly typed input.
type terminal struct {
	t     *testing.T
	env   map[string]string
	stdin string // of commands without a terminal
}

func newTerminal(t *testing.T, env map[string]string) *terminal {
	if env == nil {
		env = map[string]string{}
	}
	env[session.EnvConfigDir] = t.TempDir()
	env[session.EnvKeyring] = "off"
	return &terminal{t: t, env: env}
}

type result struct {
	code     int
	out, err string
}

// run runs a command without a terminal.
func (x *terminal) run(args ...string) result {
	s, out, err := command.BufferedStreams(x.stdin)
	code := cli.Main(args, s, func(name string) string { return x.env[name] })
	return result{code, out.String(), err.String()}
}

// typing runs a command on a terminal with typed input.
func (x *terminal) typing(input string, args ...string) result {
	s, out, err := command.BufferedStreams(input)
	s.InTTY, s.OutTTY, s.ErrTTY, s.Width = true, true, true, 100
	code := cli.Main(append(args, "--no-color"), s, func(name string) string { return x.env[name] })
	return result{code, out.String(), err.String()}
}

// must runs a command and fails the test unless it succeeds.
func (x *terminal) must(args ...string) result {
	x.t.Helper()
	r := x.run(args...)
	if r.code != 0 {
		x.t.Fatalf("perksctl %s: exit code %d\n%s", strings.Join(args, " "), r.code, r.err)
	}
	return r
}

// loggedIn returns a terminal that is logged in as the owner of property 42.
func loggedIn(t *testing.T) (*terminal, map[string]string) {
	t.Helper()
	facts := seed(servertest.Start(t))
	x := newTerminal(t, nil)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	x.must("auth", "login", "--api-url", facts["API_URL"], "--client-id", facts["CLIENT"])
	delete(x.env, session.EnvClientSecret)
	return x, facts
}

// write writes a private file, and returns its path.
func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
