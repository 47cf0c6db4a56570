package api_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"example.com/perks/api"
)

// nested returns an object of that many levels.
func nested(levels int) string {
	return `{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + `}`
}

func TestMetadata(t *testing.T) {
	digits := strings.Repeat("9", 40)
	for text, want := range map[string]string{
		"":                                 `{}`,
		"null":                             `{}`,
		` { "a" : 1.50 } `:                 `{"a":1.50}`,
		nested(32):                         nested(32),
		`{"a":` + digits + `}`:             `{"a":` + digits + `}`,
		`{"a":-0.` + digits[1:] + `}`:      `{"a":-0.` + digits[1:] + `}`,
		`{"a":[1e308,5e-324,0e400,-0E-7]}`: `{"a":[1e308,5e-324,0e400,-0E-7]}`,
		`{"a":"` + digits + digits + `"}`:  `{"a":"` + digits + digits + `"}`,
	} {
		if got, err := api.ParseMetadata(json.RawMessage(text)); err != nil || string(got) != want {
			t.Errorf("%s gives %s, %v", text, got, err)
		}
	}
}

const outOfRange = ", whose exponent is out of range"

func TestMetadataThatOtherProgramsCannotReadIsRefused(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                                    "must be a JSON object",
		`{"a":1} {}`:                            "must be a JSON object",
		nested(33):                              "must nest at most 32 levels deep",
		nested(7_000):                           "must nest at most 32 levels deep",
		`{"n":[0,{"a":1e400}]}`:                 `has the number 1e400 in the member "n[1].a"` + outOfRange,
		`{"a":-1e309}`:                          `has the number -1e309 in the member "a"` + outOfRange,
		`{"a":1E-400}`:                          `has the number 1E-400 in the member "a"` + outOfRange,
		`{"a":0e99999999}`:                      `has the number 0e99999999 in the member "a"` + outOfRange,
		`{"a":1e-99999999999999}`:               `has the number 1e-99999999999999 in the member "a"` + outOfRange,
		`{"a":` + strings.Repeat("9", 41) + `}`: `has a number of more than 40 digits in the member "a"`,
		`{"a":` + strings.Repeat("9", 10_000) + `}`: `has a number of more than 40 digits in the member "a"`,
		`{"a":0.` + strings.Repeat("0", 40) + `}`:   `has a number of more than 40 digits in the member "a"`,
	} {
		if got, err := api.ParseMetadata(json.RawMessage(text)); err == nil || err.Error() != want {
			t.Errorf("%.80s gives %.80s, %v", text, got, err)
		}
	}
}

// wantReadable fails if a common reader of JSON would fail on the metadata.
func wantReadable(t *testing.T, metadata []byte) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(metadata))
	decoder.UseNumber()
	for depth := 0; ; {
		token, err := decoder.Token()
		if err != nil {
			return
		}
		switch token := token.(type) {
		case json.Delim:
			if depth += map[json.Delim]int{'{': 1, '[': 1, '}': -1, ']': -1}[token]; depth > 32 {
				t.Fatalf("%s has more than 32 levels", metadata)
			}
		case json.Number:
			if f, err := strconv.ParseFloat(token.String(), 64); err != nil || math.IsInf(f, 0) ||
				len(token) > len("-0.e-")+40 {
				t.Fatalf("%s has the number %s", metadata, token)
			}
		}
	}
}
