package property

import (
	"fmt"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// afterMerge is where a merge leads.
type afterMerge int

const (
	thenSave afterMerge = iota
	thenFill
	thenCompare
)

// choice is whose value a field is to have.
type choice int

const (
	open choice = iota
	mine
	theirs
)

// merge is an edit beside what somebody else has made of the property meanwhile.
type merge struct {
	now       version
	then      afterMerge
	conflicts []string // both changed them, to different values
	others    []string // only somebody else did
	own       []string // only the edit does
	chosen    map[string]choice
	at        int // the conflict that is being decided
}

func newMerge(base, now version, patch api.PropertyPatch, then afterMerge) *merge {
	m := &merge{now: now, then: then, chosen: map[string]choice{}}
	m.conflicts = api.MergePropertyChanges(base.Property, now.Property, patch)
	changed := api.PropertyChanges(base.Property, now.Property).Fields()
	for _, name := range changed {
		if !slices.Contains(m.conflicts, name) {
			m.others = append(m.others, name)
		}
	}
	for _, name := range patch.Fields() {
		if !slices.Contains(changed, name) {
			m.own = append(m.own, name)
		}
	}
	return m
}

// open is how many conflicts are not decided.
func (m *merge) open() int {
	n := 0
	for _, name := range m.conflicts {
		if m.chosen[name] == open {
			n++
		}
	}
	return n
}

// kept is the fields that the edit still changes, as far as it is decided.
func (m *merge) kept() []string {
	kept := slices.Clone(m.own)
	for _, name := range m.conflicts {
		if m.chosen[name] == mine {
			kept = append(kept, name)
		}
	}
	return kept
}

// choose decides the present conflict, and goes on to the next that is open.
func (m *merge) choose(c choice) {
	m.chosen[m.conflicts[m.at]] = c
	for i := range m.conflicts {
		if next := (m.at + i) % len(m.conflicts); m.chosen[m.conflicts[next]] == open {
			m.at = next
			return
		}
	}
}

func (m *merge) move(by int) { m.at = max(0, min(m.at+by, len(m.conflicts)-1)) }

// meet holds the edit against what somebody else has made of the property.
func (s *Screen) meet(now version, then afterMerge) tea.Cmd {
	e := s.edit
	s.record.Cancel()
	s.record.Put(now)
	if api.PropertyChanges(e.base.Property, now.Property).IsEmpty() {
		return s.meetSame(now, then)
	}
	e.merge = newMerge(e.base, now, e.patch, then)
	s.show(merging)
	s.reveal = true
	return nil
}

// meetSame is for a version in which no field differs.
func (s *Screen) meetSame(now version, then afterMerge) tea.Cmd {
	e := s.edit
	isSame := now.same(e.base)
	e.rebase(s.shell, now, e.patch)
	switch {
	case then == thenCompare:
		s.show(comparing)
	case then == thenSave && isSame:
		e.note("The service says that the property was changed meanwhile, but it is as it was. Nothing was saved. %s.", s.again("Try it once more"))
	case then == thenSave:
		e.note("Somebody else saved the property meanwhile and changed no field that is shown. Nothing was saved yet. %s.", s.again("Save it now"))
	}
	return nil
}

// adopt goes on with the merged edit.
func (s *Screen) adopt() tea.Cmd {
	e, m := s.edit, s.edit.merge
	patch := e.patch.Only(m.kept()...)
	patch = api.PropertyChanges(m.now.Property, m.now.with(patch))
	if patch.IsEmpty() && m.then != thenFill {
		return tea.Batch(s.leaveEdit(), screen.Tell(screen.Note, "Nothing is left to save: property %d stays as it is now.", s.id))
	}
	e.rebase(s.shell, m.now, patch)
	e.notes = nil
	keep := s.keepDraft()
	switch m.then {
	case thenFill:
		s.show(filling)
		return keep
	case thenCompare:
		s.show(comparing)
		return keep
	}
	s.show(comparing)
	return tea.Batch(keep, s.send())
}

// unmerge goes back to where the merge was come to from. What was decided of all conflicts counts; otherwise the edit stays
// one of the version that it began from, so that the conflicts come up again when it is saved.
func (s *Screen) unmerge() tea.Cmd {
	e, m := s.edit, s.edit.merge
	if e.form == nil {
		return s.leaveEdit()
	}
	if m.then == thenFill {
		s.edit = nil // the draft stays
		s.show(reading)
		return screen.Tell(screen.Note, "The unsaved text is kept: it is offered again with the next edit.")
	}
	s.show(filling)
	if m.open() == 0 {
		patch := e.patch.Only(m.kept()...)
		e.rebase(s.shell, m.now, api.PropertyChanges(m.now.Property, m.now.with(patch)))
		e.only("The form holds what was merged.")
		return s.keepDraft()
	}
	e.merge = nil
	e.only("The form is as you left it. Not decided yet: %s. That comes up again when you save.", words(m.undecided()))
	return nil
}

func (m *merge) undecided() []string {
	var names []string
	for _, name := range m.conflicts {
		if m.chosen[name] == open {
			names = append(names, name)
		}
	}
	return names
}

// whyNot says why the merge cannot be gone on with.
func (m *merge) whyNot() string {
	if m.open() == 0 {
		return ""
	}
	return fmt.Sprintf("Decide first about: %s.", words(m.undecided()))
}

// parts is what the merge view shows: each field with what it was, and what it became on either side.
func (m *merge) parts(e *edit) []part {
	mineThen := e.base.with(e.patch)
	side := func(mark, who string, p api.Property, name string) []stroke {
		f := fieldNamed(name)
		before, after := textOf(e.base.Property, name), textOf(p, name)
		if f.lines {
			return append([]stroke{{mark: mark, text: who + ", against what it was before:"}}, indented(e.compared.strokes(f, before, after))...)
		}
		return []stroke{{mark: mark, text: who + ": " + shown(f, after)}}
	}
	before := func(name string) []stroke {
		if f := fieldNamed(name); !f.lines {
			return []stroke{{mark: stays, text: "before: " + shown(f, textOf(e.base.Property, name))}}
		}
		return nil // what goes is marked on either side
	}
	var parts []part
	for i, name := range m.conflicts {
		f, c := fieldNamed(name), m.chosen[name]
		p := part{title: f.caption() + ", changed by both: " + c.says(), conflict: true, current: i == m.at, open: c == open}
		p.strokes = append(p.strokes, before(name)...)
		p.strokes = append(p.strokes, side(c.mark(theirs), "theirs", m.now.Property, name)...)
		p.strokes = append(p.strokes, side(c.mark(mine), "mine", mineThen, name)...)
		parts = append(parts, p)
	}
	for _, name := range m.others {
		p := part{title: fieldNamed(name).caption() + ", changed by them: theirs is kept"}
		p.strokes = append(before(name), side("* ", "theirs", m.now.Property, name)...)
		parts = append(parts, p)
	}
	for _, name := range m.own {
		p := part{title: fieldNamed(name).caption() + ", changed by you: yours is kept"}
		p.strokes = append(before(name), side("* ", "mine", mineThen, name)...)
		parts = append(parts, p)
	}
	return parts
}

func (c choice) says() string {
	switch c {
	case mine:
		return "yours is kept"
	case theirs:
		return "theirs is kept"
	}
	return "not decided"
}

func (c choice) mark(of choice) string {
	if c == of {
		return "* "
	}
	return "  "
}

// mergeIntro says what the merge is about.
func (s *Screen) mergeIntro() []string {
	m := s.edit.merge
	lines := []string{fmt.Sprintf("Somebody else changed property %d meanwhile: %s.", s.id, words(api.PropertyChanges(s.edit.base.Property, m.now.Property).Fields()))}
	if len(m.conflicts) == 0 {
		return append(lines, "None of it is what you changed, so all merges by itself.")
	}
	return append(lines, fmt.Sprintf("Both of you changed: %s. Choose for each.", words(m.conflicts)))
}

// mergeStatus says what to do now. It stands above all that is scrolled.
func (s *Screen) mergeStatus() string {
	m := s.edit.merge
	goOn := map[afterMerge]string{thenSave: "saves", thenFill: "goes on to the form", thenCompare: "goes on"}[m.then]
	if n := m.open(); n > 0 {
		return fmt.Sprintf("%d to decide: %s keeps mine, %s takes theirs.", n, s.key(mineKey), s.key(theirsKey))
	}
	return "All decided. " + s.key(submitKey) + " " + goOn + "."
}

func linearParts(parts []part) string {
	var lines []string
	for _, p := range parts {
		lines = append(lines, p.linear()...)
	}
	return strings.Join(lines, "\n")
}

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
