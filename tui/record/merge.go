package record

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// applyMerge goes on after a merge: with the text of a draft, the review, or saving.
func (s *Editor[I, R, P]) applyMerge() tea.Cmd {
	switch s.edit.Decide() {
	case operation.Ignored:
		return nil
	case operation.GaveUp:
		return tea.Batch(s.closeEdit(),
			screen.Tell(screen.Note, "Nothing to save: %s stays as it is.", s.name()))
	}
	save := s.merged()
	if s.edit.State() == operation.Reviewing && s.edit.sends {
		return tea.Batch(save, s.save())
	}
	return save
}

// merged shows the edit as it is after a merge, and saves it as a draft.
func (s *Editor[I, R, P]) merged() tea.Cmd {
	s.Notes = nil
	if s.edit.form != nil {
		s.edit.buildForm(s.Shell.Theme)
	}
	s.turn()
	return s.saveDraft()
}

// leaveMerge goes back to the form.
func (s *Editor[I, R, P]) leaveMerge() tea.Cmd {
	undecided := s.edit.Merge.Undecided()
	switch isGone := s.edit.Back() == operation.GaveUp; {
	case isGone && s.edit.form == nil:
		return s.closeEdit()
	case isGone:
		s.edit, s.Notes = nil, nil
		s.turn()
		return screen.Tell(screen.Note, "The draft is kept for the next edit.")
	}
	save := s.merged()
	if len(undecided) > 0 {
		s.note("Not decided yet: %s. Saving asks again.", s.Kind.Labels(undecided))
	} else {
		s.note("The form has the merged text.")
	}
	return save
}

// mergeDiffs is what the merge shows: each field as it was, and as either side has changed it.
func (e *edit[I, R, P]) mergeDiffs() []fieldDiff {
	const mine, theirs = operation.Mine, operation.Theirs
	m := e.Merge
	var fields []fieldDiff
	after := map[operation.Side]R{mine: e.Wanted(), theirs: m.Now.Record}
	add := func(name, title string, chosen operation.Side, sides ...operation.Side) {
		f := e.kind.field(name)
		p := fieldDiff{title: f.Label + ", " + title}
		before := e.Kind.Text(name, e.Base.Record)
		if !f.IsMultiline() { // the diff of a multiline text shows what it was
			p.diff = append(p.diff, display.DiffLine{Mark: display.Kept, Text: "before: " + Displayed(f, before)})
		}
		for _, side := range sides {
			mark, text := display.Kept, e.Kind.Text(name, after[side])
			if side == chosen {
				mark = "* "
			}
			if !f.IsMultiline() {
				p.diff = append(p.diff, display.DiffLine{Mark: mark, Text: string(side) + ": " + Displayed(f, text)})
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

func (s *Editor[I, R, P]) mergeIntro() []string {
	m := s.edit.Merge
	changed := s.Kind.Changes(s.edit.Base.Record, m.Now.Record).Fields()
	lines := []string{fmt.Sprintf("Somebody else changed %s meanwhile: %s.", s.name(), s.Kind.Labels(changed))}
	if len(m.Conflicts) == 0 {
		return append(lines, "You changed other fields: nothing to decide.")
	}
	return append(lines, fmt.Sprintf("Both of you changed: %s. Choose for each.", s.Kind.Labels(m.Conflicts)))
}

// mergeStatus says what to do now. It does not scroll.
func (s *Editor[I, R, P]) mergeStatus() string {
	if n := len(s.edit.Merge.Undecided()); n > 0 {
		return fmt.Sprintf("%d to decide: %s keeps mine, %s takes theirs.", n, s.Shell.Key(actions.Mine),
			s.Shell.Key(actions.Theirs))
	}
	return "All decided. " + s.Shell.Key(actions.Submit) + " " + s.edit.afterMerge().does + "."
}

// afterMerge is what follows once all is decided.
func (e *edit[I, R, P]) afterMerge() words {
	switch {
	case e.State() == operation.MergingDraft:
		return words{do: "open form", does: "opens the form"}
	case e.sends:
		return words{do: "save", does: "saves"}
	}
	return words{do: "continue", does: "continues"}
}

// fieldDiff is a field of a review or a merge.
type fieldDiff struct {
	title    string
	diff     []display.DiffLine
	conflict bool
	current  bool // it is the current conflict
}

func (e *edit[I, R, P]) reviewDiffs() []fieldDiff {
	var fields []fieldDiff
	for _, name := range e.Patch.Fields() {
		f := e.kind.field(name)
		diff := e.diff(f, e.Kind.Text(name, e.Base.Record), e.Kind.Text(name, e.Wanted()))
		if e.IsOfDeleted() {
			diff = onlyMarked(diff, display.Added)
		}
		fields = append(fields, fieldDiff{title: f.Label, diff: diff})
	}
	return fields
}

func (e *edit[I, R, P]) diff(f api.Field, before, after string) []display.DiffLine {
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
func diff(f api.Field, before, after string) []display.DiffLine {
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
		for line := range strings.SplitSeq(Displayed(f, before), "\n") {
			out = append(out, display.DiffLine{Mark: display.Removed, Text: line})
		}
		for line := range strings.SplitSeq(Displayed(f, after), "\n") {
			out = append(out, display.DiffLine{Mark: display.Added, Text: line})
		}
	}
	if before != after && visible(before) == visible(after) {
		out = append(out, display.DiffLine{Mark: display.Kept, Text: "(only invisible characters differ)"})
	}
	return out
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
