package api_test

import (
	"encoding/json"
	"testing"

	"example.com/perks/api"
)

func TestOptionalTellsAbsentNullAndValueApart(t *testing.T) {
	type record struct {
		Size api.Optional[*int] `json:"size,omitzero"`
	}
	for want, size := range map[string]api.Optional[*int]{
		`{}`:            {},
		`{"size":null}`: api.Some[*int](nil),
		`{"size":0}`:    api.Some(new(0)),
		`{"size":7}`:    api.Some(new(7)),
	} {
		if got, err := json.Marshal(record{Size: size}); err != nil || string(got) != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		if size.IsZero() != (want == `{}`) {
			t.Errorf("%s: absent is %t", want, size.IsZero())
		}
	}
}
