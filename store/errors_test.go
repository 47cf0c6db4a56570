package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// TestFaultSaysWhetherAWriteMayHaveHappened keeps the two errors with CodeUnavailable apart: after one a retry is safe, after the other not.
func TestFaultSaysWhetherAWriteMayHaveHappened(t *testing.T) {
	const unknown, notBegun = "The outcome is unknown", "Nothing was begun"
	cause := errors.New("the disk failed")
	for _, test := range []struct {
		name               string
		err                error
		passes, isDatabase bool
		want               string // start of the message; "" for an error that is not public
	}{
		{"an unclear commit", &store.OutcomeUnknownError{Cause: cause}, false, true, unknown},
		{"an unclear commit whose cause passes", &store.OutcomeUnknownError{Cause: cause}, true, true, unknown},
		{"a failure that passes", cause, true, true, notBegun},
		{"a failure of the database", cause, false, true, ""},
		{"a context that ended", context.Canceled, false, false, ""},
	} {
		err := store.Fault("write", test.err, test.passes, test.isDatabase)
		var public *api.Error
		if isPublic := errors.As(err, &public); isPublic != (test.want != "") {
			t.Errorf("%s: public: %t", test.name, isPublic)
		} else if isPublic && (public.Code != api.CodeUnavailable || !strings.Contains(public.Message, test.want)) {
			t.Errorf("%s: %s: %q, want %q", test.name, public.Code, public.Message, test.want)
		}
		if !errors.Is(err, test.err) || !strings.Contains(err.Error(), "write: ") {
			t.Errorf("%s: the log says %v, want what was done and why it failed", test.name, err)
		}
	}
	if err := store.Fault("write", cause, false, false); err != cause {
		t.Errorf("an error that is not the database's became %v", err)
	}
}
