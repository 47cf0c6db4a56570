package property

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// applyMerge goes on after a merge: with the text of a draft, the review, or saving.
func (s *Screen) applyMerge() tea.Cmd {
	switch s.edit.Decide() {
	case operation.Ignored:
		return nil
	case operation.GaveUp:
		return tea.Batch(s.closeEdit(),
			screen.Tell(screen.Note, "Nothing to save: property %s stays as it is.", s.shownID()))
	}
	save := s.merged()
	if s.edit.State() == operation.Reviewing && s.edit.sends {
		return tea.Batch(save, s.save())
	}
	return save
}

// merged shows the edit as it is after a merge, and saves it as a draft.
func (s *Screen) merged() tea.Cmd {
	s.notes = nil
	if s.edit.form != nil {
		s.edit.buildForm(s.shell.Theme)
	}
	s.turn()
	return s.saveDraft()
}

// leaveMerge goes back to the form.
func (s *Screen) leaveMerge() tea.Cmd {
	undecided := s.edit.Merge.Undecided()
	switch isGone := s.edit.Back() == operation.GaveUp; {
	case isGone && s.edit.form == nil:
		return s.closeEdit()
	case isGone:
		s.edit, s.notes = nil, nil
		s.turn()
		return screen.Tell(screen.Note, "The draft is kept for the next edit.")
	}
	save := s.merged()
	if len(undecided) > 0 {
		s.note("Not decided yet: %s. Saving asks again.", labels(undecided))
	} else {
		s.note("The form has the merged text.")
	}
	return save
}

// mergeDiffs is what the merge shows: each field as it was, and as either side has changed it.
func (e *edit) mergeDiffs() []fieldDiff {
	const mine, theirs = operation.Mine, operation.Theirs
	m := e.Merge
	var fields []fieldDiff
	after := map[operation.Side]api.Property{mine: e.Wanted(), theirs: m.Now.Record}
	add := func(name, title string, chosen operation.Side, sides ...operation.Side) {
		f := fieldNamed(name)
		p := fieldDiff{title: f.Label + ", " + title}
		before := f.text(e.Base.Record)
		if !f.IsMultiline() { // the diff of a multiline text shows what it was
			p.diff = append(p.diff, display.DiffLine{Mark: display.Kept, Text: "before: " + displayed(f, before)})
		}
		for _, side := range sides {
			mark, text := display.Kept, f.text(after[side])
			if side == chosen {
				mark = "* "
			}
			if !f.IsMultiline() {
				p.diff = append(p.diff, display.DiffLine{Mark: mark, Text: string(side) + ": " + displayed(f, text)})
				continue
			}
			p.diff = append(p.diff, display.DiffLine{Mark: mark, Text: string(side) + ", against what it was before:"})
			for _, l := range e.diff(f, before, text) {
				p.diff = append(p.diff, display.DiffLine{Mark: "  " + l.Mark, Text: l.Text})
			}
		}
		fields = append(fields, p)
	}
	for i, name := range m.Conflicts {
		chosen := m.Chosen(name)
		says := map[operation.Side]string{"": "not decided", mine: "yours is kept", theirs: "theirs is kept"}[chosen]
		add(name, "changed by both: "+says, chosen, theirs, mine)
		fields[i].conflict, fields[i].current = true, i == m.At
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
	m := s.edit.Merge
	changed := api.PropertyChanges(s.edit.Base.Record, m.Now.Record).Fields()
	lines := []string{fmt.Sprintf("Somebody else changed property %s meanwhile: %s.", s.shownID(), labels(changed))}
	if len(m.Conflicts) == 0 {
		return append(lines, "You changed other fields: nothing to decide.")
	}
	return append(lines, fmt.Sprintf("Both of you changed: %s. Choose for each.", labels(m.Conflicts)))
}

// mergeStatus says what to do now. It does not scroll.
func (s *Screen) mergeStatus() string {
	if n := len(s.edit.Merge.Undecided()); n > 0 {
		return fmt.Sprintf("%d to decide: %s keeps mine, %s takes theirs.", n, s.shell.Key(actions.Mine),
			s.shell.Key(actions.Theirs))
	}
	goOn := "continues"
	switch {
	case s.edit.State() == operation.MergingDraft:
		goOn = "opens the form"
	case s.edit.sends:
		goOn = "saves"
	}
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
	var fields []fieldDiff
	for _, name := range e.Patch.Fields() {
		f := fieldNamed(name)
		diff := e.diff(f, f.text(e.Base.Record), f.text(e.Wanted()))
		if e.IsOfDeleted() {
			diff = onlyMarked(diff, display.Added)
		}
		fields = append(fields, fieldDiff{title: f.Label, diff: diff})
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

// onlyMarked is one side of a comparison of which the other is nothing.
func onlyMarked(lines []display.DiffLine, mark display.Mark) []display.DiffLine {
	return slices.DeleteFunc(slices.Clone(lines), func(l display.DiffLine) bool { return l.Mark != mark })
}

// diff compares two texts of a field, multiline ones line by line.
func diff(f field, before, after string) []display.DiffLine {
	var out []display.DiffLine
	if f.IsMultiline() && before != "" && after != "" {
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

// field is a field of a property, with what the screen needs to know of it.
type field struct{ api.Field }

// fields are in the order of the form.
var fields = sync.OnceValue(func() (all []field) {
	for _, f := range api.PropertyFields() {
		all = append(all, field{f})
	}
	return all
})

func fieldNamed(name string) field {
	f, _ := api.PropertyFieldNamed(name)
	return field{f}
}

func (f field) lowerLabel() string { return strings.ToLower(f.Label) }

// value is the value as it is shown, with a remark if it can't be read.
func (f field) value(p api.Property) string {
	value := displayed(f, f.text(p))
	if remark := p.Remarks()[f.Name]; remark != "" {
		value += " (" + remark + ")"
	}
	return value
}

// text is the value as it is edited: no position is the empty text, and each image has a line.
func (f field) text(p api.Property) string { return operation.Properties.Text(f.Name, p) }

func labels(names []string) string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = fieldNamed(name).lowerLabel()
	}
	return strings.Join(list, ", ")
}

func displayed(f field, text string) string {
	switch {
	case text == "" && (f.Kind == api.LineField || f.Kind == api.TextField):
		return "(empty)"
	case text == "":
		return "(none)"
	case f.IsMultiline():
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
