package tuicmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// settings is what flags and configuration say. An empty theme is one that neither of them names.
type settings struct {
	theme      widget.ThemeName
	mouse      bool
	accessible bool
	keys       *actions.Registry
}

func themeNames() string {
	var names []string
	for _, name := range widget.ThemeNames() {
		names = append(names, string(name))
	}
	return strings.Join(names, ", ")
}

// settings reads the configuration. Without a home folder there is none. Beside an error it returns the usual settings.
func (o *options) settings() (settings, error) {
	usual := settings{keys: actions.Default()}
	var kept session.TUISettings
	file, err := o.session.Config()
	if err == nil {
		c, err := file.Load()
		if err != nil {
			return usual, err
		}
		kept = c.TUI
	}
	wrong := func(setting, why string) error {
		return command.Usagef("%s: the setting %s is wrong: %s", string(file), setting, why)
	}
	chosen := settings{mouse: kept.Mouse, accessible: kept.Accessible}
	if o.given("mouse") {
		chosen.mouse = o.mouse
	}
	if o.given("accessible") {
		chosen.accessible = o.accessible
	}
	var problem string
	if chosen.keys, problem = registry(kept.Keys); problem != "" {
		return usual, wrong("tui.keys", problem+" See perksctl tui --list-keys.")
	}
	if kept.Theme != "" {
		if chosen.theme, err = widget.ParseTheme(kept.Theme); err != nil {
			return usual, wrong("tui.theme", err.Error()+".")
		}
	}
	if o.theme != "" {
		if chosen.theme, err = widget.ParseTheme(o.theme); err != nil {
			return usual, command.Usagef("--theme: %s.", err)
		}
	}
	return chosen, nil
}

// blank is how the blank is written where one would not see it.
const blank = "space"

// registry gives the actions their keys, or says as a sentence what cannot be.
func registry(kept map[string]session.KeySettings) (keys *actions.Registry, problem string) {
	var known []string
	for _, action := range actions.Default().Actions() {
		known = append(known, string(action.ID))
	}
	overrides := map[actions.ID][]string{}
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		if !slices.Contains(known, id) {
			return nil, fmt.Sprintf("there is no action %q.%s", id, command.DidYouMean(id, known))
		}
		list := []string{}
		for _, key := range kept[id] {
			if key == blank {
				key = " "
			}
			list = append(list, key)
		}
		overrides[actions.ID(id)] = list
	}
	keys, err := actions.NewRegistry(overrides)
	if err != nil {
		return nil, err.Error() + "."
	}
	return keys, ""
}

// lockTime is how long another process may take that changes the same file.
const lockTime = 3 * time.Second

// kept is a list in a file for its owner alone. A file that cannot be read is an empty list, because none of it is worth
// stopping for; before another takes its place it is put aside, because somebody may miss the text of a draft.
type kept[T any] struct {
	path string // "" where there is no folder to keep anything in
	told io.Writer

	warned sync.Once
}

func (k *kept[T]) read() (list []T, readable bool) {
	if k.path == "" {
		return nil, true
	}
	text, err := command.ReadPrivate(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, true
	}
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err != nil {
		k.warned.Do(func() {
			fmt.Fprintf(k.told, "warning: %s cannot be read and is begun anew: %s.\n", filepath.Base(k.path), err)
		})
		return nil, false
	}
	return list, true
}

// change replaces the list. Other processes that change it come before or after.
func (k *kept[T]) change(change func([]T) []T) error {
	if k.path == "" {
		return errors.New("there is no home folder to keep it in: set " + session.EnvConfigDir)
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockTime)
	defer cancel()
	unlock, err := command.LockFile(ctx, k.path)
	if err != nil {
		return err
	}
	defer unlock()
	list, readable := k.read()
	if !readable {
		if err := os.Rename(k.path, k.path+".unreadable"); err != nil {
			return err
		}
	}
	list = change(list)
	if len(list) == 0 {
		if err := os.Remove(k.path); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return command.WritePrivate(k.path, text)
}

// How much is kept. What has not been touched for longest goes first.
const (
	maxRecent = 20      // ids of a kind at a service
	maxPlaces = 60      // services and kinds that ids are kept of
	maxDrafts = 30      // of all services
	maxDraft  = 1 << 18 // bytes of one draft
)

// memory is a screen.Memory in two files beside the configuration.
type memory struct {
	recent kept[recent]
	drafts kept[draft]
}

// place is a service as one client sees it, live or in the sandbox: the same id means another record in another place.
type place struct {
	APIURL   string `json:"api_url"`
	ClientID string `json:"client_id"`
	Sandbox  bool   `json:"sandbox,omitempty"`
}

func placeOf(p screen.Profile) place { return place{p.APIURL, p.ClientID, p.Sandbox} }

type recent struct {
	place
	Kind string   `json:"kind"`
	IDs  []string `json:"ids"` // the latest first
}

type draft struct {
	place
	Name   string            `json:"name"`
	Values map[string]string `json:"values"`
}

// newMemory makes the memory in a folder; with "" nothing is remembered.
func newMemory(folder string, told io.Writer) *memory {
	m := &memory{kept[recent]{told: told}, kept[draft]{told: told}}
	if folder != "" {
		m.recent.path, m.drafts.path = filepath.Join(folder, "recent.json"), filepath.Join(folder, "drafts.json")
	}
	return m
}

// Recent returns the ids that were opened last.
func (m *memory) Recent(profile screen.Profile, kind string) []string {
	all, _ := m.recent.read()
	if i := slices.IndexFunc(all, func(r recent) bool { return r.place == placeOf(profile) && r.Kind == kind }); i >= 0 {
		return all[i].IDs
	}
	return nil
}

// Remember puts an id first. Where there is no folder that is no failure: it is not what anybody has asked for.
func (m *memory) Remember(profile screen.Profile, kind, id string) error {
	if m.recent.path == "" {
		return nil
	}
	return m.recent.change(func(all []recent) []recent {
		this := recent{placeOf(profile), kind, nil}
		all = slices.DeleteFunc(all, func(r recent) bool {
			if r.place != this.place || r.Kind != kind {
				return false
			}
			this.IDs = r.IDs
			return true
		})
		this.IDs = slices.DeleteFunc(this.IDs, func(other string) bool { return other == id })
		this.IDs = atMost(maxRecent, slices.Insert(this.IDs, 0, id))
		return atMost(maxPlaces, slices.Insert(all, 0, this))
	})
}

// Draft returns the text that was kept of a form.
func (m *memory) Draft(profile screen.Profile, name string) map[string]string {
	all, _ := m.drafts.read()
	if i := slices.IndexFunc(all, func(d draft) bool { return d.place == placeOf(profile) && d.Name == name }); i >= 0 {
		return all[i].Values
	}
	return nil
}

// KeepDraft keeps the text of a form; nil drops it.
func (m *memory) KeepDraft(profile screen.Profile, name string, values map[string]string) error {
	if values == nil && m.drafts.path == "" {
		return nil
	}
	size := 0
	for field, text := range values {
		size += len(field) + len(text)
	}
	if size > maxDraft {
		return errors.New("the text is too long to be kept")
	}
	return m.drafts.change(func(all []draft) []draft {
		all = slices.DeleteFunc(all, func(d draft) bool { return d.place == placeOf(profile) && d.Name == name })
		if values == nil {
			return all
		}
		return atMost(maxDrafts, slices.Insert(all, 0, draft{placeOf(profile), name, maps.Clone(values)}))
	})
}

func atMost[T any](n int, list []T) []T { return list[:min(n, len(list))] }
