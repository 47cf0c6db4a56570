package api_test

import (
	"encoding/json"
	"testing"

	"example.com/perks/api"
)

func TestAHoldIsADurationOfWholeSeconds(t *testing.T) {
	for text, want := range map[string]string{
		"48h": "48h", "2s": "2s", "1h30m": "1h30m", "90m": "1h30m", "60s": "1m", "10m": "10m", "1h0m10s": "1h0m10s",
		"1.5h": "1h30m", "1000ms": "1s", "8760h": "8760h", "40s": "40s", "100h": "100h",
	} {
		var hold api.Hold
		if problem := api.TextValue(text).Hold(&hold); problem != "" || hold.String() != want {
			t.Errorf("%s: got %s, %q, want %s", text, hold, problem, want)
		}
		var again api.Hold
		encoded, err := json.Marshal(hold)
		if err != nil || json.Unmarshal(encoded, &again) != nil || again != hold {
			t.Errorf("%s: %s, %v is read as %s", text, encoded, err, again)
		}
	}
	for _, text := range []string{"", "0", "0s", "-1s", "1", "48", "2d", "999ms", "1.5s", "8760h1s", "9999999h",
		"1h ", "NaN"} {
		var hold api.Hold
		if problem := api.TextValue(text).Hold(&hold); problem == "" || hold != 0 {
			t.Errorf("%q is taken as %s", text, hold)
		}
	}
}
