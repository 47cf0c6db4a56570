package property

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// edit is an edit with its form, and how it is drawn.
type edit struct {
	*operation.PropertyEdit
	form    *widget.Form   // nil for an undo
	profile screen.Profile // that the draft belongs to
	sends   bool           // the merge was found by saving, which goes on after it

	// What is slow to make for each frame: comparisons of texts by field, before and after, and the review, nil if it
	// has changed.
	compared map[[3]string][]display.DiffLine
	drawn    map[drawing][]line
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

func newEdit(shell *screen.Shell, of *operation.PropertyEdit) *edit {
	return &edit{PropertyEdit: of, profile: shell.Account.Profile, compared: map[[3]string][]display.DiffLine{}}
}

// openForm opens the form of an edit, with the keyboard in a field.
func (s *Screen) openForm(of *operation.PropertyEdit, field string) {
	s.edit, s.notes = newEdit(s.shell, of), nil
	s.edit.buildForm(s.shell.Theme)
	s.edit.form.FocusOnName(field)
	s.turn()
}

// buildForm makes the form, with what was typed in it.
func (e *edit) buildForm(look *theme.Theme) {
	focus := ""
	if e.form != nil {
		focus = e.form.Focus()
	}
	e.form = widget.NewForm(look)
	for _, f := range fields {
		kind, label, width := widget.Line, f.Label, 0
		if f.IsMultiline() {
			kind = widget.Text
		}
		if f.Kind == api.ListField {
			label += ", one per line"
		}
		if f.Kind == api.PriceField || f.Kind == api.NumberField {
			width = widthOfNumber
		}
		e.form.Add(widget.Field{
			Name: f.Name, Width: width, Label: label, Kind: kind, Hint: f.Hint, Eager: true,
			Value: e.BaseText(f.Name), Limit: f.MaxLength, Check: func(string) string { return e.Problem(f.Name) },
		})
		if text := e.Text(f.Name); text != e.BaseText(f.Name) {
			e.form.Set(f.Name, text)
		}
	}
	e.form.FocusOnName(focus)
	e.form.MarkChanges()
}

const widthOfNumber = 24

// typed tells the edit what the form has.
func (e *edit) typed() {
	text := map[string]string{}
	for _, name := range e.form.Changed() {
		text[name] = e.form.Value(name)
	}
	for _, f := range fields {
		if changed, isChanged := text[f.Name]; isChanged {
			e.Type(f.Name, changed)
		} else {
			e.Type(f.Name, e.BaseText(f.Name))
		}
	}
}

// typed takes what was typed, and no longer asks to correct what is valid now.
func (s *Screen) typed() {
	s.edit.typed()
	s.refused = s.fixFirst() != ""
}

// review shows what saving would change, if there is a change and it is valid.
func (s *Screen) review() tea.Cmd {
	s.notes = nil
	s.edit.typed()
	s.edit.form.Check()
	return s.submitted(s.edit.Submit())
}

// submitted goes on after the text was submitted.
func (s *Screen) submitted(event operation.EditEvent) tea.Cmd {
	e := s.edit
	switch event {
	case operation.FoundInvalid:
		e.form.FocusOnName(e.Invalid()[0])
		s.refused = true
	case operation.FoundNothing:
		return screen.Tell(screen.Note, "Nothing was changed.")
	case operation.FoundOutdated:
		return s.record.Again()
	case operation.FoundSame:
		e.buildForm(s.shell.Theme)
		s.turn()
	case operation.FoundChange, operation.FoundConflict:
		s.turn()
	}
	return nil
}

// fixFirst says what is not valid now, after it was submitted; "" if nothing.
func (s *Screen) fixFirst() string {
	if wrong := s.edit.Invalid(); s.refused && len(wrong) > 0 {
		return "Fix first: " + labels(wrong) + "."
	}
	return ""
}

func (s *Screen) discard() tea.Cmd {
	typed := s.edit.Typed()
	if len(typed) == 0 {
		return s.closeEdit()
	}
	return s.shell.Post(screen.Confirm{
		Title: "Discard your changes to " + labels(typed) + "?",
		Text:  fmt.Sprintf("Property %s stays as it was.", s.shownID()),
		Yes:   "discard", No: "keep editing", Local: true,
		Then: func() tea.Cmd {
			if s.edit == nil || s.edit.State() == operation.Sending {
				return nil
			}
			return s.closeEdit()
		},
	})
}

func (s *Screen) closeEdit() tea.Cmd {
	var reload, deleteDraft tea.Cmd
	if s.edit.State().IsInDoubt() {
		reload = s.record.Again()
	}
	s.edit.GiveUp()
	if s.edit.form != nil {
		deleteDraft = s.drafts.save(s.edit.profile, nil)
		s.cursorOn(s.edit.form.Focus())
	}
	s.edit, s.notes = nil, nil
	s.turn()
	return tea.Batch(reload, deleteDraft)
}

// field is a field of a property, with what the screen needs to know of it.
type field struct{ api.Field }

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

// whyNoUndo says why nothing can be undone; "" if something can.
func (s *Screen) whyNoUndo() string {
	switch {
	case s.undo == nil:
		return "Nothing was saved here yet."
	case s.undo.Back.IsAppliedTo(s.record.Value.Record):
		return fmt.Sprintf("The property already has its old values: %s.", labels(s.undo.Back.Fields()))
	}
	return ""
}

// startUndo reviews the undo. Later changes by somebody else are merged first.
func (s *Screen) startUndo() tea.Cmd {
	s.edit = newEdit(s.shell, operation.Properties.NewUndo(s.id, *s.undo, s.record.Value))
	s.turn()
	return nil
}
