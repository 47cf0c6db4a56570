package actions

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// NewRegistry makes the registry with other keys for some actions. The error also names keys that are bound twice.
func NewRegistry(overrides map[ID][]string) (*Registry, error) {
	all := map[ID]Override{}
	for id, keys := range overrides {
		all[id] = Override{Keys: keys}
	}
	r, clashes, err := Configure(all)
	if err == nil && clashes != nil {
		err = errors.New(strings.Join(clashes, "; "))
	}
	return r, err
}

func TestEveryGroupHasAContext(t *testing.T) {
	for _, a := range all() {
		if !slices.ContainsFunc(contexts, func(context []string) bool { return isIn(context, a.ID) }) {
			t.Errorf("%s is in no context, so conflicts of its keys are not found", a.ID)
		}
	}
}

func TestDefaultKeysAreValid(t *testing.T) {
	for _, a := range all() {
		if _, err := NewRegistry(map[ID][]string{a.ID: a.Keys}); err != nil {
			t.Error(err)
		}
	}
}
