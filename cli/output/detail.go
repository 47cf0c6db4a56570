package output

import (
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"example.com/perks/api/display"
)

// legible is how wide a text must be to be read beside its name; on a narrower screen it goes below.
const legible = 20

// details writes one record for people: names on the left, and texts that keep their lines and are wrapped at the right
// edge of the screen.
func (e *tableEncoder) details(r record) []string {
	fields := r.fields()
	names := 0
	for _, field := range fields {
		names = max(names, runewidth.StringWidth(display.Line(field.name)))
	}
	screen := e.streams.Width
	beside := screen <= 0 || screen >= names+len(gap)+legible
	indent := strings.Repeat(" ", names) + gap
	if !beside {
		indent = strings.Repeat(" ", min(len(gap), screen/8))
	}
	var lines []string
	for _, field := range fields {
		name := display.Line(field.name)
		texts := wrap(e.detail(field), screen-len(indent))
		if beside {
			lines = append(lines, e.streams.Heading(runewidth.FillRight(name, names))+gap+texts[0])
			texts = texts[1:]
		} else {
			lines = append(lines, e.streams.Heading(cut(name, screen)))
		}
		for _, text := range texts {
			lines = append(lines, indent+text)
		}
	}
	return lines
}

func (e *tableEncoder) detail(f field) string {
	text := textOf(f.value)
	if moment, err := time.Parse(time.RFC3339, text); e.times[f.name] && err == nil {
		return longTime(moment, e.now)
	}
	return strings.TrimRight(display.Text(text), "\n")
}

// wrap breaks a text into lines of so many columns, at blanks where it can. 0 or less is no limit, and there is always one
// line.
func wrap(text string, columns int) []string {
	text = strings.ReplaceAll(text, "\t", " ")
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		for columns > 0 && runewidth.StringWidth(line) > columns {
			head := runewidth.Truncate(line, columns, "")
			if head == "" {
				line = "" // a character that is wider than the screen
				break
			}
			rest := line[len(head):]
			if blank := strings.LastIndexByte(head, ' '); blank > 0 && !strings.HasPrefix(rest, " ") {
				head, rest = head[:blank], line[blank:]
			}
			lines = append(lines, head)
			line = strings.TrimLeft(rest, " ")
		}
		lines = append(lines, line)
	}
	return lines
}
