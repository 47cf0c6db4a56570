package actions

import (
	"slices"
	"testing"
)

func TestEveryGroupIsInAPlace(t *testing.T) {
	for _, a := range all() {
		group := a.ID.Group()
		if !slices.ContainsFunc(contexts, func(place []string) bool { return slices.Contains(place, group) }) {
			t.Errorf("%s is in no place, so that nothing keeps others from its keys", a.ID)
		}
	}
}

func TestEveryKeyOfOurOwnCouldBeChosen(t *testing.T) {
	for _, a := range all() {
		if _, err := NewRegistry(map[ID][]string{a.ID: a.Keys}); err != nil {
			t.Error(err)
		}
	}
}
