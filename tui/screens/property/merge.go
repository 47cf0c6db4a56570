package property

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// afterMerge is where a merge leads.
type afterMerge int

const (
	thenSave afterMerge = iota
	thenFill
	thenCompare
)

// The sides of a merge.
const (
	mine   = "mine"
	theirs = "theirs"
)

// merge is an edit beside what somebody else has made of the property meanwhile.
type merge struct {
	api.PropertyMerge
	now    client.Version
	then   afterMerge
	chosen map[string]string // the side of each conflict that is decided
	at     int               // the conflict that is being decided
}

func (m *merge) undecided() []string {
	return slices.DeleteFunc(slices.Clone(m.Conflicts), func(name string) bool { return m.chosen[name] != "" })
}

// merged is what the edit still changes of their version, as far as it is decided.
func (m *merge) merged(patch api.PropertyPatch) api.PropertyPatch {
	kept := slices.Clone(m.Mine)
	for _, name := range m.Conflicts {
		if m.chosen[name] == mine {
			kept = append(kept, name)
		}
	}
	return api.PropertyChanges(m.now.Property, m.now.Property.With(patch.Only(kept...)))
}

// choose decides the present conflict, and goes on to the next that is open.
func (m *merge) choose(side string) {
	m.chosen[m.Conflicts[m.at]] = side
	for i := range m.Conflicts {
		if next := (m.at + i) % len(m.Conflicts); m.chosen[m.Conflicts[next]] == "" {
			m.at = next
			return
		}
	}
}

// meet holds the edit against what somebody else has made of the property.
func (s *Screen) meet(now client.Version, then afterMerge) tea.Cmd {
	e := s.edit
	s.put(now)
	if !api.PropertyChanges(e.base.Property, now.Property).IsEmpty() {
		e.merge = &merge{PropertyMerge: api.MergePropertyChanges(e.base.Property, now.Property, e.patch), now: now, then: then, chosen: map[string]string{}}
		s.show(merging)
		s.reveal = true
		return nil
	}
	isSame := now.Same(e.base)
	e.rebase(s.shell, now, e.patch)
	switch {
	case then == thenCompare:
		s.show(comparing)
	case then == thenSave && isSame:
		s.note("The service says that the property was changed meanwhile, but it is as it was. Nothing was saved. %s.", s.again("Try it once more"))
	case then == thenSave:
		s.note("Somebody else saved the property meanwhile and changed no field that is shown. Nothing was saved yet. %s.", s.again("Save it now"))
	}
	return nil
}

func (s *Screen) adopt() tea.Cmd {
	e, m := s.edit, s.edit.merge
	patch := m.merged(e.patch)
	if patch.IsEmpty() && m.then != thenFill {
		return tea.Batch(s.leaveEdit(), screen.Tell(screen.Note, "Nothing is left to save: property %d stays as it is now.", s.id))
	}
	e.rebase(s.shell, m.now, patch)
	s.notes = nil
	keep := s.keepDraft()
	if m.then == thenFill {
		s.show(filling)
		return keep
	}
	s.show(comparing)
	if m.then == thenCompare {
		return keep
	}
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
		s.edit, s.notes = nil, nil // the draft stays
		s.show(reading)
		return screen.Tell(screen.Note, "The unsaved text is kept: it is offered again with the next edit.")
	}
	s.show(filling)
	s.notes = nil
	if undecided := m.undecided(); len(undecided) > 0 {
		e.merge = nil
		s.note("The form is as you left it. Not decided yet: %s. That comes up again when you save.", words(undecided))
		return nil
	}
	e.rebase(s.shell, m.now, m.merged(e.patch))
	s.note("The form holds what was merged.")
	return s.keepDraft()
}

// parts is what the merge view shows: each field with what it was, and what it became on either side.
func (m *merge) parts(e *edit) []part {
	var parts []part
	after := map[string]api.Property{mine: e.base.Property.With(e.patch), theirs: m.now.Property}
	add := func(name, title, chosen string, sides ...string) {
		f := fieldNamed(name)
		p := part{title: f.Label + ", " + title}
		before := f.text(e.base.Property)
		if !f.hasLines() { // of several lines, what goes is marked on either side
			p.strokes = append(p.strokes, stroke{stays, "before: " + shown(f, before)})
		}
		for _, side := range sides {
			mark, text := stays, f.text(after[side])
			if side == chosen {
				mark = "* "
			}
			if !f.hasLines() {
				p.strokes = append(p.strokes, stroke{mark, side + ": " + shown(f, text)})
				continue
			}
			p.strokes = append(p.strokes, stroke{mark, side + ", against what it was before:"})
			for _, l := range e.strokes(f, before, text) {
				p.strokes = append(p.strokes, stroke{"  " + l.mark, l.text})
			}
		}
		parts = append(parts, p)
	}
	for i, name := range m.Conflicts {
		says := map[string]string{"": "not decided", mine: "yours is kept", theirs: "theirs is kept"}[m.chosen[name]]
		add(name, "changed by both: "+says, m.chosen[name], theirs, mine)
		parts[i].conflict, parts[i].current = true, i == m.at
	}
	for _, name := range m.Theirs {
		add(name, "changed by them: theirs is kept", theirs, theirs)
	}
	for _, name := range m.Mine {
		add(name, "changed by you: yours is kept", mine, mine)
	}
	return parts
}

