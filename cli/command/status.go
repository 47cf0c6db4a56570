package command

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/schollz/progressbar/v3"
)

// status is what is told at one moment.
type status struct {
	Counts
	total int64
	ended bool
	took  time.Duration
	rate  float64 // items per second
}

// part is a piece of the bar's line. Those with the lowest rank are left out last when the screen is narrow.
type part struct {
	text  string
	rank  int
	alarm bool
}

const (
	gap     = "  "
	barStep = 10
	maxBar  = 40
)

// line returns the line for a screen of so many columns, and how many of them it takes. paint colours what is alarming.
func (s status) line(columns int, paint func(string) string) (line string, taken int) {
	parts, room := fitting(s.parts(), columns)
	if len(parts) == 0 {
		return "", 0
	}
	texts := make([]string, len(parts))
	for i, part := range parts {
		texts[i] = part.text
		if part.alarm {
			texts[i] = paint(part.text)
		}
	}
	if width := barWidth(room); s.total > 0 && width > 0 {
		texts = append([]string{s.bar(width)}, texts...)
		room -= len("[]") + width + len(gap)
	}
	return strings.Join(texts, gap), columns - room
}

// barWidth goes in steps, so that the bar does not jump with every digit behind it.
func barWidth(room int) int {
	return max(0, min((room-len("[]")-len(gap))/barStep*barStep, maxBar))
}

// fitting leaves parts out until the rest fits, and returns how many columns it leaves.
func fitting(parts []part, columns int) ([]part, int) {
	for len(parts) > 0 {
		room := columns + len(gap)
		last := 0
		for i, part := range parts {
			room -= len(part.text) + len(gap)
			if part.rank > parts[last].rank {
				last = i
			}
		}
		if room >= 0 {
			return parts, room
		}
		parts = append(parts[:last:last], parts[last+1:]...)
	}
	return nil, columns
}

func (s status) parts() []part {
	var parts []part
	if s.total > 0 {
		parts = append(parts, part{text: fmt.Sprintf("%3d%%", s.percent()), rank: 0})
		parts = append(parts, part{text: grouped(s.Done) + "/" + grouped(s.total), rank: 2})
	} else {
		parts = append(parts, part{text: grouped(s.Done), rank: 0})
	}
	if s.Failed > 0 {
		parts = append(parts, part{text: grouped(s.Failed) + " failed", rank: 1, alarm: true})
	}
	if s.Unknown > 0 {
		parts = append(parts, part{text: grouped(s.Unknown) + " unknown", rank: 3, alarm: true})
	}
	if s.paced() {
		parts = append(parts, part{text: s.perSecond(), rank: 5})
	}
	if left := s.left(); left != "" {
		parts = append(parts, part{text: left, rank: 4})
	}
	if s.Skipped > 0 {
		parts = append(parts, part{text: grouped(s.Skipped) + " skipped", rank: 6})
	}
	return parts
}

// bar draws the bar alone. The library's own clock, rates and goroutines stay out of it.
func (s status) bar(width int) string {
	bar := progressbar.NewOptions64(s.total,
		progressbar.OptionSetWriter(io.Discard),
		progressbar.OptionSetWidth(width),
		progressbar.OptionSetTheme(progressbar.ThemeASCII),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0),
	)
	_ = bar.Set64(min(s.Done, s.total))
	_ = bar.RenderBlank()
	_, drawn, _ := strings.Cut(bar.String(), "% ")
	return strings.TrimRight(drawn, " ")
}

// sentence returns what is told off a terminal.
func (s status) sentence() string {
	var text strings.Builder
	text.WriteString(grouped(s.Done))
	if s.total > 0 {
		fmt.Fprintf(&text, " of %s", grouped(s.total))
	}
	text.WriteString(" done")
	if s.total > 0 {
		fmt.Fprintf(&text, " (%d%%)", s.percent())
	}
	fmt.Fprintf(&text, ", %s", s.perSecond())
	if left := s.left(); left != "" {
		fmt.Fprintf(&text, ", %s", left)
	}
	for _, count := range []struct {
		number int64
		name   string
	}{{s.Failed, "failed"}, {s.Unknown, "unknown"}, {s.Skipped, "skipped"}} {
		if count.number > 0 {
			fmt.Fprintf(&text, ", %s %s", grouped(count.number), count.name)
		}
	}
	return text.String()
}

// percent rounds down, so that 100 means all.
func (s status) percent() int64 { return min(s.Done, s.total) * 100 / s.total }

// paced tells whether the rate means anything yet.
func (s status) paced() bool { return s.worked() > 0 || s.took >= glance }

func (s status) perSecond() string {
	if s.rate < 9.95 {
		return strconv.FormatFloat(s.rate, 'f', 1, 64) + "/s"
	}
	return grouped(int64(s.rate+0.5)) + "/s"
}

// left tells the time to go, or at the end the time that it took. "" is that nobody can know.
func (s status) left() string {
	switch {
	case s.ended:
		return "took " + brief(s.took)
	case s.total == 0:
		return brief(s.took)
	case s.rate <= 0 || s.Done >= s.total:
		return ""
	}
	seconds := float64(s.total-s.Done) / s.rate
	if seconds > (1000 * time.Hour).Seconds() {
		return ""
	}
	return brief(time.Duration(seconds*float64(time.Second))) + " left"
}

// brief writes a duration with its two largest units.
func brief(d time.Duration) string {
	seconds := int64(d.Round(time.Second) / time.Second)
	switch {
	case seconds < 60:
		return fmt.Sprintf("%ds", seconds)
	case seconds < 3600:
		return fmt.Sprintf("%dm%02ds", seconds/60, seconds%60)
	}
	return fmt.Sprintf("%dh%02dm", seconds/3600, seconds/60%60)
}

// grouped writes a number with a comma between the thousands.
func grouped(number int64) string {
	digits := strconv.FormatInt(number, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}
