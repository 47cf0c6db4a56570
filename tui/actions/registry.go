package actions

import (
	"fmt"
	"maps"
	"slices"
)

// Registry is the actions with the keys that this person uses.
type Registry struct {
	actions []Action
	byID    map[ID]Action
}

// NewRegistry makes the registry. Each override gives an action other keys than its own; an empty list leaves it to the
// command palette. The error names an action that is not known, a key that cannot be one or would never reach its action, and
// two actions that would meet under the same key.
func NewRegistry(overrides map[ID][]string) (*Registry, error) {
	r := &Registry{actions: all(), byID: map[ID]Action{}}
	known := map[ID]bool{}
	for i := range r.actions {
		a := &r.actions[i]
		known[a.ID] = true
		if keys, ok := overrides[a.ID]; ok {
			a.Keys = slices.Clone(keys)
		}
		r.byID[a.ID] = *a
	}
	for _, id := range slices.Sorted(maps.Keys(overrides)) {
		if !known[id] {
			return nil, fmt.Errorf("there is no action %q", id)
		}
		if err := checkKeys(r.byID[id]); err != nil {
			return nil, err
		}
	}
	return r, r.checkConflicts()
}

// Default returns the registry without overrides.
func Default() *Registry {
	r, err := NewRegistry(nil)
	if err != nil {
		panic(err) // a test holds the actions against this
	}
	return r
}

func (r *Registry) checkConflicts() error {
	for _, place := range meetings() {
		taken := map[string]ID{}
		for _, a := range r.actions {
			if !slices.Contains(place, a.ID.Group()) {
				continue
			}
			for _, key := range a.Keys {
				if other, ok := taken[key]; ok && other != a.ID && !mayShare(other, a.ID) {
					return fmt.Errorf("the key %q is that of both %s and %s", key, other, a.ID)
				}
				taken[key] = a.ID
			}
		}
	}
	return nil
}

// meetings returns the places with the groups that work everywhere.
func meetings() [][]string {
	all := [][]string{{"confirm"}}
	for _, place := range places {
		all = append(all, append(slices.Clone(place), "app"))
	}
	return all
}

// mayShare tells whether two actions can have a key in common: a form is left by the key that goes back.
func mayShare(a, b ID) bool { return a == Cancel && b == Back }

// Actions returns all actions in the order of the help.
func (r *Registry) Actions() []Action { return r.actions }

// Action returns one action; the zero Action if there is none.
func (r *Registry) Action(id ID) Action { return r.byID[id] }

// Find returns the first of the offers that has the key. While text is being typed, it returns only what works then, and
// never anything for a key that prints.
func (r *Registry) Find(key string, typing bool, offers []Offer) (Offer, bool) {
	for _, offer := range offers {
		a := r.byID[offer.ID]
		if typing && (!a.Typing || Prints(key)) {
			continue
		}
		if slices.Contains(a.Keys, key) {
			return offer, true
		}
	}
	return Offer{}, false
}

// Key returns the first key of an action as people read it, "" if it has none.
func (r *Registry) Key(id ID) string {
	if keys := r.byID[id].Keys; len(keys) > 0 {
		return Spell(keys[0])
	}
	return ""
}

// Spell writes a key as people read it.
func Spell(key string) string {
	switch key {
	case " ":
		return "space"
	case "up":
		return "↑"
	case "down":
		return "↓"
	case "left":
		return "←"
	case "right":
		return "→"
	case "pgdown":
		return "pgdn"
	}
	return key
}
