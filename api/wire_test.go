package api_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
)

func TestTimesHaveThreeDigitsOfTheSecond(t *testing.T) {
	for nanoseconds, digits := range map[int]string{0: "000", 670_000_000: "670", 5_000_000: "005", 999_999_999: "999", 123_456_000: "123", 1: "000"} {
		at := time.Date(2026, 1, 2, 5, 4, 5, nanoseconds, time.FixedZone("", 2*60*60))
		perk := api.Perk{Title: "<a> & b", ValidFrom: &at, ValidTo: &at, CreatedAt: at, UpdatedAt: at}
		for _, c := range []struct {
			value any
			times int
		}{
			{perk, 4},
			{&perk, 4},
			{api.Page[api.Perk]{Data: []api.Perk{perk, {Title: "<a> & b"}}}, 4},
			{api.Redemption{RedeemedAt: at, Metadata: json.RawMessage(`{"a":"<a> & b"}`)}, 1},
			{api.Token{ExpiresAt: at, Scope: "<a> & b"}, 1},
		} {
			body, err := api.EncodeJSON(c.value)
			if err != nil {
				t.Fatal(err)
			}
			if text := `"2026-01-02T03:04:05.` + digits + `Z"`; strings.Count(string(body), text) != c.times || !strings.Contains(string(body), "<a> & b") {
				t.Errorf("%s, want %d times %s", body, c.times, text)
			}
		}
	}
}
