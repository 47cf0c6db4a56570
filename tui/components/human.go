package components

import (
	"fmt"
	"strconv"
	"time"
)

// Count writes a number with its thousands apart.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a number with the word for one or for many.
func Plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Age says how long ago something was, roughly.
func Age(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return "just now"
	case d < time.Minute:
		return fmt.Sprintf("%d s ago", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h ago", int(d.Hours()))
	}
	return fmt.Sprintf("%d days ago", int(d.Hours()/24))
}

// Instant writes a moment for people, in the zone of now.
func Instant(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006 15:04") }

// Day writes a day for people, in the zone of now.
func Day(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006") }

// Until says how long something can still be used: "3 days left", "ends today", "ended 2 days ago".
func Until(end, now time.Time) string {
	if !end.After(now) {
		days := int64(now.Sub(end) / (24 * time.Hour))
		if days == 0 {
			return "ended today"
		}
		return "ended " + Plural(days, "day", "days") + " ago"
	}
	switch left := end.Sub(now); {
	case left < time.Hour:
		return Plural(max(1, int64(left/time.Minute)), "minute", "minutes") + " left"
	case left < 48*time.Hour:
		return Plural(int64(left/time.Hour), "hour", "hours") + " left"
	default:
		return Plural(int64(left/(24*time.Hour)), "day", "days") + " left"
	}
}
