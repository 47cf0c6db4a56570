package rows_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"example.com/perks/api/rows"
)

func TestFieldsOfARecord(t *testing.T) {
	for text, want := range map[string]rows.Fields{
		`{}`:                  {},
		`"{"`:                 {{"value", json.RawMessage(`"{"`)}},
		`{"a":null,"b":-1.5}`: {{"a", json.RawMessage(`null`)}, {"b", json.RawMessage(`-1.5`)}},
		`{"a":{"b":[{},"}"]},"c":[]}`: {{"a", json.RawMessage(`{"b":[{},"}"]}`)},
			{"c", json.RawMessage(`[]`)}},
		`{"\"a\\":"\\\",\"b\":","é\u009b":""}`: {{`"a\`, json.RawMessage(`"\\\",\"b\":"`)},
			{"é\u009b", json.RawMessage(`""`)}},
	} {
		if got := rows.FieldsOf(json.RawMessage(text)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s has the fields %q, want %q", text, got, want)
		}
	}
}
