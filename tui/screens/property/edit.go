package property

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// edit is a change that is edited, reviewed, saved and, if somebody else was faster, merged.
type edit struct {
	base     client.Version    // the version that it changes
	form     *widget.Form      // nil for an undo
	initial  map[string]string // the text of each field without a change
	patch    api.PropertyPatch // what is reviewed and sent
	merge    *merge
	undoing  bool
	outdated bool           // somebody else has changed the property since base
	merges   bool           // their version is being read, for the merge before the review
	profile  screen.Profile // that the draft belongs to

	compared map[[3]string][]display.DiffLine // by field, before and after: comparing long texts for each key is too slow
	drawn    map[drawing][]line               // the review: wrapping it for each frame is too slow; nil if it has changed
}

// drawing is how the review is drawn.
type drawing struct {
	look     *theme.Theme
	width    int
	unfolded bool
}

func (e *edit) drawReview(d drawing) []line {
	if e.drawn == nil {
		e.drawn = map[drawing][]line{}
	}
	if _, known := e.drawn[d]; !known {
		e.drawn[d], _, _ = drawDiffs(e.reviewDiffs(), d)
	}
	return e.drawn[d]
}

func newEdit(shell *screen.Shell, base client.Version) *edit {
	e := &edit{base: base, profile: shell.Account.Profile, compared: map[[3]string][]display.DiffLine{}}
	e.buildForm(shell, api.PropertyPatch{})
	return e
}

// buildForm makes the form, with the base as changed by the patch.
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
		width := 0
		if f.Kind == api.PriceField || f.Kind == api.NumberField {
			width = widthOfNumber
		}
		e.form.Add(widget.Field{
			Name: f.Name, Width: width, Label: label, Kind: kind, Hint: f.Hint, Eager: true,
			Value: withoutControls(f, f.text(e.base.Property)), Limit: f.MaxLength,
			Check: func(value string) string { return e.problem(f, value) },
		})
		e.initial[f.Name] = e.form.Value(f.Name)
		if !patch.Only(f.Name).IsEmpty() {
			e.form.Set(f.Name, withoutControls(f, f.text(after)))
		}
	}
	e.form.FocusIndex(0)
	e.form.MarkChanges()
}

const widthOfNumber = 24

// problem says what is wrong with the text of a field. Text that was not changed is never wrong.
func (e *edit) problem(f field, value string) string {
	if value == e.initial[f.Name] {
		return ""
	}
	if why := problemWith(f, restored(f, value, f.text(e.base.Property))); why != "" {
		return cmp.Or(howToPutRight(f, value), why)
	}
	return ""
}

// howToPutRight says what to write instead, for the usual mistakes; "" for others. The rule alone does not name the line, or the sign.
func howToPutRight(f field, value string) string {
	if point := strings.Replace(strings.TrimSpace(value), ",", ".", 1); f.Name == "price_pw" && strings.Contains(value, ",") && problemWith(f, point) == "" {
		return "Use a point: " + point
	}
	if f.Kind != api.ListField {
		return ""
	}
	for i, line := range strings.Split(value, "\n") {
		if line = strings.TrimSpace(line); line != "" && api.URLRule(line) != "" {
			return fmt.Sprintf("Line %d: enter a full URL, such as https://…", i+1)
		}
	}
	return ""
}

// problemWith says which rule a text breaks; "" if none.
func problemWith(f field, text string) string {
	_, err := api.ParsePropertyPatch([]api.Member{member(f, text)})
	var invalid *api.Error
	if errors.As(err, &invalid) {
		return strings.Join(invalid.Fields[f.Name], ", ")
	}
	return ""
}

// typed returns the fields whose text was changed, valid or not.
func (e *edit) typed() map[string]string {
	typed := e.form.Values()
	maps.DeleteFunc(typed, func(name, value string) bool { return value == e.initial[name] })
	return typed
}

// changes returns what the form changes, and the fields that are not valid.
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
	patch, _ = api.ParsePropertyPatch(members) // each member was checked
	return api.PropertyChanges(e.base.Property, e.base.Property.With(patch)), wrong
}

