package property

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// edit is a change on its way: from the form to the comparison to the service, and round again as often as it takes.
type edit struct {
	base    client.Version    // what it began from, and is held against
	form    *widget.Form      // nil for an undo
	initial map[string]string // what the form's fields hold without a change
	patch   api.PropertyPatch // what the comparison shows, and is sent
	merge   *merge
	undoing bool
	profile screen.Profile // in which its draft is kept

	compared   map[[3]string][]diffLine // by field, before and after: long texts take too long to compare for every key
	drawn      []line                   // the comparison, because wrapping it takes too long to do for every frame
	drawnWidth int                      // 0 for a comparison that has changed
}

func (e *edit) fieldDiffs(width int) []line {
	if e.drawnWidth != width {
		e.drawn, _, _ = drawDiffs(e.reviewDiffs(), width)
		e.drawnWidth = width
	}
	return e.drawn
}

func newEdit(shell *screen.Shell, base client.Version) *edit {
	e := &edit{base: base, profile: shell.Account.Profile, compared: map[[3]string][]diffLine{}}
	e.buildForm(shell, api.PropertyPatch{})
	return e
}

// buildForm makes the form, which holds what the patch makes of the base.
func (e *edit) buildForm(shell *screen.Shell, patch api.PropertyPatch) {
	e.form = widget.NewForm(shell.Theme)
	e.initial = map[string]string{}
	after := e.base.Property.With(patch)
	for _, f := range fields {
		kind, label := widget.Line, f.Label
		if f.isMultiline() {
			kind = widget.Text
		}
		if f.Kind == api.ListField {
			label += ", one per line"
		}
		e.form.Add(widget.Field{
			Name: f.Name, Label: label, Kind: kind, Hint: f.Hint, Eager: true, Value: withoutControls(f, f.text(e.base.Property)),
			Check: func(value string) string { return e.problem(f, value) },
		})
		e.initial[f.Name] = e.form.Value(f.Name)
		if !patch.Only(f.Name).IsEmpty() {
			e.form.Set(f.Name, withoutControls(f, f.text(after)))
		}
	}
	e.form.FocusOn(0)
}

// problem is what is wrong with what a field of the form holds. What was not changed is never wrong.
func (e *edit) problem(f field, value string) string {
	if value == e.initial[f.Name] {
		return ""
	}
	return problemWith(f, restored(f, value, f.text(e.base.Property)))
}

// problemWith says what the contract has against a text, "" for nothing.
func problemWith(f field, text string) string {
	_, err := api.ParsePropertyPatch([]api.Member{member(f, text)})
	var invalid *api.Error
	if errors.As(err, &invalid) {
		return strings.Join(invalid.Fields[f.Name], ", ")
	}
	return ""
}

// typed returns the fields whose text was changed, whatever it is worth.
func (e *edit) typed() map[string]string {
	typed := e.form.Values()
	maps.DeleteFunc(typed, func(name, value string) bool { return value == e.initial[name] })
	return typed
}

// changes returns what the form changes, and the fields that hold nothing that could be sent.
func (e *edit) changes() (patch api.PropertyPatch, wrong []string) {
	var members []api.Member
	typed := e.typed()
	for _, f := range fields {
		switch value, changed := typed[f.Name]; {
		case !changed:
		case e.problem(f, value) != "":
			wrong = append(wrong, f.Name)
		default:
			members = append(members, member(f, restored(f, value, f.text(e.base.Property))))
		}
	}
	patch, _ = api.ParsePropertyPatch(members) // each of them was checked
	return api.PropertyChanges(e.base.Property, e.base.Property.With(patch)), wrong
}

// rebase makes the edit one of another version. Text that cannot be read yet stays as it was typed.
func (e *edit) rebase(shell *screen.Shell, base client.Version, patch api.PropertyPatch) {
	before := *e
	e.base, e.patch, e.merge, e.drawnWidth = base, patch, nil, 0
	if e.form == nil {
		return
	}
	_, wrong := before.changes()
	typed, focus := before.typed(), before.form.Focus()
	e.buildForm(shell, patch)
	for _, name := range wrong {
		e.form.Set(name, typed[name])
	}
	e.form.FocusOnName(focus)
}

