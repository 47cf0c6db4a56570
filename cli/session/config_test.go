package session_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/cli/session"
)

func TestMissingFileIsAnEmptyConfig(t *testing.T) {
	c, err := session.ConfigFile(filepath.Join(t.TempDir(), "config.yaml")).Load()
	if err != nil || len(c.Profiles) != 0 || c.CurrentName() != "default" {
		t.Errorf("got %+v, %v", c, err)
	}
}

func TestUpdateKeepsWhatItDoesNotChange(t *testing.T) {
	file := session.ConfigFile(filepath.Join(t.TempDir(), "perksctl", "config.yaml"))
	work := session.Profile{APIURL: "https://perks.example/v2", ClientID: "c1", Sandbox: true, InsecureHTTP: true}
	home := session.Profile{APIURL: "http://127.0.0.1:8080/v2", ClientID: "c2"}
	add := func(name string, p session.Profile) {
		t.Helper()
		_, err := file.Update(context.Background(), func(c *session.Config) error {
			c.Profiles[name], c.Current = p, name
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	add("work", work)
	add("home", home)
	got, err := file.Load()
	want := session.Config{Current: "home", Profiles: map[string]session.Profile{"work": work, "home": home}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

func TestRemoveSelectsTheOnlyOtherProfile(t *testing.T) {
	for _, test := range []struct {
		profiles, current, remove, want string
	}{
		{"default a b", "a", "b", "a"},
		{"default a b", "a", "a", "default"},
		{"a b", "a", "a", "b"},
		{"a b c", "a", "a", "default"}, // which does not exist
		{"a b", "", "a", "b"},
		{"default b", "", "default", "b"},
		{"a", "a", "a", "default"},
	} {
		c := session.Config{Current: test.current, Profiles: map[string]session.Profile{}}
		for _, name := range strings.Fields(test.profiles) {
			c.Profiles[name] = session.Profile{}
		}
		c.Remove(test.remove)
		if _, known := c.Profiles[test.remove]; known || c.CurrentName() != test.want {
			t.Errorf("%+v: current is %s, want %s", test, c.CurrentName(), test.want)
		}
	}
}

func TestFailedChangeKeepsTheFile(t *testing.T) {
	file := session.ConfigFile(filepath.Join(t.TempDir(), "config.yaml"))
	wrong := errors.New("no")
	_, err := file.Update(context.Background(), func(c *session.Config) error { c.Current = "x"; return wrong })
	if !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(string(file)); !os.IsNotExist(err) {
		t.Errorf("wrote the file: %v", err)
	}
}

func TestConcurrentChangesAreKept(t *testing.T) {
	file := session.ConfigFile(filepath.Join(t.TempDir(), "config.yaml"))
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			_, err := file.Update(context.Background(), func(c *session.Config) error {
				c.Profiles[fmt.Sprint("p", i)] = session.Profile{}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if c, _ := file.Load(); len(c.Profiles) != 8 {
		t.Errorf("%d profiles, want 8", len(c.Profiles))
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{"work": true, "a.b-c_9": true, "": false, "-x": false, "a/b": false,
		"..": false, "a b": false} {
		if err := session.CheckName("profile", name); (err == nil) != ok {
			t.Errorf("CheckName(%q) = %v", name, err)
		}
	}
}
