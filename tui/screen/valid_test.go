package screen_test

import (
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
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

func TestOnlyPerksThatEndSoonOrHaveNotBegunStandOut(t *testing.T) {
	now := time.Date(2026, time.November, 10, 12, 0, 0, 0, time.UTC)
	in := func(days int) *time.Time {
		at := now.AddDate(0, 0, days)
		return &at
	}
	for _, test := range []struct {
		from, to *time.Time
		words    string
		tone     theme.Tone
	}{
		{nil, nil, "no end", theme.Quiet},
		{nil, in(129), "129 days left", theme.Plain},
		{nil, in(7), "7 days left", theme.Plain},
		{nil, in(3), "ends in 3 days", theme.Warning},
		{in(28), in(60), "starts 8 Dec", theme.Info},
		{in(200), nil, "starts 29 May 2027", theme.Info},
		{nil, in(-2), "expired 2 days ago", theme.Quiet},
	} {
		perk := &api.Perk{ValidFrom: test.from, ValidTo: test.to}
		if words, tone := screen.Valid(perk, now), screen.ValidTone(perk, now); words != test.words ||
			tone != test.tone {
			t.Errorf("%q in tone %d, want %q in %d", words, tone, test.words, test.tone)
		}
	}
}
