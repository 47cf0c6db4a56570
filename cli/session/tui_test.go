package session_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/cli/session"
)

func TestSettingsOfTheTerminalUI(t *testing.T) {
	on := true
	type keys = map[string]session.KeySettings
	only := func(action string, names ...string) session.TUISettings {
		return session.TUISettings{Keys: keys{action: {Keys: names}}}
	}
	for text, want := range map[string]session.TUISettings{
		"{}":                                              {},
		"tui: {theme: light, mouse: true}":                {Theme: "light", Mouse: &on},
		"tui: {accessible: true}":                         {Accessible: true},
		"tui: {notify: bell}":                             {Notify: "bell"},
		"tui: {keys: {record.redeem: [r, f5]}}":           only("record.redeem", "r", "f5"),
		"tui: {keys: {record.redeem: f5}}":                only("record.redeem", "f5"),
		"tui: {keys: {app.perks: [1, no, ' ']}}":          only("app.perks", "1", "no", " "),
		"tui: {keys: {app.perks: []}}":                    {Keys: keys{"app.perks": {Keys: []string{}}}},
		"tui: {keys: {app.perks: }}":                      only("app.perks"),
		"tui: {keys: {a.b: {keys: [j], override: true}}}": {Keys: keys{"a.b": {Keys: []string{"j"}, Override: true}}},
		"tui: {commands: [{key: f9, name: Ticket, command: [open, '{{.ID}}']}]}": {Commands: []session.CommandSettings{
			{Key: "f9", Name: "Ticket", Command: []string{"open", "{{.ID}}"}},
		}},
	} {
		got, err := load(t, text)
		if diff := cmp.Diff(want, got.TUI); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"tui: {thème: light}":                    "thème",
		"tui:\n  keys:\n    app.perks: {key: x}": "line 3",
		"tui: {commands: [{kye: x}]}":            "kye",
		"tui: {mouse: often}":                    "often",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func load(t *testing.T, text string) (session.Config, error) {
	return session.ConfigFile(write(t, text)).Load()
}

// write writes a configuration, and returns its path.
func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestUpdateKeepsTUISettings(t *testing.T) {
	path := write(t, "tui: {theme: dark, keys: {a.b: [r, ' '], c.d: {keys: [j], override: true}}, mouse: false}\n")
	_, err := session.ConfigFile(path).Update(context.Background(), func(c *session.Config) error {
		c.Profiles["work"] = session.Profile{APIURL: "https://perks.example/v2"}
		return nil
	})
	got, loadErr := session.ConfigFile(path).Load()
	off := false
	want := session.TUISettings{Theme: "dark", Mouse: &off, Keys: map[string]session.KeySettings{
		"a.b": {Keys: []string{"r", " "}}, "c.d": {Keys: []string{"j"}, Override: true},
	}}
	if diff := cmp.Diff(want, got.TUI); diff != "" || err != nil || loadErr != nil {
		t.Error(diff, err, loadErr)
	}
}
