package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
)

// TestFaultSaysWhetherAWriteMayHaveHappened tells the two errors with CodeUnavailable apart: a retry is safe only after
// one of them.
func TestFaultSaysWhetherAWriteMayHaveHappened(t *testing.T) {
	const unknown, notStarted = "The outcome is unknown", "Nothing was started"
	cause := errors.New("the disk failed")
	for _, test := range []struct {
		name               string
		err                error
		passes, isDatabase bool
		want               string // start of the message; "" for an error that is not public
	}{
		{"an unclear commit", &store.OutcomeUnknownError{Cause: cause}, false, true, unknown},
		{"an unclear commit with a transient cause", &store.OutcomeUnknownError{Cause: cause}, true, true, unknown},
		{"a transient failure", cause, true, true, notStarted},
		{"a database failure", cause, false, true, ""},
		{"a cancelled context", context.Canceled, false, false, ""},
	} {
		err := store.Fault("write", test.err, test.passes, test.isDatabase)
		var public *api.Error
		if isPublic := errors.As(err, &public); isPublic != (test.want != "") {
			t.Errorf("%s: public: %t", test.name, isPublic)
		} else if isPublic && (public.Code != api.CodeUnavailable || !strings.Contains(public.Message, test.want)) {
			t.Errorf("%s: %s: %q, want %q", test.name, public.Code, public.Message, test.want)
		}
		if !errors.Is(err, test.err) || !strings.Contains(err.Error(), "write: ") {
			t.Errorf("%s: the log says %v, want the operation and the cause", test.name, err)
		}
	}
	if err := store.Fault("write", cause, false, false); err != cause {
		t.Errorf("an error from elsewhere became %v", err)
	}
}
