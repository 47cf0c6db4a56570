package record

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"example.com/perks/api/display"
)

// roleOf tells how a line of a comparison is drawn.
func roleOf(l display.DiffLine) role {
	return map[string]role{"-": asRemoved, "+": asAdded, "*": asKept}[strings.TrimSpace(string(l.Mark))]
}

// words returns the lines of a comparison that replace each other, by index, with a style for the words that differ.
// Lines without a word in common are left out: they differ as a whole.
func (d drawing) words(diff []display.DiffLine) map[int]string {
	styled := map[int]string{}
	run := func(at int, of role) (end int) {
		for end = at; end < len(diff) && roleOf(diff[end]) == of; end++ {
		}
		return end
	}
	for at := 0; at < len(diff); {
		added := run(at, asRemoved)
		end := run(added, asAdded)
		for i := range min(added-at, end-added) {
			before, after := strings.SplitAfter(diff[at+i].Text, " "), strings.SplitAfter(diff[added+i].Text, " ")
			if removed, new, common := differing(before, after); common {
				styled[at+i] = d.highlight(asRemoved, before, removed)
				styled[added+i] = d.highlight(asAdded, after, new)
			}
		}
		at = max(end, at+1)
	}
	return styled
}

// differing tells which words of two lines are not in the other, and whether they have any in common.
func differing(before, after []string) (removed, added []bool, common bool) {
	text := func(words []string) string {
		var lines strings.Builder
		for _, word := range words {
			lines.WriteString(strings.TrimSuffix(word, " ") + "\n")
		}
		return lines.String()
	}
	removed, added = make([]bool, len(before)), make([]bool, len(after))
	old, from, to := text(before), 0, 0 // the next word of each, and where that is in the old text
	at := 0
	for _, edit := range udiff.Lines(old, text(after)) {
		same := strings.Count(old[at:edit.Start], "\n")
		common = common || same > 0
		from, to, at = from+same, to+same, edit.End
		for range strings.Count(old[edit.Start:edit.End], "\n") {
			removed[from] = true
			from++
		}
		for range strings.Count(edit.New, "\n") {
			added[to] = true
			to++
		}
	}
	return removed, added, common || from < len(before)
}

// contextWords is how many unchanged words are shown beside those that differ.
const contextWords = 8

// highlight styles the words that differ. Folded, it leaves out most of a long text that does not.
func (d drawing) highlight(as role, words []string, differ []bool) string {
	var line strings.Builder
	for at := 0; at < len(words); {
		end := at
		for end < len(words) && differ[end] == differ[at] {
			end++
		}
		first, last := at, end // of the words that are left out
		if !d.unfolded && !differ[at] && end-at > 2*contextWords+contextWords/2 {
			if at > 0 {
				first += contextWords
			}
			if end < len(words) {
				last -= contextWords
			}
		} else {
			first = end
		}
		style := d.look.Text
		if differ[at] {
			style = as.style(d.look)
		}
		line.WriteString(style.Render(strings.Join(words[at:first], "")))
		if first < last {
			line.WriteString(d.look.Muted.Render("… "))
			line.WriteString(style.Render(strings.Join(words[last:end], "")))
		}
		at = end
	}
	return line.String()
}
