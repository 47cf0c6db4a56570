package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/cli/config"
)

func TestSettingsOfTheTerminalUI(t *testing.T) {
	for text, want := range map[string]config.TUI{
		"{}":                                        {},
		"tui: {theme: light, mouse: true}":          {Theme: "light", Mouse: true},
		"tui: {accessible: true}":                   {Accessible: true},
		"tui: {keys: {record.redeem: [r, f5]}}":     {Keys: map[string]config.Keys{"record.redeem": {"r", "f5"}}},
		"tui: {keys: {record.redeem: f5}}":          {Keys: map[string]config.Keys{"record.redeem": {"f5"}}},
		"tui: {keys: {confirm.yes: y, app.a: [n]}}": {Keys: map[string]config.Keys{"confirm.yes": {"y"}, "app.a": {"n"}}},
		"tui: {keys: {app.perks: [1, no, ' ']}}":    {Keys: map[string]config.Keys{"app.perks": {"1", "no", " "}}},
		"tui: {keys: {app.perks: []}}":              {Keys: map[string]config.Keys{"app.perks": {}}},
		"tui: {keys: {app.perks: }}":                {Keys: map[string]config.Keys{"app.perks": nil}},
	} {
		got, err := load(t, text)
		if diff := cmp.Diff(want, got.TUI); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		"tui: {thème: light}":              "thème",
		"tui:\n  keys:\n    app.perks: {}": "line 3",
		"tui: {mouse: often}":              "often",
	} {
		if _, err := load(t, text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

func load(t *testing.T, text string) (config.Config, error) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return config.File(path).Load()
}

func TestAChangedProfileLeavesTheTerminalUIAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte("tui: {theme: dark, keys: {record.redeem: [r, ' ']}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	err := config.File(path).Update(context.Background(), func(c *config.Config) error {
		c.Profiles["work"] = config.Profile{APIURL: "https://perks.example/v2"}
		return nil
	})
	got, loadErr := config.File(path).Load()
	want := config.TUI{Theme: "dark", Keys: map[string]config.Keys{"record.redeem": {"r", " "}}}
	if diff := cmp.Diff(want, got.TUI); diff != "" || err != nil || loadErr != nil {
		t.Error(diff, err, loadErr)
	}
}
