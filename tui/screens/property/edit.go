package property

import (
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// edit is a change on its way: from the form to the comparison to the service, and round again as often as it takes.
type edit struct {
	base    version           // what it began from, and is held against
	form    *widget.Form      // nil for an undo
	initial map[string]string // what the form's fields hold without a change
	patch   api.PropertyPatch // what the comparison shows, and is sent
	merge   *merge
	notes   []string // what has to be said above it all
	lost    bool     // it was sent, and nobody knows whether it was saved
	undoing bool
	profile screen.Profile // in which its draft is kept

	compared compared
	drawn    drawn
}

// drawn caches the comparison, because wrapping long texts takes too long to do for every frame. Whatever changes the edit clears
// it.
type drawn struct {
	width int
	lines []line
}

// parts draws the comparison.
func (e *edit) parts(width int) []line {
	if e.drawn.width != width {
		lines, _, _ := partLines(e.comparison(), width)
		e.drawn = drawn{width, lines}
	}
	return e.drawn.lines
}

// newEdit lays out the form with a change already made.
func newEdit(shell *screen.Shell, base version, patch api.PropertyPatch) *edit {
	e := &edit{base: base, profile: shell.Account.Profile, compared: compared{}}
	e.layOut(shell, patch)
	return e
}

func (e *edit) layOut(shell *screen.Shell, patch api.PropertyPatch) {
	e.form = widget.NewForm(shell.Theme)
	e.initial = map[string]string{}
	for _, f := range fields() {
		e.form.Add(widget.Field{
			Name: f.name, Label: f.label, Kind: f.kind(), Hint: f.hint,
			Value: typeable(f, textOf(e.base.Property, f.name)),
			Check: func(value string) string { return e.problem(f, value) },
			Eager: true,
		})
		e.initial[f.name] = e.form.Value(f.name)
	}
	after := e.base.with(patch)
	for _, name := range patch.Fields() {
		e.form.Set(name, typeable(fieldNamed(name), textOf(after, name)))
	}
	e.form.FocusOn(0)
}

// problem is what is wrong with what a field of the form holds. What was not changed is never wrong.
func (e *edit) problem(f field, value string) string {
	if value == e.initial[f.name] {
		return ""
	}
	return problemWith(f, e.meant(f, value))
}

// meant is the text that a field of the form stands for.
func (e *edit) meant(f field, value string) string {
	was := textOf(e.base.Property, f.name)
	if value == e.initial[f.name] {
		return was
	}
	return restored(f, value, was)
}

// typed returns the fields whose text was changed, whatever it is worth.
func (e *edit) typed() map[string]string {
	typed := map[string]string{}
	for _, f := range fields() {
		if value := e.form.Value(f.name); value != e.initial[f.name] {
			typed[f.name] = value
		}
	}
	return typed
}

// changes returns what the form changes, and the fields that hold nothing that could be sent.
func (e *edit) changes() (patch api.PropertyPatch, wrong []string) {
	var members []api.Member
	typed := e.typed()
	for _, f := range fields() {
		value, changed := typed[f.name]
		switch {
		case !changed:
		case e.problem(f, value) != "":
			wrong = append(wrong, f.name)
		default:
			members = append(members, member(f, e.meant(f, value)))
		}
	}
	patch, _ = api.ParsePropertyPatch(members) // each of them was checked
	return api.PropertyChanges(e.base.Property, e.base.with(patch)), wrong
}

// rebase makes the edit one of another version. Text that cannot be read yet stays as it was typed.
func (e *edit) rebase(shell *screen.Shell, base version, patch api.PropertyPatch) {
	e.drawn = drawn{}
	if e.form == nil {
		e.base, e.patch, e.merge = base, patch, nil
		return
	}
	_, wrong := e.changes()
	typed, focus := e.typed(), slices.Index(e.form.Names(), e.form.Focus())
	e.base, e.patch, e.merge = base, patch, nil
	e.layOut(shell, patch)
	for _, name := range wrong {
		e.form.Set(name, typed[name])
	}
	e.form.FocusOn(focus)
}

func (e *edit) note(format string, args ...any) {
	e.notes = append(e.notes, fmt.Sprintf(format, args...))
}

func (e *edit) only(format string, args ...any) {
	e.notes = nil
	e.note(format, args...)
}

// compare leaves the form for the comparison, if there is something to send and nothing wrong with it.
func (s *Screen) compare() tea.Cmd {
	e := s.edit
	e.notes, e.lost = nil, false
	e.form.Check()
	patch, wrong := e.changes()
	if len(wrong) > 0 {
		e.form.FocusOn(slices.Index(e.form.Names(), wrong[0]))
		e.note("Fix first: %s.", words(wrong))
		return nil
	}
	if patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing was changed, so there is nothing to send.")
	}
	e.patch = patch
	s.show(comparing)
	return nil
}

// discard asks before a form with changes is left.
func (s *Screen) discard() tea.Cmd {
	typed := s.edit.typed()
	if len(typed) == 0 {
		return s.leaveEdit()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes to " + words(typedNames(typed)) + "?",
		Text:  fmt.Sprintf("Property %d stays as it was.", s.id),
		Yes:   "discard",
		Then: func() tea.Cmd {
			if s.edit == nil || s.sender.Busy() {
				return nil
			}
			return s.leaveEdit()
		},
	})
}

func typedNames(typed map[string]string) []string {
	var names []string
	for _, f := range fields() {
		if _, ok := typed[f.name]; ok {
			names = append(names, f.name)
		}
	}
	return names
}

// leaveEdit goes back to the property, and forgets the text.
func (s *Screen) leaveEdit() tea.Cmd {
	e := s.edit
	s.edit = nil
	s.show(reading)
	var cmds []tea.Cmd
	if e.lost {
		cmds = append(cmds, s.record.Again())
	}
	if e.form != nil {
		cmds = append(cmds, s.drafts.drop(e.profile))
	}
	return tea.Batch(cmds...)
}
