package display

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

const (
	day   = 24 * time.Hour
	month = 30 * day
	year  = 365 * day
)

// Count writes a number with commas between the thousands.
func Count[N int | int64](n N) string {
	digits := strconv.FormatInt(int64(n), 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Plural writes a count with its noun: "1 row", "2,000 rows".
func Plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Capital begins a text with a capital letter.
func Capital(text string) string {
	_, first := utf8.DecodeRuneInString(text)
	return strings.ToUpper(text[:first]) + text[first:]
}

// Duration writes a duration with its two largest units: "12s", "1m05s", "2h30m".
func Duration(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
}

// Age says roughly how long ago something was. A time in the future, from a clock that is ahead, is "just now".
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
	return Count(int64(d/day)) + " days ago"
}

// Distance says how far a time is from now in the largest fitting unit, rounded down: "in 3 days", "2 hours ago",
// "now".
func Distance(at, now time.Time) string {
	distance := at.Sub(now)
	far := distance.Abs()
	if far < time.Minute {
		return "now"
	}
	text := ""
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{year, "year"}, {month, "month"}, {day, "day"}, {time.Hour, "hour"}, {time.Minute, "minute"}} {
		if far >= unit.length {
			text = Plural(int64(far/unit.length), unit.name, unit.name+"s")
			break
		}
	}
	if distance < 0 {
		return text + " ago"
	}
	return "in " + text
}

// Instant writes a time for people, in the zone of now.
func Instant(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006 15:04") }

// Recently is Instant of a short time ago, as people say it: "yesterday 14:02".
func Recently(at, now time.Time) string {
	day, at := Day(at, now), at.In(now.Location())
	switch day {
	case Day(now, now):
		day = "today"
	case Day(now.AddDate(0, 0, -1), now):
		day = "yesterday"
	default:
		day = at.Format("2 Jan")
	}
	return day + at.Format(" 15:04")
}

// End is Instant for what ends then: midnight is 24:00 of the day that is the last.
func End(at, now time.Time) string {
	if local := at.In(now.Location()); local.Hour() == 0 && local.Minute() == 0 {
		return Day(local.Add(-time.Minute), now) + " 24:00"
	}
	return Instant(at, now)
}

// Day writes a day for people, in the zone of now.
func Day(at, now time.Time) string { return at.In(now.Location()).Format("2 Jan 2006") }

// SoonDay is Day without a year that need not be said: of the next six months.
func SoonDay(at, now time.Time) string {
	if at.After(now) && at.Before(now.AddDate(0, 6, 0)) {
		return at.In(now.Location()).Format("2 Jan")
	}
	return Day(at, now)
}

// Until says how long something is still valid, or since when it is not: "3 days left", "expired just now", "expired
// today", "expired 2 days ago". Days are calendar days in the zone of now, whatever their length.
func Until(end, now time.Time) string {
	if end.After(now) {
		return left(end, now) + " left"
	}
	if now.Sub(end) < time.Minute {
		return "expired just now"
	}
	switch days := int64(wall(now, now).Truncate(day).Sub(wall(end, now).Truncate(day)) / day); days {
	case 0:
		return "expired today"
	case 1:
		return "expired yesterday"
	default:
		return "expired " + Plural(days, "day", "days") + " ago"
	}
}

// In says how soon something begins: "in 3 days", "in 5 hours".
func In(at, now time.Time) string { return "in " + left(at, now) }

// left writes the time that is left: up to two days as a duration, and from then on by the calendar.
func left(at, now time.Time) string {
	passes, shows := at.Sub(now), wall(at, now).Sub(wall(now, now))
	switch {
	case passes < time.Hour:
		return Plural(max(1, int64(passes/time.Minute)), "minute", "minutes")
	case passes < 2*day && shows < 2*day:
		return Plural(int64(passes/time.Hour), "hour", "hours")
	}
	return Plural(max(2, int64(shows/day)), "day", "days")
}

// wall returns the time that a wall clock in the zone of now shows, but in UTC, where every day has 24 hours.
func wall(at, now time.Time) time.Time {
	at = at.In(now.Location())
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}

// DiffLine is a line of a comparison of two texts, safe for a terminal and without its line feed.
type DiffLine struct {
	Mark Mark
	Text string
}

// Mark says where a line of a comparison stands. It tells its meaning without a colour.
type Mark string

// The marks of lines.
const (
	Removed Mark = "- "
	Added   Mark = "+ "
	Kept    Mark = "  "
	Omitted Mark = "" // lines that are in both texts are left out here
)

// contextLines is how many unchanged lines are shown around the changed ones.
const contextLines = 2

// Diff compares two texts line by line, and leaves out lines that are far from every change.
func Diff(before, after string) []DiffLine {
	before, after = before+"\n", after+"\n"
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return nil // not reached: the edits are those of this very text
	}
	var lines []DiffLine
	for i, hunk := range diff.Hunks {
		if i > 0 || hunk.FromLine > 1 {
			lines = append(lines, DiffLine{Mark: Omitted})
		}
		for _, line := range hunk.Lines {
			mark := map[udiff.OpKind]Mark{udiff.Delete: Removed, udiff.Insert: Added, udiff.Equal: Kept}[line.Kind]
			lines = append(lines, DiffLine{mark, Text(strings.TrimSuffix(line.Content, "\n"))})
		}
	}
	return lines
}