func (s *Screen) mergeIntro() []string {
	m := s.edit.merge
	changed := api.PropertyChanges(s.edit.base.Property, m.now.Property).Fields()
	lines := []string{fmt.Sprintf("Somebody else changed property %d meanwhile: %s.", s.id, words(changed))}
	if len(m.Conflicts) == 0 {
		return append(lines, "None of it is what you changed, so all merges by itself.")
	}
	return append(lines, fmt.Sprintf("Both of you changed: %s. Choose for each.", words(m.Conflicts)))
}

// mergeStatus says what to do now. It stands above all that is scrolled.
func (s *Screen) mergeStatus() string {
	m := s.edit.merge
	if n := len(m.undecided()); n > 0 {
		return fmt.Sprintf("%d to decide: %s keeps mine, %s takes theirs.", n, s.shell.Key(actions.Mine), s.shell.Key(actions.Theirs))
	}
	goOn := map[afterMerge]string{thenSave: "saves", thenFill: "goes on to the form", thenCompare: "goes on"}[m.then]
	return "All decided. " + s.shell.Key(actions.Submit) + " " + goOn + "."
}

// stroke is a line of a comparison. Its mark tells its meaning without a colour.
type stroke struct {
	mark string // "- " for what goes, "+ " for what comes
	text string
}

const (
	goes  = "- "
	comes = "+ "
	stays = "  "
)

// part is a field of a comparison or a merge.
type part struct {
	title    string
	strokes  []stroke
	conflict bool
	current  bool // it is the conflict that is being decided
}

func (e *edit) comparison() []part {
	after := e.base.Property.With(e.patch)
	var parts []part
	for _, name := range e.patch.Fields() {
		f := fieldNamed(name)
		parts = append(parts, part{title: f.Label, strokes: e.strokes(f, f.text(e.base.Property), f.text(after))})
	}
	return parts
}

func (e *edit) strokes(f field, before, after string) []stroke {
	key := [3]string{f.Name, before, after}
	if _, known := e.compared[key]; !known {
		e.compared[key] = strokes(f, before, after)
	}
	return e.compared[key]
}

// strokes compares two texts of a field: line by line those that have several.
func strokes(f field, before, after string) []stroke {
	var out []stroke
	if f.hasLines() && before != "" && after != "" {
		for _, line := range display.Diff(before, after) {
			switch {
			case line.Mark == display.Omitted:
				line = display.DiffLine{Mark: display.Kept, Text: "..."}
			case line.Mark != display.Kept && line.Text == "":
				line.Text = "(empty line)"
			}
			out = append(out, stroke{string(line.Mark), line.Text})
		}
	} else {
		for line := range strings.SplitSeq(shown(f, before), "\n") {
			out = append(out, stroke{goes, line})
		}
		for line := range strings.SplitSeq(shown(f, after), "\n") {
			out = append(out, stroke{comes, line})
		}
	}
	if before != after && visible(before) == visible(after) {
		out = append(out, stroke{stays, "(only blanks, or characters that show nothing, differ)"})
	}
	return out
}

func shown(f field, text string) string {
	switch {
	case text == "" && (f.Kind == api.LineField || f.Kind == api.TextField):
		return "(empty)"
	case text == "":
		return "(none)"
	case f.hasLines():
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

func linearParts(parts []part) []string {
	var lines []string
	for _, p := range parts {
		if p.current {
			p.title += " (this is the one to decide)"
		}
		lines = append(lines, p.title)
		for _, s := range p.strokes {
			word := map[string]string{goes: "removed: ", comes: "new: "}[strings.TrimPrefix(s.mark, "  ")]
			if strings.HasPrefix(s.mark, "* ") {
				word = "kept: "
			}
			lines = append(lines, "  "+word+cmp.Or(s.text, "(empty line)"))
		}
	}
	return lines
}
