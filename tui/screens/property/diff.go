package property

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/perks/api/display"
)

// contextLines is how many unchanged lines are shown around the changed ones of a long text.
const contextLines = 2

// stroke is a line of a comparison. Its mark tells its meaning without a colour.
type stroke struct {
	mark string // "- " for what goes, "+ " for what comes
	text string
}

const (
	goes   = "- "
	comes  = "+ "
	stays  = "  "
	noting = "  "
)

// part is a field of a comparison or a merge.
type part struct {
	title    string
	strokes  []stroke
	conflict bool
	current  bool // it is the conflict that is being decided
	open     bool // and it is not decided
}

// compared is what two texts of a field were found to differ in: long texts take too long to compare for every key.
type compared map[[3]string][]stroke

func (c compared) strokes(f field, before, after string) []stroke {
	key := [3]string{f.name, before, after}
	if _, known := c[key]; !known {
		c[key] = strokes(f, before, after)
	}
	return c[key]
}

// comparison is what the edit does to the property, field by field.
func (e *edit) comparison() []part {
	after := e.base.with(e.patch)
	var parts []part
	for _, name := range e.patch.Fields() {
		f := fieldNamed(name)
		parts = append(parts, part{title: f.caption(), strokes: e.compared.strokes(f, textOf(e.base.Property, name), textOf(after, name))})
	}
	return parts
}

// strokes compares two texts of a field: line by line those that have several.
func strokes(f field, before, after string) []stroke {
	var out []stroke
	if f.lines && before != "" && after != "" {
		out = lineStrokes(before, after)
	} else {
		for line := range strings.SplitSeq(shown(f, before), "\n") {
			out = append(out, stroke{goes, line})
		}
		for line := range strings.SplitSeq(shown(f, after), "\n") {
			out = append(out, stroke{comes, line})
		}
	}
	if before != after && visible(before) == visible(after) {
		out = append(out, stroke{noting, "(only blanks, or characters that show nothing, differ)"})
	}
	return out
}

// lineStrokes compares texts of several lines, and leaves out what is far from every change.
func lineStrokes(before, after string) []stroke {
	before, after = before+"\n", after+"\n"
	diff, err := udiff.ToUnifiedDiff("", "", before, udiff.Lines(before, after), contextLines)
	if err != nil {
		return nil // not reached: the edits are those of this very text
	}
	var out []stroke
	for i, hunk := range diff.Hunks {
		if i > 0 || hunk.FromLine > 1 {
			out = append(out, stroke{stays, "..."})
		}
		for _, line := range hunk.Lines {
			mark := map[udiff.OpKind]string{udiff.Delete: goes, udiff.Insert: comes}[line.Kind]
			if mark == "" {
				mark = stays
			}
			text := display.Text(strings.TrimSuffix(line.Content, "\n"))
			if mark != stays && text == "" {
				text = "(empty line)"
			}
			out = append(out, stroke{mark, text})
		}
	}
	return out
}

// shown is a text as it is drawn.
func shown(f field, text string) string {
	if text == "" {
		return f.none
	}
	if f.lines {
		return display.Text(text)
	}
	return display.Line(text)
}

// visible is what can be seen of a text where its lines end somewhere.
func visible(text string) string {
	lines := strings.Split(display.Text(text), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func indented(strokes []stroke) []stroke {
	out := make([]stroke, len(strokes))
	for i, s := range strokes {
		out[i] = stroke{"  " + s.mark, s.text}
	}
	return out
}

// linear says a part in words.
func (p part) linear() []string {
	lines := []string{p.title}
	if p.current {
		lines[0] += " (this is the one to decide)"
	}
	for _, s := range p.strokes {
		word := map[string]string{goes: "removed: ", comes: "new: "}[strings.TrimPrefix(s.mark, "  ")]
		if strings.HasPrefix(s.mark, "* ") {
			word = "kept: "
		}
		if s.text == "" {
			s.text = "(empty line)"
		}
		lines = append(lines, "  "+word+s.text)
	}
	return lines
}
