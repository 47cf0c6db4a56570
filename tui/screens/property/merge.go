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

// afterMerge is what follows a merge.
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

// merge is an edit and what somebody else has changed meanwhile.
type merge struct {
	api.PropertyMerge
	now    client.Version
	then   afterMerge
	chosen map[string]string // the side of each conflict that is decided
	at     int               // the current conflict
}

func (m *merge) undecided() []string {
	return slices.DeleteFunc(slices.Clone(m.Conflicts), func(name string) bool { return m.chosen[name] != "" })
}

// mergedPatch is what the edit still changes in their version, as far as it is decided.
func (m *merge) mergedPatch(patch api.PropertyPatch) api.PropertyPatch {
	kept := slices.Clone(m.Mine)
	for _, name := range m.Conflicts {
		if m.chosen[name] == mine {
			kept = append(kept, name)
		}
	}
	return api.PropertyChanges(m.now.Property, m.now.Property.With(patch.Only(kept...)))
}

// choose decides the current conflict, and moves to the next undecided one.
func (m *merge) choose(side string) {
	m.chosen[m.Conflicts[m.at]] = side
	for i := range m.Conflicts {
		if next := (m.at + i) % len(m.Conflicts); m.chosen[m.Conflicts[next]] == "" {
			m.at = next
			return
		}
	}
}

// startMerge compares the edit with the version that was read now, and shows the merge if that was changed.
func (s *Screen) startMerge(now client.Version, then afterMerge) tea.Cmd {
	e := s.edit
	s.setRecord(now)
	if !api.PropertyChanges(e.base.Property, now.Property).IsEmpty() {
		e.merge = &merge{PropertyMerge: api.MergePropertyChanges(e.base.Property, now.Property, e.patch), now: now, then: then, chosen: map[string]string{}}
		s.setMode(merging)
		s.reveal = true
		return nil
	}
	isSame := now.Same(e.base)
	e.rebase(s.shell, now, e.patch)
	switch {
	case then == thenCompare:
		s.setMode(reviewing)
	case then == thenSave && isSame:
		s.note("Not saved: the service reports another version, but no field differs. %s.", s.retryHint("Retry"))
	case then == thenSave:
		s.note("Not saved yet: somebody else saved it without visible changes. %s.", s.retryHint("Save now"))
	}
	return nil
}

func (s *Screen) applyMerge() tea.Cmd {
	e, m := s.edit, s.edit.merge
	patch := m.mergedPatch(e.patch)
	if patch.IsEmpty() && m.then != thenFill {
		return tea.Batch(s.closeEdit(),
			screen.Tell(screen.Note, "Nothing to save: property %s stays as it is.", s.shownID()))
	}
	e.rebase(s.shell, m.now, patch)
	s.notes = nil
	save := s.saveDraft()
	if m.then == thenFill {
		s.setMode(editing)
		return save
	}
	s.setMode(reviewing)
	if m.then == thenCompare {
		return save
	}
	return tea.Batch(save, s.save())
}

// leaveMerge goes back. If all conflicts are decided, the merge counts; if not, the edit keeps its base, so that saving shows the
// conflicts again.
func (s *Screen) leaveMerge() tea.Cmd {
	e, m := s.edit, s.edit.merge
	if e.form == nil {
		return s.closeEdit()
	}
	if m.then == thenFill {
		s.edit, s.notes = nil, nil // the draft stays
		s.setMode(viewing)
		return screen.Tell(screen.Note, "The draft is kept for the next edit.")
	}
	s.setMode(editing)
	s.notes = nil
	if undecided := m.undecided(); len(undecided) > 0 {
		e.merge = nil
		s.note("Not decided yet: %s. Saving asks again.", labels(undecided))
		return nil
	}
	e.rebase(s.shell, m.now, m.mergedPatch(e.patch))
	s.note("The form has the merged text.")
	return s.saveDraft()
}

