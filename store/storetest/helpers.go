package storetest

import (
	"errors"
	"iter"
	"os"
	"reflect"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
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

// OneIn tells whether to try the combination with the number: one in n, or all of them if PERKS_ENDURANCE is "long".
func OneIn(n, number int) bool { return number%n == 0 || os.Getenv("PERKS_ENDURANCE") == "long" }

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

// FormerClients makes two clients as the first version does, and their audit log: a, which was rotated twice, and b.
// The arguments are SQL.
func FormerClients(secret, made, rotated string) string {
	return strings.NewReplacer("SECRET", secret, "MADE", made, "ROTATED", rotated).Replace(`
		INSERT INTO clients (id, name, secret, scopes, sandbox_only, disabled, created_at)
			VALUES ('a', 'A', SECRET, '', false, false, MADE), ('b', 'B', SECRET, '', false, false, MADE);
		INSERT INTO audit (at, actor, action, subject) VALUES
			(MADE, 'operator', 'client.rotate-secret', 'client/a'),
			(ROTATED, 'operator', 'client.rotate-secret', 'client/a'),
			(ROTATED, 'operator', 'client.disable', 'client/b')`)
}

// RequireSecretAges checks the clients of FormerClients, if a was rotated two seconds after 1970.
func RequireSecretAges(t testing.TB, db store.Store) {
	t.Helper()
	a, b := Must(db.Client(t.Context(), "a"))(t), Must(db.Client(t.Context(), "b"))(t)
	if a.SecretAt.Unix() != 2 || !b.SecretAt.IsZero() {
		t.Errorf("the secrets were made at %s and %s", a.SecretAt, b.SecretAt)
	}
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
