package cli_test

import (
	"encoding/base64"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cli/session"
	"example.com/perks/server/servertest"
)

// secretForms returns encodings of a secret by name.
func secretForms(secret string) map[string]string {
	forms := map[string]string{"as it is": secret, "URL-encoded": url.QueryEscape(secret)}
	for before, name := range []string{"in base64", "in base64, one behind", "in base64, two behind"} {
		text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		// without characters that depend on the surrounding text
		forms[name] = text[(before*8+5)/6 : (before+len(secret))*8/6]
	}
	return forms
}

// findSecret returns which secret is in the text, or "".
func findSecret(text string, secrets map[string]string) string {
	for what, secret := range secrets {
		for form, hidden := range secretForms(secret) {
			if strings.Contains(text, hidden) {
				return what + " " + form
			}
		}
	}
	return ""
}

// spyEditor is an editor that records everything it can see of perksctl, and changes the title.
const spyEditor = `#!/bin/sh
{ env; cat /proc/[0-9]*/cmdline | tr '\0' ' '; cat "$1"; } > "$SPIED" 2>/dev/null
sed -i 's/^title: .*/title: Edited by a spy/' "$1"
`

// TestSecretsAreNotDisclosed runs every command with and without a trace, with success and failure, and searches all
// output and files for the secret and the tokens.
func TestSecretsAreNotDisclosed(t *testing.T) {
	for _, from := range []string{"the file", "the environment", "a token"} {
		t.Run(from, func(t *testing.T) {
			facts := seed(servertest.Start(t))
			work := t.TempDir()
			x := newTerminal(t, map[string]string{
				session.EnvClientSecret: facts["SECRET"], "HOME": work, "TMPDIR": work, "XDG_STATE_HOME": work,
				"XDG_CACHE_HOME": work,
				"SPIED":          filepath.Join(work, "spied"), "EDITOR": "sh " +
					write(t, filepath.Join(work, "spy"), spyEditor),
				"VISUAL": "",
			})
			x.env[session.EnvConfigDir] = filepath.Join(work, "config")
			x.must("login", "--api-url", facts["API_URL"], "--client-id", facts["CLIENT"])
			token := strings.TrimSpace(x.must("auth", "token").out)
			secrets := map[string]string{"the secret": facts["SECRET"], "the other's secret": facts["OTHER_SECRET"],
				"the token": token}
			switch from {
			case "the file":
				delete(x.env, session.EnvClientSecret)
			case "a token":
				delete(x.env, session.EnvClientSecret)
				x.env[session.EnvToken] = token
			}

			lines := commandLines(facts)
			for _, line := range []string{
				"perk get nowhere", "perk redeem nowhere --user nobody", "property get 7", "property delete 99 --yes",
				"property history 42", "property restore 42",
				"property update 42 --title=", "api POST nowhere --field a=b",
				"api GET auth/token", "perk list --timeout 1ns", "doctor", "property edit 42 --yes",
				"perk list --sort titel", "no-such-command", "auth status -o yaml",
				"perk redeem --file " + write(t, filepath.Join(work, "redeem.csv"),
					"perk_id,user_id\nspa-day,bob\nnowhere,bob\n"),
				"property update --file " + write(t, filepath.Join(work, "update.jsonl"),
					`{"propertyId":43,"title":"Bulk"}`+"\n"),
			} {
				lines = append(lines, strings.Fields(line))
			}
			check := func(args []string) {
				if from != "the environment" && args[0] == "auth" && args[1] == "login" {
					return // needs the secret
				}
				cmd := x.process(args...)
				var out, messages strings.Builder
				cmd.Stdout, cmd.Stderr = &out, &messages
				_ = cmd.Run()
				if found := findSecret(out.String()+messages.String(), secrets); found != "" {
					t.Errorf("perksctl %s shows %s", strings.Join(args, " "), found)
				}
			}
			for i, args := range lines {
				check(append(args, "--debug"))
				if from == "the file" && i%2 == 0 {
					check(args)
				} else if from == "the file" {
					check(append(args, "-o", "json"))
				}
			}
			if spied, err := os.ReadFile(x.env["SPIED"]); err != nil ||
				!strings.Contains(string(spied), "perksctl property edit") {
				t.Errorf("the editor recorded nothing: %v\n%s", err, spied)
			}
			for _, wrong := range []string{"wrong-secret-of-some-length", facts["OTHER_SECRET"]} {
				x.env[session.EnvClientSecret] = wrong
				secrets["a wrong secret"] = wrong
				delete(x.env, session.EnvToken)
				for _, line := range []string{"login --api-url " + facts["API_URL"] + " --client-id " +
					facts["CLIENT"] + " --profile wrong", "perk list", "doctor"} {
					args := append(strings.Fields(line), "--timeout", "2s") // the server throttles after some failures
					check(append(args, "--debug"))
					check(args)
				}
			}
			checkFiles(t, work, secrets)
		})
	}
}

// checkFiles searches all files except those for secrets and tokens.
func checkFiles(t *testing.T, dir string, secrets map[string]string) {
	t.Helper()
	seen := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		seen++
		name, _ := filepath.Rel(dir, path)
		allowed := name == filepath.Join("config", "secrets.json") ||
			strings.HasPrefix(name, filepath.Join("config", "tokens")+string(filepath.Separator))
		if found := findSecret(string(text), secrets); found != "" && !allowed {
			t.Errorf("%s has %s", name, found)
		}
		info, err := entry.Info()
		if allowed && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others: %s", name, info.Mode())
		}
		return err
	})
	if err != nil || seen < 5 {
		t.Errorf("searched %d files, %v", seen, err)
	}
}
