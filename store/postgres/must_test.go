package postgres

import (
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var noError = storetest.NoError

func must[T any](value T, err error) func(testing.TB) T { return storetest.Must(value, err) }

// by selects perks with a filter.
func by(filter api.PerkFilter) store.PerkQuery { return store.PerkQuery{PerkFilter: filter} }