// fieldDiffs is what the merge shows: each field as it was, and as either side has changed it.
func (m *merge) fieldDiffs(e *edit) []fieldDiff {
	var fields []fieldDiff
	after := map[string]api.Property{mine: e.base.Property.With(e.patch), theirs: m.now.Property}
	add := func(name, title, chosen string, sides ...string) {
		f := fieldNamed(name)
		p := fieldDiff{title: f.Label + ", " + title}
		before := f.text(e.base.Property)
		if !f.isMultiline() { // the diff of a multiline text shows what it was
			p.diff = append(p.diff, display.DiffLine{Mark: display.Kept, Text: "before: " + displayed(f, before)})
		}
		for _, side := range sides {
			mark, text := display.Kept, f.text(after[side])
			if side == chosen {
				mark = "* "
			}
			if !f.isMultiline() {
				p.diff = append(p.diff, display.DiffLine{Mark: mark, Text: side + ": " + displayed(f, text)})
				continue
			}
			p.diff = append(p.diff, display.DiffLine{Mark: mark, Text: side + ", against what it was before:"})
			for _, l := range e.diff(f, before, text) {
				p.diff = append(p.diff, display.DiffLine{Mark: "  " + l.Mark, Text: l.Text})
			}
		}
		fields = append(fields, p)
	}
	for i, name := range m.Conflicts {
		says := map[string]string{"": "not decided", mine: "yours is kept", theirs: "theirs is kept"}[m.chosen[name]]
		add(name, "changed by both: "+says, m.chosen[name], theirs, mine)
		fields[i].conflict, fields[i].current = true, i == m.at
	}
	for _, name := range m.Theirs {
		add(name, "changed by them: theirs is kept", theirs, theirs)
	}
	for _, name := range m.Mine {
		add(name, "changed by you: yours is kept", mine, mine)
	}
	return fields
}

func (s *Screen) mergeIntro() []string {
	m := s.edit.merge
	changed := api.PropertyChanges(s.edit.base.Property, m.now.Property).Fields()
	lines := []string{fmt.Sprintf("Somebody else changed property %s meanwhile: %s.", s.shownID(), labels(changed))}
	if len(m.Conflicts) == 0 {
		return append(lines, "You changed other fields: nothing to decide.")
	}
	return append(lines, fmt.Sprintf("Both of you changed: %s. Choose for each.", labels(m.Conflicts)))
}

// mergeStatus says what to do now. It does not scroll.
func (s *Screen) mergeStatus() string {
	m := s.edit.merge
	if n := len(m.undecided()); n > 0 {
		return fmt.Sprintf("%d to decide: %s keeps mine, %s takes theirs.", n, s.shell.Key(actions.Mine), s.shell.Key(actions.Theirs))
	}
	goOn := map[afterMerge]string{thenSave: "saves", thenFill: "opens the form", thenCompare: "continues"}[m.then]
	return "All decided. " + s.shell.Key(actions.Submit) + " " + goOn + "."
}

// fieldDiff is a field of a review or a merge.
type fieldDiff struct {
	title    string
	diff     []display.DiffLine
	conflict bool
	current  bool // it is the current conflict
}

func (e *edit) reviewDiffs() []fieldDiff {
	after := e.base.Property.With(e.patch)
	var fields []fieldDiff
	for _, name := range e.patch.Fields() {
		f := fieldNamed(name)
		fields = append(fields, fieldDiff{title: f.Label, diff: e.diff(f, f.text(e.base.Property), f.text(after))})
	}
	return fields
}

func (e *edit) diff(f field, before, after string) []display.DiffLine {
	key := [3]string{f.Name, before, after}
	if _, known := e.compared[key]; !known {
		e.compared[key] = diff(f, before, after)
	}
	return e.compared[key]
}

// diff compares two texts of a field, multiline ones line by line.
func diff(f field, before, after string) []display.DiffLine {
	var out []display.DiffLine
	if f.isMultiline() && before != "" && after != "" {
		for _, line := range display.Diff(before, after) {
			switch {
			case line.Mark == display.Omitted:
				line = display.DiffLine{Mark: display.Kept, Text: "..."}
			case line.Mark != display.Kept && line.Text == "":
				line.Text = "(empty line)"
			}
			out = append(out, line)
		}
	} else {
		for line := range strings.SplitSeq(displayed(f, before), "\n") {
			out = append(out, display.DiffLine{Mark: display.Removed, Text: line})
		}
		for line := range strings.SplitSeq(displayed(f, after), "\n") {
			out = append(out, display.DiffLine{Mark: display.Added, Text: line})
		}
	}
	if before != after && visible(before) == visible(after) {
		out = append(out, display.DiffLine{Mark: display.Kept, Text: "(only invisible characters differ)"})
	}
	return out
}

func displayed(f field, text string) string {
	switch {
	case text == "" && (f.Kind == api.LineField || f.Kind == api.TextField):
		return "(empty)"
	case text == "":
		return "(none)"
	case f.isMultiline():
		return display.Text(text)
	}
	return display.Line(text)
}

// visible is a text without the blanks that cannot be seen.
func visible(text string) string {
	lines := strings.Split(display.Text(text), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func linearDiffs(fields []fieldDiff) []string {
	var lines []string
	for _, p := range fields {
		if p.current {
			p.title += " (this is the one to decide)"
		}
		lines = append(lines, p.title)
		for _, s := range p.diff {
			word := map[string]string{"-": "removed: ", "+": "new: ", "*": "kept: "}[strings.TrimSpace(string(s.Mark))]
			lines = append(lines, "  "+word+cmp.Or(s.Text, "(empty line)"))
		}
	}
	return lines
}
