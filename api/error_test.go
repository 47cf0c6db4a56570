package api_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/perks/api"
)

func TestCodeOf(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want api.Code
	}{
		"nothing":           {nil, ""},
		"a coded error":     {api.Errorf(api.CodeSoldOut, "Sold out."), api.CodeSoldOut},
		"a wrapped one":     {fmt.Errorf("redeeming: %w", api.Errorf(api.CodeSoldOut, "Sold out.")), api.CodeSoldOut},
		"a joined one":      {errors.Join(errors.New("a"), api.Errorf(api.CodeNotFound, "No.")), api.CodeNotFound},
		"an unexpected one": {errors.New("unexpected"), api.CodeInternal},
		"field errors":      {api.FieldErrors{"a": {"b"}}.Err(), api.CodeValidationFailed},
		"no field errors":   {api.FieldErrors{}.Err(), ""},
	} {
		if got := api.CodeOf(c.err); got != c.want {
			t.Errorf("%s has the code %q, want %q", name, got, c.want)
		}
	}
}

func TestErrorTextListsFields(t *testing.T) {
	fields := api.FieldErrors{}
	fields.Add("title", "must not be blank")
	fields.Add("bedrooms", "must be at most %d", 5)
	fields.Add("title", "is given more than once")
	want := "Some values are not valid. (bedrooms must be at most 5; title must not be blank, is given more than once)"
	if got := fields.Err().Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := api.Errorf(api.CodeNotFound, "There is no perk %q.", "a").Error(); got != `There is no perk "a".` {
		t.Errorf("got %s", got)
	}
}

func TestErrorsAreNotLongerThanTheRequest(t *testing.T) {
	var body strings.Builder
	for i := range 50_000 {
		fmt.Fprintf(&body, `"%d":1,`, i)
	}
	members, err := api.ParseObject([]byte("{" + strings.TrimSuffix(body.String(), ",") + "}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = api.ParsePropertyPatch(members)
	if got := len(err.Error()); got > body.Len() {
		t.Errorf("a body of %d bytes gives an error of %d", body.Len(), got)
	}
}

// wantFault checks that only one field of a value is wrong, and its message.
func wantFault(t *testing.T, value string, err error, field, want string) {
	t.Helper()
	if api.CodeOf(err) != api.CodeValidationFailed {
		t.Errorf("%.80s gives %v, want %s: %s", value, err, field, want)
		return
	}
	fields := err.(*api.Error).Fields
	if len(fields) != 1 || len(fields[field]) != 1 || !strings.Contains(fields[field][0], want) {
		t.Errorf("%.80s gives %q, want only %s: %s", value, fields, field, want)
	}
}
