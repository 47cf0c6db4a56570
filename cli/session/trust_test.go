package session_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

func TestCACertPrecedence(t *testing.T) {
	const yaml = "profiles:\n  default:\n    api-url: https://perks.example/v2\n    client-id: c\n    ca-cert: " +
		"/profile.pem\n"
	env := map[string]string{session.EnvCACert: "env.pem"}
	for name, test := range map[string]struct {
		env   map[string]string
		flags []string
		want  string
	}{
		"the profile":                        {nil, nil, "/profile.pem"},
		"the environment before the profile": {env, nil, "env.pem"},
		"the flag before both":               {env, []string{"--ca-cert", "flag.pem"}, "flag.pem"},
		"an empty flag":                      {env, []string{"--ca-cert", ""}, ""},
	} {
		got, err := start(t, yaml, test.env, test.flags...).Connection()
		if err != nil || got.CACert != test.want {
			t.Errorf("%s: %q, %v", name, got.CACert, err)
		}
	}
}

func TestCACertIsSavedWithItsAbsolutePath(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": "", "ca.pem": filepath.Join(here, "ca.pem"),
		"/etc/ca.pem": "/etc/ca.pem"} {
		got, err := start(t, "", nil).AbsoluteCACert(session.Profile{CACert: given})
		if err != nil || got != want {
			t.Errorf("%q is saved as %q, %v", given, got, err)
		}
	}
}

func TestInvalidRootsNameTheFile(t *testing.T) {
	dir := t.TempDir()
	authority := servertest.NewAuthority(t, "Our own")
	certificate := authority.Issue()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	broken := append(authority.PEM(), "-----BEGIN CERTIFICATE-----\nYWJj\n-----END CERTIFICATE-----\n"...)
	for path, want := range map[string]string{
		filepath.Join(dir, "none.pem"): "does not exist.",
		dir:                            "is a directory, not a file of certificates in PEM.",
		file("empty.pem", nil): "holds no certificate in PEM, which begins with -----BEGIN " +
			"CERTIFICATE-----.",
		file("key.pem", certificate.Key): `holds no certificate, but "PRIVATE KEY".`,
		file("cert.der", certificate.Leaf.Raw): "holds a certificate, but not in PEM; convert it with openssl x509 " +
			"-inform der.",
		file("broken.pem", broken): "cannot be used: its certificate 2 is broken.",
		file("\x1b[2J.pem", []byte("anything")): "holds no certificate in PEM, which begins with -----BEGIN " +
			"CERTIFICATE-----.",
	} {
		_, err := start(t, "", nil, "--ca-cert", path).Roots(path)
		if err == nil || err.Error() != path+", which --ca-cert names, "+want ||
			output.ExitCode(err) != command.ExitUsage {
			t.Errorf("%s: %v", path, err)
		}
	}
	const missing = "/nowhere/ca.pem"
	_, err := start(t, "", map[string]string{session.EnvCACert: missing}).Roots(missing)
	if want := missing + ", which PERKSCTL_CA_CERT names, does not exist."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	yaml := "profiles:\n  default:\n    api-url: https://perks.example/v2\n    client-id: c\n    ca-cert: " + missing +
		"\n"
	_, _, err = start(t, yaml, nil).Connect()
	if want := missing + ", which the profile's ca-cert names, does not exist."; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestRootsReadAPipeOnce(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	if _, err := write.Write(append([]byte("Our own authority:\n"),
		servertest.NewAuthority(t, "Our own").PEM()...)); err != nil {
		t.Fatal(err)
	}
	write.Close()
	path := filepath.Join(t.TempDir(), "pipe")
	if err := os.Symlink("/dev/fd/"+strconv.Itoa(int(read.Fd())), path); err != nil {
		t.Fatal(err)
	}
	s := start(t, "", nil)
	if roots, err := s.Roots(""); err != nil || roots != nil {
		t.Errorf("without a file: %v, %v", roots, err)
	}
	for range 2 {
		if roots, err := s.Roots(path); err != nil || roots == nil {
			t.Fatal(err)
		}
	}
}

// An address that only looks like loopback must not get the secret unencrypted.
func TestPlainHTTPIsOnlyForLoopback(t *testing.T) {
	for address, allowed := range map[string]bool{
		"https://perks.example/v2":            true,
		"http://127.0.0.1:1/v2":               true,
		"http://127.9.9.9/v2":                 true,
		"http://localhost/v2":                 true,
		"http://LocalHost/v2":                 true,
		"http://[::1]:1/v2":                   true,
		"http://[::ffff:127.0.0.1]/v2":        true,
		"http://10.0.0.1/v2":                  false,
		"http://0.0.0.0/v2":                   false,
		"http://[::]/v2":                      false,
		"http://127.0.0.1.evil.example/v2":    false,
		"http://localhost.evil.example/v2":    false,
		"http://localhost@evil.example/v2":    false,
		"http://127.0.0.1:80@evil.example/v2": false,
		"http://[::ffff:10.0.0.1]/v2":         false,
		"http://[fe80::1%25lo]/v2":            false,
		"http://2130706433/v2":                false,
		"http:///v2":                          false,
		"perks.example":                       false,
		"HTTP://10.0.0.1/v2":                  false,
	} {
		env := map[string]string{session.EnvAPIURL: address, session.EnvToken: "t"}
		_, _, err := start(t, "", env).Connect()
		var usage *command.UsageError
		if allowed != (err == nil) || !allowed && !errors.As(err, &usage) {
			t.Errorf("%s: %v", address, err)
		}
	}
}
