package postgres

import (
	"testing"
	"time"

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

// attempt is one of the client "client", without a key.
func attempt(id, perkID, userID string) store.RedeemAttempt {
	return store.RedeemAttempt{ID: id, PerkID: perkID, UserID: userID, ClientID: "client", At: time.Now()}
}

// newcomer is an attempt that creates its user.
func newcomer(id, perkID, userID string) store.RedeemAttempt {
	a := attempt(id, perkID, userID)
	a.CreateUser = true
	return a
}
