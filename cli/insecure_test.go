package cli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/session"
)

// TestInsecureHTTPIsOnlyForItsAddress logs in at another address with a profile that allows http.
func TestInsecureHTTPIsOnlyForItsAddress(t *testing.T) {
	x := newTerminal(t, nil)
	config := filepath.Join(x.env[session.EnvConfigDir], "config.yaml")
	const before = "profiles:\n  old:\n    api-url: http://192.0.2.1:1/v2\n    client-id: c\n    insecure-http: true\n"
	write(t, config, before)
	for _, env := range []string{"", "http://192.0.2.2:1/v2"} {
		x.env[session.EnvAPIURL] = env
		args := []string{"auth", "login", "--profile", "old", "--secret-stdin"}
		if env == "" {
			args = append(args, "--api-url", "http://192.0.2.2:1/v2")
		}
		if r := x.run(args...); r.code != 2 || !strings.Contains(r.err, "would send the secret unencrypted") {
			t.Errorf("with %q in the environment: %+v", env, r)
		}
	}
	if r := x.run("perk", "list", "--profile", "old"); r.code != 2 ||
		!strings.Contains(r.err, "would send the secret unencrypted") {
		t.Errorf("an address from the environment: %+v", r)
	}
	x.env[session.EnvAPIURL] = ""
	if r := x.run("profile", "show", "--profile", "old", "-o", "json"); !strings.Contains(r.out,
		`"insecure_http": true`) {
		t.Errorf("insecure-http was removed: %+v", r)
	}
}
