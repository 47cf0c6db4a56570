package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/tui/screen"
)

var (
	live    = screen.Profile{Name: "work", APIURL: "https://perks.example/v2", ClientID: "acme"}
	sandbox = screen.Profile{Name: "trial", APIURL: "https://perks.example/v2", ClientID: "acme", Sandbox: true}
)

func remember(t *testing.T, m *memory, p screen.Profile, kind string, ids ...string) {
	t.Helper()
	for _, id := range ids {
		if err := m.Remember(p, kind, id); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecentIDsArePerService(t *testing.T) {
	dir := t.TempDir()
	m := newMemory(dir, &bytes.Buffer{})
	remember(t, m, live, "property", "1", "2", "3", "1")
	remember(t, m, live, "user", "alice")
	remember(t, m, sandbox, "property", "9")
	later := newMemory(dir, &bytes.Buffer{}) // another session
	renamed := live
	renamed.Name = "office"
	for _, test := range []struct {
		profile screen.Profile
		kind    string
		want    []string
	}{
		{live, "property", []string{"1", "3", "2"}}, {renamed, "property", []string{"1", "3", "2"}},
		{live, "user", []string{"alice"}}, {sandbox, "property", []string{"9"}}, {sandbox, "user", nil},
	} {
		if got := later.Recent(test.profile, test.kind); !slices.Equal(got, test.want) {
			t.Errorf("%s %s: %q, want %q", test.profile.Name, test.kind, got, test.want)
		}
	}
	info, err := os.Stat(filepath.Join(dir, "recent.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("recent.json is readable by others: %v, %v", info.Mode(), err)
	}
}

func TestSettingsAreKeptForTheNextSession(t *testing.T) {
	dir := t.TempDir()
	for _, value := range []string{"light", "dark"} {
		if err := newMemory(dir, &bytes.Buffer{}).KeepSetting("theme", value); err != nil {
			t.Fatal(err)
		}
		if got := newMemory(dir, &bytes.Buffer{}).Setting("theme"); got != value {
			t.Errorf("the theme is %q, want %q", got, value)
		}
	}
	if got := newMemory(dir, &bytes.Buffer{}).Setting("mouse"); got != "" {
		t.Errorf("the mouse is %q", got)
	}
	none := newMemory("", &bytes.Buffer{})
	if err := none.KeepSetting("theme", "dark"); err != nil || none.Setting("theme") != "" {
		t.Errorf("without a directory: %v", err)
	}
}

func TestTheLastEditIsKeptForUndoInALaterSession(t *testing.T) {
	dir := t.TempDir()
	m := newMemory(dir, &bytes.Buffer{})
	save := func(p screen.Profile, title string) {
		t.Helper()
		if err := m.SaveUndo(p, "property-42", map[string]string{"before": title}); err != nil {
			t.Fatal(err)
		}
	}
	save(live, "One")
	save(live, "Two")
	save(sandbox, "Other")
	later := newMemory(dir, &bytes.Buffer{})
	if got := later.Undo(live, "property-42")["before"]; got != "Two" {
		t.Errorf("kept %q", got)
	}
	elsewhere := live
	elsewhere.APIURL = "https://other.example/v2"
	if got := later.Undo(elsewhere, "property-42"); got != nil {
		t.Errorf("at another service: %q", got)
	}
	info, err := os.Stat(filepath.Join(dir, "undo.json"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("undo.json is readable by others: %v, %v", info, err)
	}
	save(live, strings.Repeat("x", maxDraft)) // too long to keep: what was before it must not be undone instead
	if got := later.Undo(live, "property-42"); got != nil {
		t.Errorf("an older edit would be undone: %q", got)
	}
	for i := range maxUndos {
		if err := m.SaveUndo(live, fmt.Sprint("property-", i), map[string]string{"before": "One"}); err != nil {
			t.Fatal(err)
		}
	}
	if first := m.Undo(sandbox, "property-42"); first != nil {
		t.Errorf("more than %d are kept", maxUndos)
	}
	if err := newMemory("", &bytes.Buffer{}).SaveUndo(live, "property-42", nil); err != nil {
		t.Errorf("without a directory: %v", err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(t.TempDir(), &bytes.Buffer{})
	for i := range maxRecent + 5 {
		remember(t, m, live, "user", fmt.Sprint("u", i))
	}
	if ids := m.Recent(live, "user"); len(ids) != maxRecent || ids[0] != fmt.Sprint("u", maxRecent+4) {
		t.Errorf("%d ids, the first is %s", len(ids), ids[0])
	}
	for i := range maxLists {
		remember(t, m, screen.Profile{ClientID: fmt.Sprint("c", i)}, "user", "u")
	}
	if ids := m.Recent(live, "user"); ids != nil {
		t.Errorf("the least recently used list still exists: %q", ids)
	}
	for i := range maxDrafts + 1 {
		if err := m.SaveDraft(live, fmt.Sprint("form", i), map[string]string{"title": "x"}); err != nil {
			t.Fatal(err)
		}
	}
	if first, last := m.Draft(live, "form0"), m.Draft(live, fmt.Sprint("form", maxDrafts)); first != nil ||
		last == nil {
		t.Errorf("the first draft is %v, the last %v", first, last)
	}
	if err := m.SaveDraft(live, "novel", map[string]string{"title": strings.Repeat("x", maxDraft)}); err == nil {
		t.Error("saved a draft beyond the limit")
	}
}

func TestDraftsAreSavedUntilTheyAreDiscarded(t *testing.T) {
	dir := t.TempDir()
	m := newMemory(dir, &bytes.Buffer{})
	text := map[string]string{"title": "A flat\nby the 海", "price_pw": ""}
	if err := m.SaveDraft(live, "property 42", text); err != nil {
		t.Fatal(err)
	}
	m.close()
	m = newMemory(dir, &bytes.Buffer{})
	if diff := cmp.Diff(text, m.Draft(live, "property 42")); diff != "" {
		t.Error(diff)
	}
	if got := m.Draft(sandbox, "property 42"); got != nil {
		t.Errorf("the sandbox has the draft of the live property: %v", got)
	}
	for range 2 {
		if err := m.SaveDraft(live, "property 42", nil); err != nil || m.Draft(live, "property 42") != nil {
			t.Errorf("discarding: %v", err)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "drafts.json")); !os.IsNotExist(err) {
		t.Errorf("drafts.json still exists without drafts: %v", err)
	}
}

// TestNoDraftOfARunningProcessIsOffered edits one property in two sessions. The first is killed, which leaves its file.
func TestNoDraftOfARunningProcessIsOffered(t *testing.T) {
	dir := t.TempDir()
	first, second := newMemory(dir, &bytes.Buffer{}), newMemory(dir, &bytes.Buffer{})
	save := func(m *memory, title string) {
		t.Helper()
		if err := m.SaveDraft(live, "property 42", map[string]string{"title": title}); err != nil {
			t.Fatal(err)
		}
	}
	check := func(m *memory, want string) {
		t.Helper()
		if got := m.Draft(live, "property 42")["title"]; got != want {
			t.Errorf("the draft is %q, want %q", got, want)
		}
	}
	save(first, "of the first")
	check(second, "")
	save(second, "of the second")
	check(first, "of the first")
	if err := second.SaveDraft(live, "property 42", nil); err != nil {
		t.Fatal(err)
	}
	check(first, "of the first")
	if err := first.alive.Unlock(); err != nil {
		t.Fatal(err)
	}
	check(second, "of the first")
	save(second, "resumed")
	second.close()
	check(newMemory(dir, &bytes.Buffer{}), "resumed")
	if locks, err := filepath.Glob(filepath.Join(dir, "draft-*")); len(locks) > 0 || err != nil {
		t.Errorf("left %q, %v", locks, err)
	}
}

func TestDamagedFileIsReplacedWithOneWarning(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		mode os.FileMode
	}{
		"half a file":        {`[{"kind":"user","ids":["al`, 0o600},
		"another shape":      {`{"user": 7}`, 0o600},
		"nothing":            {"", 0o600},
		"readable by others": {"[]", 0o644},
		"a wrong element":    {`[{"kind":7}]`, 0o600},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "recent.json")
		if err := os.WriteFile(path, []byte(test.text), test.mode); err != nil {
			t.Fatal(err)
		}
		var messages bytes.Buffer
		m := newMemory(dir, &messages)
		if ids := m.Recent(live, "user"); ids != nil {
			t.Errorf("%s: %q", name, ids)
		}
		remember(t, m, live, "user", "alice", "bob")
		if ids := m.Recent(live, "user"); !slices.Equal(ids, []string{"bob", "alice"}) {
			t.Errorf("%s: recent %q", name, ids)
		}
		if text, err := os.ReadFile(path + ".unreadable"); err != nil || string(text) != test.text {
			t.Errorf("%s: no copy of the unreadable file: %q, %v", name, text, err)
		}
		if lines := strings.Count(messages.String(), "\n"); lines != 1 ||
			!strings.HasPrefix(messages.String(), "warning: recent.json cannot be read; starting a new one: ") {
			t.Errorf("%s: messages %q", name, &messages)
		}
	}
}

func TestConcurrentSessionsShareTheMemory(t *testing.T) {
	dir := t.TempDir()
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() { remember(t, newMemory(dir, &bytes.Buffer{}), live, "user", fmt.Sprint("u", i)) })
	}
	group.Wait()
	if ids := newMemory(dir, &bytes.Buffer{}).Recent(live, "user"); len(ids) != 6 {
		t.Errorf("recent %q, want 6", ids)
	}
}

func TestWithoutADirectoryNothingIsSaved(t *testing.T) {
	m := newMemory("", &bytes.Buffer{})
	if err := m.Remember(live, "user", "alice"); err != nil || m.Recent(live, "user") != nil {
		t.Errorf("remembering: %v", err)
	}
	if err := m.SaveDraft(live, "form", nil); err != nil || m.Draft(live, "form") != nil {
		t.Errorf("discarding a draft: %v", err)
	}
	if err := m.SaveDraft(live, "form", map[string]string{"a": "b"}); err == nil ||
		!strings.Contains(err.Error(), "PERKSCTL_CONFIG_DIR") {
		t.Errorf("saving a draft: %v", err)
	}
}
