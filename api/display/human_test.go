package display_test

import (
	"math"
	"testing"
	"time"
	_ "time/tzdata" // for machines without time zone data

	"example.com/perks/api/display"
)

func TestCountAndPlural(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 perks", 1: "1 perk", 2: "2 perks", 999: "999 perks", 1000: "1,000 perks", 12_345: "12,345 perks",
		1_000_000: "1,000,000 perks",
		-1:        "-1 perks", -100: "-100 perks", -1000: "-1,000 perks", -100_000: "-100,000 perks",
		math.MaxInt64: "9,223,372,036,854,775,807 perks", math.MinInt64: "-9,223,372,036,854,775,808 perks",
	} {
		if got := display.Plural(n, "perk", "perks"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                            "just now",
		-5 * time.Hour:               "just now",
		math.MinInt64:                "just now",
		10*time.Second - 1:           "just now",
		10 * time.Second:             "10 s ago",
		59*time.Second + 999_999_999: "59 s ago",
		time.Minute:                  "1 min ago",
		time.Hour - 1:                "59 min ago",
		time.Hour:                    "1 h ago",
		48*time.Hour - 1:             "47 h ago",
		48 * time.Hour:               "2 days ago",
		5000 * 24 * time.Hour:        "5,000 days ago",
		math.MaxInt64:                "106,751 days ago",
	} {
		if got := display.Age(d); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

func TestIn(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for at, want := range map[time.Time]string{
		now.Add(time.Second):   "in 1 minute",
		now.Add(5 * time.Hour): "in 5 hours",
		now.AddDate(0, 0, 15):  "in 15 days",
		now.AddDate(1, 0, 0):   "in 365 days",
	} {
		if got := display.In(at, now); got != want {
			t.Errorf("%v: %q, want %q", at, got, want)
		}
	}
}

func TestMidnightEndsTheDayBefore(t *testing.T) {
	warsaw := time.FixedZone("CET", 3600)
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, warsaw)
	for at, want := range map[time.Time]string{
		time.Date(2026, 12, 31, 23, 0, 0, 0, time.UTC):  "31 Dec 2026 24:00",
		time.Date(2026, 12, 31, 23, 0, 59, 0, time.UTC): "31 Dec 2026 24:00",
		time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC):     "1 Jan 2027 01:00",
		time.Date(2026, 12, 31, 22, 59, 0, 0, time.UTC): "31 Dec 2026 23:59",
	} {
		if got := display.End(at, now); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestUntil(t *testing.T) {
	now := time.Date(2026, 3, 10, 12, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0:                            "expired just now",
		-59 * time.Second:            "expired just now",
		-time.Minute:                 "expired today",
		-12 * time.Hour:              "expired today",
		-12*time.Hour - 1:            "expired yesterday",
		-36 * time.Hour:              "expired yesterday",
		-36*time.Hour - 1:            "expired 2 days ago",
		-2000 * 24 * time.Hour:       "expired 2,000 days ago",
		1:                            "1 minute left",
		59 * time.Second:             "1 minute left",
		time.Hour - 1:                "59 minutes left",
		time.Hour:                    "1 hour left",
		48*time.Hour - 1:             "47 hours left",
		48 * time.Hour:               "2 days left",
		3*24*time.Hour - time.Minute: "2 days left",
		3 * 24 * time.Hour:           "3 days left",
	} {
		if got := display.Until(now.Add(d), now); got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if got := display.Until(time.Time{}, now); got != "expired 106,751 days ago" {
		t.Errorf("year 1: %q", got)
	}
}

func TestRecently(t *testing.T) {
	now := time.Date(2026, 3, 29, 12, 0, 0, 0, time.FixedZone("", 3600))
	for at, want := range map[time.Time]string{
		now:                       "today 12:00",
		now.Add(-13 * time.Hour):  "yesterday 23:00",
		now.Add(-36 * time.Hour):  "yesterday 00:00",
		now.Add(-37 * time.Hour):  "27 Mar 23:00",
		now.AddDate(0, 0, -30):    "27 Feb 12:00",
		now.Add(-time.Hour).UTC(): "today 11:00",
	} {
		if got := display.Recently(at, now); got != want {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

func TestDaysFollowTheCalendar(t *testing.T) {
	paris, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	// Clocks went forward on 29 March 2026 and back on 25 October.
	for _, test := range []struct {
		now, end, want string
	}{
		{"2026-03-28 12:00", "2026-03-31 12:00", "3 days left"},
		{"2026-03-28 12:00", "2026-03-30 12:00", "2 days left"},
		{"2026-03-28 12:00", "2026-03-31 11:59", "2 days left"},
		{"2026-03-31 12:00", "2026-03-28 12:00", "expired 3 days ago"},
		{"2026-03-30 00:10", "2026-03-29 00:10", "expired yesterday"},
		{"2026-03-29 23:59", "2026-03-29 00:00", "expired today"},
		{"2026-10-24 12:00", "2026-10-26 12:00", "2 days left"},
		{"2026-10-24 12:00", "2026-10-26 11:30", "2 days left"},
		{"2026-10-24 12:00", "2026-10-27 12:00", "3 days left"},
	} {
		now, _ := time.ParseInLocation("2006-01-02 15:04", test.now, paris)
		end, _ := time.ParseInLocation("2006-01-02 15:04", test.end, paris)
		if got := display.Until(end.UTC(), now); got != test.want {
			t.Errorf("at %s until %s: %q, want %q", test.now, test.end, got, test.want)
		}
	}
}

func TestTimesAreShownInTheZoneOfNow(t *testing.T) {
	tokyo := time.FixedZone("JST", 9*3600)
	at, now := time.Date(2026, 12, 31, 20, 5, 0, 0, time.UTC), time.Date(2026, 1, 1, 0, 0, 0, 0, tokyo)
	if got := display.Instant(at, now); got != "1 Jan 2027 05:05" {
		t.Error(got)
	}
	if got := display.Day(at, now); got != "1 Jan 2027" {
		t.Error(got)
	}
}
