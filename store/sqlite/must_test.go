package sqlite

import (
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

var noError = storetest.NoError

// errOf returns the error of a call and drops its value.
func errOf[T any](_ T, err error) error { return err }

func must[T any](value T, err error) func(testing.TB) T { return storetest.Must(value, err) }

// by selects perks with a filter.
func by(filter api.PerkFilter) store.PerkQuery { return store.PerkQuery{PerkFilter: filter} }

// redeemedIf selects redemptions with a filter.
func redeemedIf(filter api.RedemptionFilter) store.RedemptionQuery {
	return store.RedemptionQuery{RedemptionFilter: filter}
}

// execute runs statements in one transaction.
func execute(t *testing.T, db *DB, statements ...string) {
	t.Helper()
	noError(t, db.write(t.Context(), "work by hand", func(s *session) error {
		return s.script(strings.Join(statements, "; "))
	}))
}