// review leaves the form for the comparison, if there is something to send and nothing wrong with it.
func (s *Screen) review() tea.Cmd {
	e := s.edit
	s.notes, s.unknown = nil, false
	e.form.Check()
	patch, wrong := e.changes()
	if len(wrong) > 0 {
		e.form.FocusOnName(wrong[0])
		s.note("Fix first: %s.", labels(wrong))
		return nil
	}
	if patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing was changed, so there is nothing to send.")
	}
	e.patch = patch
	s.setMode(reviewing)
	return nil
}

func (s *Screen) discard() tea.Cmd {
	typed := s.edit.typed()
	if len(typed) == 0 {
		return s.closeEdit()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes to " + labels(typedNames(typed)) + "?",
		Text:  fmt.Sprintf("Property %d stays as it was.", s.id),
		Yes:   "discard",
		Then: func() tea.Cmd {
			if s.edit == nil || s.sender.Busy() {
				return nil
			}
			return s.closeEdit()
		},
	})
}

func typedNames(typed map[string]string) []string {
	return slices.DeleteFunc(api.PropertyPatchFields(), func(name string) bool { _, ok := typed[name]; return !ok })
}

func (s *Screen) closeEdit() tea.Cmd {
	var retryHint, drop tea.Cmd
	if s.unknown {
		retryHint = s.record.Again()
	}
	if s.edit.form != nil {
		drop = s.drafts.save(s.edit.profile, nil)
	}
	s.edit, s.notes, s.unknown = nil, nil, false
	s.setMode(viewing)
	return tea.Batch(retryHint, drop)
}

// field is how people meet one field of a property.
type field struct{ api.PropertyField }

// fields are those that can be changed, in the order of the form.
var fields = func() (all []field) {
	for _, f := range api.PropertyFields() {
		all = append(all, field{f})
	}
	return all
}()

func fieldNamed(name string) field {
	f, _ := api.PropertyFieldNamed(name)
	return field{f}
}

func (f field) isMultiline() bool { return f.Kind == api.TextField || f.Kind == api.ListField }

func (f field) lowerLabel() string { return strings.ToLower(f.Label) }

// text is what a property holds in the field, as a person edits it: no position is the empty text, and each image has a line.
func (f field) text(p api.Property) string { return strings.Join(f.Texts(p), "\n") }

// member is what a text of that kind is to the contract.
func member(f field, text string) api.Member {
	value := api.TextValue(strings.TrimSpace(text))
	switch f.Kind {
	case api.LineField, api.TextField:
		value = api.TextValue(text)
	case api.ListField:
		var entries []string
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSpace(line); line != "" {
				entries = append(entries, line)
			}
		}
		value = api.ListValue(entries)
	}
	return api.Member{Name: f.Name, Value: value}
}

func labels(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fieldNamed(name).lowerLabel())
	}
	return strings.Join(list, ", ")
}

type undo struct {
	after client.Version // what saving has made
	back  api.PropertyPatch
}

// whyNoUndo says why nothing can be undone, "" if something can.
func (s *Screen) whyNoUndo() string {
	switch {
	case s.undo == nil:
		return "Nothing was saved here yet."
	case s.undo.back.IsHeldBy(s.record.Value.Property):
		return fmt.Sprintf("The property already has its old values: %s.", labels(s.undo.back.Fields()))
	}
	return ""
}

// startUndo shows what undoing does. What somebody else has done since is merged into it first.
func (s *Screen) startUndo() tea.Cmd {
	u := s.undo
	s.edit = &edit{base: u.after, patch: u.back, undoing: true, profile: s.shell.Account.Profile, compared: map[[3]string][]diffLine{}}
	if u.after.ETag != "" && u.after.Same(s.record.Value) {
		s.edit.base = s.record.Value
		s.setMode(reviewing)
		return nil
	}
	return s.startMerge(s.record.Value, thenCompare)
}
