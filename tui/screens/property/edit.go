package property

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
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

	// These are slow to compute for each frame: comparisons of texts by field, before and after, and the review, nil
	// if it has changed.
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

// buildForm makes the form with the text of the edit.
func (e *edit) buildForm(look *theme.Theme) {
	focus := ""
	if e.form != nil {
		focus = e.form.Focus()
	}
	e.form = widget.NewForm(look)
	for _, f := range fields() {
		field := formField(f)
		field.Value, field.Limit, field.Eager = e.BaseText(f.Name), f.MaxLength, true
		field.Check = func(string) string { return e.Problem(f.Name) }
		e.form.Add(field)
		if text := e.Text(f.Name); text != e.BaseText(f.Name) {
			e.form.Set(f.Name, text)
		}
	}
	e.form.FocusOnName(focus)
	e.form.MarkChanges()
}

const widthOfNumber = 24

// formField is a field of a form, without its value and its check.
func formField(f field) widget.Field {
	field := widget.Field{Name: f.Name, Label: f.Label, Hint: f.Hint}
	if f.IsMultiline() {
		field.Kind = widget.Text
	}
	if f.Kind == api.ListField {
		field.Label += ", one per line"
	}
	if f.Kind == api.PriceField || f.Kind == api.NumberField {
		field.Width = widthOfNumber
	}
	return field
}

// typed tells the edit what the form has.
func (e *edit) typed() {
	text := map[string]string{}
	for _, name := range e.form.Changed() {
		text[name] = e.form.Value(name)
	}
	for _, f := range fields() {
		if changed, isChanged := text[f.Name]; isChanged {
			e.Type(f.Name, changed)
		} else {
			e.Type(f.Name, e.BaseText(f.Name))
		}
	}
}

// typed takes the text of the form, and no longer asks to correct fields that are valid now.
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
	if s.edit.State().IsInDoubt() || s.edit.Restores != nil && s.edit.State() != operation.Saved {
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

// send sends the edit or the deletion, and reads the property again.
func (s *Screen) send(of *operation.PropertyEdit) tea.Cmd {
	if !of.Confirm() {
		return nil
	}
	saving := of.Saving()
	return s.sender.Send(func(ctx context.Context, c *client.Client) (operation.PropertySaving, error) {
		done := saving.Send(ctx, c)
		if done.Err == nil && !done.Lost && !done.Delete {
			done = done.Check(ctx, c)
		}
		return done, done.Err
	})
}

// save sends the edit. A protected profile asks first; elsewhere the review is the question.
func (s *Screen) save() tea.Cmd {
	e := s.edit
	send := func() tea.Cmd {
		if s.edit != e {
			return nil
		}
		s.notes = nil
		s.seen = true // a merge was decided field by field
		s.scroll = scroll{}
		return s.send(e.PropertyEdit)
	}
	if s.shell.Account.Confirm == nil {
		return send()
	}
	word := "save"
	if e.Restores != nil {
		word = e.words().do
	}
	return s.shell.Post(screen.Confirm{
		Title: fmt.Sprintf("%s property %s?", display.Capital(word), s.shownID()),
		Text:  fmt.Sprintf("Changes %s at %s", labels(e.Patch.Fields()), s.shell.Account.Profile.APIURL),
		Yes:   word,
		Then:  send,
	})
}

// handleSave takes the outcome of a save. What was typed stays until it is saved.
func (s *Screen) handleSave(sent screen.Sent[operation.PropertySaving]) tea.Cmd {
	done, err, e := sent.Value, sent.Err, s.edit
	done.Err = err
	base := e.Base
	isSame := done.HasCurrent && operation.Properties.IsSame(done.Current, base)
	e.drawn = nil
	switch e.Sent(done) {
	case operation.FoundSaved:
		return s.finish(done)
	case operation.FoundDoubt:
		if done.HasCurrent {
			s.note("Unknown outcome: the property is not changed yet. %s", s.safeToRetry())
		} else {
			s.note("Unknown outcome. %s Your text is kept. %s checks whether it was saved.", screen.Sentence("", err),
				s.shell.Key(actions.CheckAgain))
		}
		return nil
	case operation.FoundConflict:
		s.setRecord(done.Current)
		e.sends = true
		s.turn()
		return nil
	case operation.FoundSame:
		s.setRecord(done.Current)
		switch {
		case e.Restores != nil && !isSame:
			s.turn()
			what := changesBetween(base.Record, done.Current.Record)
			if base.Record.PropertyID() == "" {
				what = "It is not deleted any more."
			}
			s.note("Not restored: somebody else changed it. %s", what)
		case isSame:
			s.note("Not saved: the service reports another version, but no field differs. %s.", s.retryHint("Retry"))
		default:
			s.note("Not saved yet: somebody else saved it without visible changes. %s.", s.retryHint("Save now"))
		}
		return nil
	case operation.FoundRefused:
		return s.refuse(err)
	}
	if api.CodeOf(err) == api.CodeNotDeleted {
		return tea.Batch(s.closeEdit(),
			screen.Tell(screen.Warning, "Not restored: property %s is not deleted any more.", s.shownID()))
	}
	if operation.IsVersionConflict(err) {
		s.note("Not saved: somebody else changed the property, and it was not reloaded. %s.", s.retryHint("Retry"))
		return nil
	}
	what, next := s.explain(err)
	s.note("Not %s. %s", e.words().done, what)
	if e.form == nil {
		s.note("%s", next)
		return nil
	}
	s.note("Your text is kept. %s", next)
	return s.saveDraft()
}

// words is what an edit is called: "save", "saves", "saved".
type words struct{ do, does, done string }

func (e *edit) words() words {
	switch {
	case e.Undoes:
		return words{"undo", "undoes", "undone"}
	case e.Restores != nil:
		return words{"restore", "restores", "restored"}
	}
	return words{"save", "saves", "saved"}
}

func (s *Screen) safeToRetry() string {
	return s.retryHint("Retry") + ". It can't overwrite other changes."
}

// retryHint adds the key that sends.
func (s *Screen) retryHint(sentence string) string {
	return sentence + " (" + s.shell.Key(actions.Submit) + ")"
}

// refuse shows the service's errors beside the fields of the form.
func (s *Screen) refuse(err error) tea.Cmd {
	refused, _ := errors.AsType[*client.Error](err)
	s.note("Not saved: %s", refused.Message)
	others := s.edit.form.Refuse(refused.Fields)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		s.note("%s %s", name, strings.Join(others[name], ", "))
	}
	return nil
}

