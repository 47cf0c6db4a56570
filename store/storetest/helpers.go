package storetest

import (
	"errors"
	"iter"
	"reflect"
	"strings"
	"testing"

	"example.com/perks/api"
)

// Must returns a function that returns the value, or stops the test.
func Must[T any](value T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		NoError(t, err)
		return value
	}
}

// NoError stops the test if there is an error.
func NoError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Equal reports what is not as wanted.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Fails reports an error other than the wanted one: one with that code, that error, or one with that text.
func Fails(t testing.TB, what string, err error, want any) {
	t.Helper()
	isWanted := false
	switch want := want.(type) {
	case api.Code:
		isWanted = api.CodeOf(err) == want
	case error:
		isWanted = errors.Is(err, want)
	case string:
		isWanted = err != nil && strings.Contains(err.Error(), want)
	}
	if !isWanted {
		t.Errorf("%s: the error is %v, want %v", what, err, want)
	}
}

// Execute runs statements one after the other on a new connection to PostgreSQL.
func Execute(t testing.TB, address string, statements ...string) {
	t.Helper()
	NoError(t, execute(t.Context(), "run the statements", address, statements...))
}

// AtEnd calls end when the test ends, and reports its error.
func AtEnd(t testing.TB, end func() error) {
	t.Helper()
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

// Rows returns the records as an import takes them.
func Rows[T any](records ...T) iter.Seq2[T, error] {
	return Numbered(len(records), func(i int) T { return records[i] })
}

// Numbered returns as many records as an import takes them. record makes each of its number, from 0.
func Numbered[T any](count int, record func(i int) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for i := range count {
			if !yield(record(i), nil) {
				return
			}
		}
	}
}
