package api_test

import (
	"encoding/json"
	"testing"

	"example.com/perks/api"
)

func TestOptionalTellsAbsentNullAndValueApart(t *testing.T) {
	type record struct {
		Size api.Optional[int] `json:"size,omitzero"`
	}
	for text, want := range map[string]api.Optional[int]{
		`{}`:            {},
		`{"size":null}`: api.Null[int](),
		`{"size":0}`:    api.Some(0),
		`{"size":7}`:    api.Some(7),
	} {
		var read record
		if err := json.Unmarshal([]byte(text), &read); err != nil || read.Size != want {
			t.Errorf("%s is read as %+v, %v, want %+v", text, read.Size, err, want)
		}
		written, err := json.Marshal(record{Size: want})
		if err != nil || string(written) != text {
			t.Errorf("%+v is written as %s, %v, want %s", want, written, err, text)
		}
	}
	if !(api.Optional[int]{}).IsZero() || api.Null[int]().IsZero() || api.Some(0).IsZero() {
		t.Error("only an absent member may be zero")
	}
}

func TestOptionalForgetsWhatItHeld(t *testing.T) {
	value := api.Some(7)
	if err := json.Unmarshal([]byte(`null`), &value); err != nil || value != api.Null[int]() {
		t.Errorf("null makes it %+v, %v", value, err)
	}
	if err := json.Unmarshal([]byte(`"x"`), &value); err == nil {
		t.Error("a string is taken for an int")
	}
}
