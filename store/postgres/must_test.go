package postgres

import (
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// must returns a function that returns the value, or stops the test.
func must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		noError(t, err)
		return value
	}
}

// noError stops the test if there is an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// by selects perks with a filter.
func by(filter api.PerkFilter) store.PerkQuery { return store.PerkQuery{PerkFilter: filter} }