// rebase makes the edit a change of another version. Text that is not valid stays as it was typed.
func (e *edit) rebase(shell *screen.Shell, base client.Version, patch api.PropertyPatch) {
	before := *e
	e.base, e.patch, e.merge, e.drawn = base, patch, nil, nil
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

// review shows what saving would change, if there is a change and it is valid.
func (s *Screen) review() tea.Cmd {
	e := s.edit
	s.notes, s.unknown = nil, false
	e.form.Check()
	patch, wrong := e.changes()
	if len(wrong) > 0 {
		e.form.FocusOnName(wrong[0])
		s.refused = true
		return nil
	}
	if patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing was changed.")
	}
	if e.patch = patch; e.outdated {
		e.outdated, e.merges = false, true
		return s.record.Again()
	}
	s.setMode(reviewing)
	return nil
}

// mergeFirst merges the edit with what somebody else has saved, before the review. If that was not read, the service
// reports the conflict.
func (s *Screen) mergeFirst() tea.Cmd {
	s.edit.merges = false
	if cmd := s.review(); cmd != nil || s.mode != reviewing || s.record.Err != nil {
		return cmd
	}
	return s.startMerge(s.record.Value, thenCompare)
}

// fixFirst says what is not valid now, after it was tried to save it; "" if nothing.
func (s *Screen) fixFirst() string {
	if !s.refused {
		return ""
	}
	_, wrong := s.edit.changes()
	if len(wrong) == 0 {
		return ""
	}
	return "Fix first: " + labels(wrong) + "."
}

func (s *Screen) discard() tea.Cmd {
	typed := s.edit.typed()
	if len(typed) == 0 {
		return s.closeEdit()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes to " + labels(typedNames(typed)) + "?",
		Text:  fmt.Sprintf("Property %s stays as it was.", s.shownID()),
		Yes:   "discard", No: "keep editing", Local: true,
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
	var reload, deleteDraft tea.Cmd
	if s.unknown {
		reload = s.record.Again()
	}
	if s.edit.form != nil {
		deleteDraft = s.drafts.save(s.edit.profile, nil)
		s.cursorOn(s.edit.form.Focus())
	}
	s.edit, s.notes, s.unknown = nil, nil, false
	s.setMode(viewing)
	return tea.Batch(reload, deleteDraft)
}

// field is a field of a property, with what the screen needs to know of it.
type field struct{ api.PropertyField }

// fields are in the order of the form.
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

// value is the value as it is shown, with a remark if it can't be read.
func (f field) value(p api.Property) string {
	value := displayed(f, f.text(p))
	if remark := p.Remarks()[f.Name]; remark != "" {
		value += " (" + remark + ")"
	}
	return value
}

// text is the value as it is edited: no position is the empty text, and each image has a line.
func (f field) text(p api.Property) string { return strings.Join(f.Texts(p), "\n") }

// member is the text as a member of a patch.
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

// undo is how to take back the last save.
type undo struct {
	after client.Version // the version that was saved
	back  api.PropertyPatch
}

// whyNoUndo says why nothing can be undone; "" if something can.
func (s *Screen) whyNoUndo() string {
	switch {
	case s.undo == nil:
		return "Nothing was saved here yet."
	case s.undo.back.IsAppliedTo(s.record.Value.Property):
		return fmt.Sprintf("The property already has its old values: %s.", labels(s.undo.back.Fields()))
	}
	return ""
}

// startUndo reviews the undo. Later changes by somebody else are merged first.
func (s *Screen) startUndo() tea.Cmd {
	u := s.undo
	s.edit = &edit{base: u.after, patch: u.back, undoing: true, profile: s.shell.Account.Profile, compared: map[[3]string][]display.DiffLine{}}
	if u.after.ETag != "" && u.after.Same(s.record.Value) {
		s.edit.base = s.record.Value
		s.setMode(reviewing)
		return nil
	}
	return s.startMerge(s.record.Value, thenCompare)
}
