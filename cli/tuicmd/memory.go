package tuicmd

import (
	"errors"
	"io"
	"maps"
	"path/filepath"
	"slices"

	"example.com/perks/tui/screen"
)

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
	in := func(name string) string {
		if folder == "" {
			return ""
		}
		return filepath.Join(folder, name)
	}
	return &memory{kept[recent]{path: in("recent.json"), told: told}, kept[draft]{path: in("drafts.json"), told: told}}
}

// Recent returns the ids that were opened last.
func (m *memory) Recent(profile screen.Profile, kind string) []string {
	all := m.recent.load()
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
	for _, d := range m.drafts.load() {
		if d.place == placeOf(profile) && d.Name == name {
			return d.Values
		}
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
