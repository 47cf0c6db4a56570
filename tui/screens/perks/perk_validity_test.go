package perks_test

import (
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/server/servertest"
	"example.com/perks/store"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/perks"
	"example.com/perks/tui/tuitest"
)

func TestValidity(t *testing.T) {
	warsaw := time.FixedZone("CET", 3600)
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, warsaw)
	at := func(month time.Month, day, hour int) *time.Time {
		at := time.Date(2026, month, day, hour, 0, 0, 0, warsaw).UTC()
		return &at
	}
	later, soon := now.Add(90*time.Minute), now.Add(14*time.Minute)
	for name, test := range map[string]struct {
		from, to      *time.Time
		words, whyNot string
	}{
		"no dates":             {nil, nil, "Valid, no end date", ""},
		"started, no end date": {at(11, 1, 0), nil, "Valid, no end date", ""},
		"days left":            {nil, at(12, 3, 18), "Valid until 3 Dec 2026, 12 days left", ""},
		"expires at midnight":  {nil, at(12, 4, 0), "Valid until 3 Dec 2026, 12 days left", ""},
		"hours left":           {nil, at(11, 22, 18), "Valid until 22 Nov 2026, 30 hours left", ""},
		"not started": {at(11, 25, 12), at(12, 3, 18),
			"Valid from 25 Nov 2026 until 3 Dec 2026, starts in 4 days", "It starts in 4 days."},
		"not started, no end date": {at(11, 22, 13), nil, "Valid from 22 Nov 2026, starts in 25 hours",
			"It starts in 25 hours."},
		"soon":                  {&later, nil, "Valid from 21 Nov 2026, starts in 1 hour", "It starts in 1 hour."},
		"a clock may be behind": {&soon, nil, "Valid from 21 Nov 2026, starts in 14 minutes", ""},
		"starts this moment":    {&now, nil, "Valid, no end date", ""},
		"expired": {nil, at(11, 19, 11), "Was valid until 19 Nov 2026, expired 2 days ago",
			"It expired 2 days ago."},
		"expires this moment": {nil, &now, "Was valid until 21 Nov 2026, expired just now", ""},
		"expired before it started": {at(12, 1, 0), at(11, 1, 0), "Was valid until 31 Oct 2026, expired 20 days ago",
			"It expired 20 days ago."},
	} {
		p := &api.Perk{ValidFrom: test.from, ValidTo: test.to}
		if got := perks.Validity(p, now); got != test.words {
			t.Errorf("%s: %q, want %q", name, got, test.words)
		}
		if got := perks.NotRedeemableReason(p, now); got != test.whyNot {
			t.Errorf("%s: reason %q, want %q", name, got, test.whyNot)
		}
	}
}

// TestDatesOfAPerkNameTheSameDay opens a perk that ends at midnight.
func TestDatesOfAPerkNameTheSameDay(t *testing.T) {
	server := servertest.Start(t)
	midnight := time.Now().Truncate(24 * time.Hour).Add(10 * 24 * time.Hour)
	server.ImportPerks(store.PerkRecord{Perk: api.Perk{ID: "tea", Title: "Tea for two", ValidTo: &midnight}})
	d := tuitest.Start(t, server, tuitest.Route(screen.ToPerk{ID: "tea"}), func(o *tui.Options) {
		o.Now = func() time.Time { return time.Now().UTC() }
	})
	last := midnight.Add(-time.Hour).UTC().Format("2 Jan 2006")
	d.See("Valid until "+last, "Valid to "+last+" 24:00 UTC")
}
