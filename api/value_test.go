package api_test

import (
	"encoding/json"
	"testing"
	"time"

	"example.com/perks/api"
)

// jsonValue parses a value in a JSON object.
func jsonValue(t *testing.T, text string) api.Value {
	t.Helper()
	members, err := api.ParseObject([]byte(`{"v":` + text + `}`))
	if err != nil {
		t.Fatal(err)
	}
	return members[0].Value
}

func TestTimesAreRFC3339AndConvertedToUTC(t *testing.T) {
	for text, want := range map[string]string{
		"2026-01-31T09:00:00Z":        "2026-01-31T09:00:00Z",
		"2026-01-31T09:00:00+02:00":   "2026-01-31T07:00:00Z",
		"2026-01-31T09:00:00.123456Z": "2026-01-31T09:00:00.123456Z",
		"2024-02-29T00:00:00Z":        "2024-02-29T00:00:00Z",
		"0001-01-01T00:00:00Z":        "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999Z": "9999-12-31T23:59:59.999999Z",
		"0000-12-31T23:59:59-01:00":   "0001-01-01T00:59:59Z",
	} {
		var got time.Time
		if problem := api.TextValue(text).Time(&got); problem != "" {
			t.Errorf("%s %s", text, problem)
			continue
		}
		if written, err := got.MarshalText(); err != nil || string(written) != want {
			t.Errorf("%s is stored as %s, %v, want %s", text, written, err, want)
		}
		var fromJSON time.Time
		if problem := jsonValue(t, `"`+text+`"`).Time(&fromJSON); problem != "" || fromJSON != got {
			t.Errorf("in JSON %s is %s, %s", text, fromJSON, problem)
		}
	}
}

func TestTimesThatCannotBeWrittenAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "null", "2026-01-31", "2026-01-31 09:00:00Z", "2026-01-31T09:00:00", "2026-02-30T00:00:00Z", "1767225600",
		"0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "9999-12-31T23:59:59-01:00", "10000-01-01T00:00:00Z",
	} {
		var got time.Time
		if api.TextValue(text).Time(&got) == "" {
			written, err := json.Marshal(got)
			t.Errorf("%q is read and written as %s, %v", text, written, err)
		}
	}
	var got time.Time
	if jsonValue(t, `1767225600`).Time(&got) == "" {
		t.Error("a JSON number is accepted as a time")
	}
}

func TestIntsAreReadExactly(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-7": -7, "3.0": 3, "2e3": 2000,
		"9007199254740993": 9007199254740993, "-9223372036854775808": -9223372036854775808} {
		var fromText, fromJSON int64
		if problem := api.TextValue(text).Int(&fromText); problem != "" || fromText != want {
			t.Errorf("the text %s is %d, %s, want %d", text, fromText, problem, want)
		}
		if problem := jsonValue(t, text).Int(&fromJSON); problem != "" || fromJSON != want {
			t.Errorf("the number %s is %d, %s, want %d", text, fromJSON, problem, want)
		}
	}
	for _, text := range []string{"", " 1", "1.5", "9223372036854775808", "0x10", "1_0", "one", "Inf"} {
		var got int64
		if api.TextValue(text).Int(&got) == "" {
			t.Errorf("the text %q is read as %d", text, got)
		}
	}
	for _, text := range []string{`""`, `" 1"`, `"1.5"`, `"one"`, `true`, `null`, `[1]`, `{}`} {
		var got int64
		if jsonValue(t, text).Int(&got) == "" {
			t.Errorf("JSON %s is read as %d", text, got)
		}
	}
}