// finish ends an edit that is saved, even if it was refused because the property is already so.
func (s *Screen) finish(done operation.PropertySaving) tea.Cmd {
	e := s.edit
	changed := labels(e.Patch.Fields())
	what := fmt.Sprintf("%s property %s: %s.", display.Capital(e.words().done), s.shownID(), changed)
	if e.Undoes {
		what = fmt.Sprintf("Undone in property %s: %s.", s.shownID(), changed)
	}
	var keep tea.Cmd
	if e.IsOfDeleted() {
		what = fmt.Sprintf("Restored property %s.", s.shownID())
	} else {
		s.undo, keep = e.PropertyEdit, s.keepUndo(e.PropertyEdit)
	}
	switch {
	case done.Lost:
		what += " The reply was lost; the property has your changes."
	case done.Err != nil:
		what = fmt.Sprintf("Property %s already has it: %s.", s.shownID(), changed)
	}
	cmds := []tea.Cmd{screen.Tell(screen.Done, "%s", what), s.closeEdit(), keep}
	if done.HasCurrent {
		s.setRecord(done.Current)
	} else {
		cmds = append(cmds, s.record.Again())
	}
	return tea.Batch(cmds...)
}

func (s *Screen) setRecord(now operation.PropertyVersion) {
	s.record.Cancel()
	s.record.Put(now)
}

// handleRead tells the edit and the deletion how the property is now.
func (s *Screen) handleRead() tea.Cmd {
	now, err := s.record.Value, s.record.Err
	if s.removal != nil {
		switch s.removal.Read(now, err) {
		case operation.FoundSaved:
			return s.finishDelete(true)
		case operation.GaveUp:
			s.notes = []string{fmt.Sprintf("Property %s is not deleted yet.", s.shownID())}
		}
	}
	if s.edit == nil {
		return nil
	}
	if s.edit.form != nil {
		s.edit.typed()
	}
	sent := s.edit.Patch
	switch event := s.edit.Read(now, err); {
	case event == operation.FoundSaved:
		return s.finish(operation.PropertySaving{Current: now, HasCurrent: true, Lost: true})
	case event == operation.FoundUnsaved:
		s.notes = []string{"Checked: the property is not changed yet. " + s.safeToRetry()}
	case event == operation.Ignored && s.edit.State().IsInDoubt():
		what, next := s.explain(err)
		s.notes = []string{fmt.Sprintf("Unknown outcome. %s %s", what, next)}
	case event == operation.FoundPart:
		s.merged()
		s.notes = []string{fmt.Sprintf("Saved: %s. What you typed since is not saved yet.", labels(sent.Fields()))}
		return s.saveDraft()
	default:
		return s.submitted(event)
	}
	return nil
}

// explain says what went wrong, and what to do next.
func (s *Screen) explain(err error) (what, next string) {
	what, next = s.shell.Explain(err)
	if client.IsNotFound(err) {
		next = s.shell.Key(actions.Property) + " opens another property."
	}
	return what, next
}

// whyNoUndo says why nothing can be undone; "" if something can, or the history may tell.
func (s *Screen) whyNoUndo() string {
	if s.undo != nil && s.undo.Reverse().IsAppliedTo(s.record.Value.Record) {
		return fmt.Sprintf("The property already has its old values: %s.", labels(s.undo.Reverse().Fields()))
	}
	return ""
}
