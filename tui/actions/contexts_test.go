package actions

import (
	"slices"
	"testing"
)

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
