package store_test

import (
	"testing"

	"example.com/perks/store/storetest"
)

var noError = storetest.NoError

func must[T any](value T, err error) func(testing.TB) T { return storetest.Must(value, err) }
