package screen_test

import (
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
)

func TestValidityFitsANarrowColumn(t *testing.T) {
	now := time.Date(2026, time.March, 10, 12, 0, 0, 0, time.UTC)
	for hours, want := range map[int]string{-48: "expired", -24: "expired", 24 * 1234: "1,234 d left"} {
		end := now.Add(time.Duration(hours) * time.Hour)
		text := screen.Valid(&api.Perk{ValidTo: &end}, now)
		if got := screen.ShortenValid(text); len(text) <= 13 || got != want {
			t.Errorf("%q is shortened to %q, want %q", text, got, want)
		}
	}
}
