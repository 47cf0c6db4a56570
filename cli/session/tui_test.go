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
	for text, want := range map[string]session.TUISettings{
		"{}":                               {},
		"tui: {theme: light, mouse: true}": {Theme: "light", Mouse: &on},
		"tui: {accessible: true}":          {Accessible: true},
		"tui: {keys: {record.redeem: [r, " +
			"f5]}}": {Keys: map[string]session.KeySettings{"record.redeem": {Keys: []string{"r",
			"f5"}}}},
		"tui: {keys: {record.redeem: " +
			"f5}}": {Keys: map[string]session.KeySettings{"record.redeem": {Keys: []string{"f5"}}}},
		"tui: {keys: {confirm.yes: y, app.a: " +
			"[n]}}": {Keys: map[string]session.KeySettings{"confirm.yes": {Keys: []string{"y"}},
			"app.a": {Keys: []string{"n"}}}},
		"tui: {keys: {app.perks: [1, no, ' " +
			"']}}": {Keys: map[string]session.KeySettings{"app.perks": {Keys: []string{"1", "no",
			" "}}}},
		"tui: {keys: {app.perks: " +
			"[]}}": {Keys: map[string]session.KeySettings{"app.perks": {Keys: []string{}}}},
		"tui: {keys: {record.redeem: {keys: [j], override: " +
			"true}}}": {Keys: map[string]session.KeySettings{"record.redeem": {Keys: []string{"j"}, Override: true}}},
		"tui: {commands: [{key: f9, name: Open ticket, command: [open, " +
			"'{{.ID}}']}]}": {Commands: []session.CommandSettings{{Key: "f9", Name: "Open ticket",
			Command: []string{"open", "{{.ID}}"}}}},
		"tui: {keys: {app.perks: }}": {Keys: map[string]session.KeySettings{"app.perks": {}}},
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
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return session.ConfigFile(path).Load()
}

func TestUpdateKeepsTUISettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path,
		[]byte("tui: {theme: dark, keys: {record.redeem: [r, ' '], app.perks: {keys: [j], override: true}}, mouse: "+
			"false}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := session.ConfigFile(path).Update(context.Background(), func(c *session.Config) error {
		c.Profiles["work"] = session.Profile{APIURL: "https://perks.example/v2"}
		return nil
	})
	got, loadErr := session.ConfigFile(path).Load()
	off := false
	want := session.TUISettings{Theme: "dark", Mouse: &off, Keys: map[string]session.KeySettings{
		"record.redeem": {Keys: []string{"r", " "}}, "app.perks": {Keys: []string{"j"}, Override: true},
	}}
	if diff := cmp.Diff(want, got.TUI); diff != "" || err != nil || loadErr != nil {
		t.Error(diff, err, loadErr)
	}
}
