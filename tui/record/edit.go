package record

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
type edit[I ~string, R any, P operation.Patch[R, P]] struct {
	*operation.Edit[I, R, P]
	kind    *Kind[I, R, P]
	form    *widget.Form   // nil for an undo
	profile screen.Profile // that the draft belongs to
	sends   bool           // the merge was found by saving, which goes on after it
	// it brings back a version; not every service has a request of its own for that
	restores bool

	// These are slow to compute for each frame: comparisons of texts by field, before and after, and the review, nil
	// if it has changed.
	compared map[[3]string][]display.DiffLine
	drawn    map[drawing][]Line
}

// drawing is how the review is drawn.
type drawing struct {
	look     *theme.Theme
	width    int
	unfolded bool
}

func (e *edit[I, R, P]) drawReview(d drawing) []Line {
	if e.drawn == nil {
		e.drawn = map[drawing][]Line{}
	}
	if _, known := e.drawn[d]; !known {
		e.drawn[d], _, _ = drawDiffs(e.reviewDiffs(), d)
	}
	return e.drawn[d]
}

func (k *Kind[I, R, P]) newEdit(shell *screen.Shell, of *operation.Edit[I, R, P]) *edit[I, R, P] {
	compared := map[[3]string][]display.DiffLine{}
	return &edit[I, R, P]{Edit: of, kind: k, profile: shell.Account.Profile, compared: compared}
}

// openForm opens the form of an edit, with the keyboard in a field. A number is selected, as people replace those, but
// not one that a draft has.
func (s *Editor[I, R, P]) openForm(of *operation.Edit[I, R, P], field string) {
	s.edit, s.Notes = s.Kind.newEdit(s.Shell, of), nil
	s.edit.buildForm(s.Shell.Theme)
	s.edit.form.FocusOnName(field)
	if isNumber(s.Kind.field(field)) && !slices.Contains(s.edit.form.Changed(), field) {
		s.edit.form.Select()
	}
	s.turn()
}

// buildForm makes the form with the text of the edit.
func (e *edit[I, R, P]) buildForm(look *theme.Theme) {
	focus := ""
	if e.form != nil {
		focus = e.form.Focus()
	}
	e.form = widget.NewForm(look)
	for _, field := range e.kind.formFields() {
		field.Value, field.Eager = e.BaseText(field.Name), true
		field.Check = func(string) string { return e.Problem(field.Name) }
		e.form.Add(field)
		if text := e.Text(field.Name); text != field.Value {
			e.form.Set(field.Name, text)
		}
	}
	e.form.FocusOnName(focus)
	e.form.MarkChanges()
}

// typed tells the edit what the form has.
func (e *edit[I, R, P]) typed() {
	text := map[string]string{}
	for _, name := range e.form.Changed() {
		text[name] = e.form.Value(name)
	}
	for _, f := range e.Kind.Fields() {
		if changed, isChanged := text[f.Name]; isChanged {
			e.Type(f.Name, changed)
		} else {
			e.Type(f.Name, e.BaseText(f.Name))
		}
	}
}

// typed takes the text of the form, and no longer asks to correct fields that are valid now.
func (s *Editor[I, R, P]) typed() {
	s.edit.typed()
	s.refused = s.fixFirst() != ""
}

// review shows what saving would change, if there is a change and it is valid.
func (s *Editor[I, R, P]) review() tea.Cmd {
	s.Notes = nil
	s.edit.typed()
	s.edit.form.Check()
	return s.submitted(s.edit.Submit())
}

// submitted goes on after the text was submitted.
func (s *Editor[I, R, P]) submitted(event operation.EditEvent) tea.Cmd {
	e := s.edit
	switch event {
	case operation.FoundInvalid:
		e.form.FocusOnName(e.Invalid()[0])
		s.refused = true
	case operation.FoundNothing:
		return screen.Tell(screen.Note, "Nothing was changed.")
	case operation.FoundOutdated:
		return s.Record.Again()
	case operation.FoundSame:
		e.buildForm(s.Shell.Theme)
		s.turn()
	case operation.FoundChange, operation.FoundConflict:
		s.turn()
	}
	return nil
}

// fixFirst says what is not valid now, after it was submitted; "" if nothing.
func (s *Editor[I, R, P]) fixFirst() string {
	if wrong := s.edit.Invalid(); s.refused && len(wrong) > 0 {
		return "Fix first: " + s.Kind.Labels(wrong) + "."
	}
	return ""
}

func (s *Editor[I, R, P]) discard() tea.Cmd {
	typed := s.edit.Typed()
	if len(typed) == 0 {
		return s.closeEdit()
	}
	return s.Shell.Post(screen.Confirm{
		Title: "Discard your changes to " + s.Kind.Labels(typed) + "?",
		Text:  display.Capital(s.name()) + " stays as it was.",
		Yes:   "discard", No: "keep editing", Local: true,
		Then: func() tea.Cmd {
			if s.edit == nil || s.edit.State() == operation.Sending {
				return nil
			}
			return s.closeEdit()
		},
	})
}

func (s *Editor[I, R, P]) closeEdit() tea.Cmd {
	var reload, deleteDraft tea.Cmd
	if s.edit.State().IsInDoubt() || s.edit.Restores != nil && s.edit.State() != operation.Saved {
		reload = s.Record.Again()
	}
	s.edit.GiveUp()
	if s.edit.form != nil {
		deleteDraft = s.drafts.save(s.edit.profile, nil)
		s.LeftForm(s.edit.form.Focus())
	}
	s.edit, s.Notes = nil, nil
	s.turn()
	return tea.Batch(reload, deleteDraft)
}

// send sends the edit or the deletion, and reads the record again.
func (s *Editor[I, R, P]) send(of *operation.Edit[I, R, P]) tea.Cmd {
	if !of.Confirm() {
		return nil
	}
	saving := of.Saving()
	return s.sender.Send(func(ctx context.Context, c *client.Client) (operation.Saving[I, R, P], error) {
		done := saving.Send(ctx, c)
		if done.Err == nil && !done.Lost && !done.Delete {
			done = done.Check(ctx, c)
		}
		return done, done.Err
	})
}

// save sends the edit. A protected profile asks first; elsewhere the review is the question.
func (s *Editor[I, R, P]) save() tea.Cmd {
	e := s.edit
	send := func() tea.Cmd {
		if s.edit != e {
			return nil
		}
		s.Notes = nil
		s.seen = true // a merge was decided field by field
		s.Scroll = Scroll{}
		return s.send(e.Edit)
	}
	if s.Shell.Account.Confirm == nil {
		return send()
	}
	word := "save"
	if e.Restores != nil {
		word = e.words().do
	}
	return s.Shell.Post(screen.Confirm{
		Title: fmt.Sprintf("%s %s?", display.Capital(word), s.name()),
		Text:  fmt.Sprintf("Changes %s at %s", s.Kind.Labels(e.Patch.Fields()), s.Shell.Account.Profile.APIURL),
		Yes:   word,
		Then:  send,
	})
}

// handleSave takes the outcome of a save. What was typed stays until it is saved.
func (s *Editor[I, R, P]) handleSave(sent screen.Sent[operation.Saving[I, R, P]]) tea.Cmd {
	done, err, e := sent.Value, sent.Err, s.edit
	done.Err = err
	base := e.Base
	isSame := done.HasCurrent && s.Kind.IsSame(done.Current, base)
	e.drawn = nil
	switch e.Sent(done) {
	case operation.FoundSaved:
		return s.finish(done)
	case operation.FoundDoubt:
		if done.HasCurrent {
			s.note("Unknown outcome: the %s is not changed yet. %s", s.Kind.Name, s.safeToRetry())
		} else {
			s.note("Unknown outcome. %s Your text is kept. %s checks whether it was saved.", screen.Sentence("", err),
				s.Shell.Key(actions.CheckAgain))
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
			what := s.Kind.changesBetween(base.Record, done.Current.Record)
			if s.Kind.IDOf(base.Record) == "" {
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
			screen.Tell(screen.Warning, "Not restored: %s is not deleted any more.", s.name()))
	}
	if operation.IsVersionConflict(err) {
		s.note("Not saved: somebody else changed the %s, and it was not reloaded. %s.", s.Kind.Name,
			s.retryHint("Retry"))
		return nil
	}
	what, next := s.Explain(err)
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

func (e *edit[I, R, P]) words() words {
	switch {
	case e.restores || e.Restores != nil:
		return words{"restore", "restores", "restored"}
	case e.Undoes:
		return words{"undo", "undoes", "undone"}
	}
	return words{"save", "saves", "saved"}
}

func (s *Editor[I, R, P]) safeToRetry() string {
	return s.retryHint("Retry") + ". It can't overwrite other changes."
}

// retryHint adds the key that sends.
func (s *Editor[I, R, P]) retryHint(sentence string) string {
	return sentence + " (" + s.Shell.Key(actions.Submit) + ")"
}

// refuse shows the service's errors beside the fields of the form.
func (s *Editor[I, R, P]) refuse(err error) tea.Cmd {
	refused, _ := errors.AsType[*client.Error](err)
	s.note("Not saved: %s", refused.Message)
	others := s.edit.form.Refuse(refused.Fields)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		s.note("%s %s", name, strings.Join(others[name], ", "))
	}
	return nil
}

// finish ends an edit that is saved, even if it was refused because the record is already so.
func (s *Editor[I, R, P]) finish(done operation.Saving[I, R, P]) tea.Cmd {
	e := s.edit
	changed := s.Kind.Labels(e.Patch.Fields())
	what := fmt.Sprintf("%s %s: %s.", display.Capital(e.words().done), s.name(), changed)
	if e.words().do == "undo" {
		what = fmt.Sprintf("Undone in %s: %s.", s.name(), changed)
	}
	var keep tea.Cmd
	if e.IsOfDeleted() {
		what = fmt.Sprintf("Restored %s.", s.name())
	} else {
		s.undo, keep = e.Edit, s.keepUndo(e.Edit)
	}
	switch {
	case done.Lost:
		what += " The reply was lost; the " + s.Kind.Name + " has your changes."
	case done.Err != nil:
		what = fmt.Sprintf("%s already has it: %s.", display.Capital(s.name()), changed)
	}
	cmds := []tea.Cmd{screen.Tell(screen.Done, "%s", what), s.closeEdit(), keep}
	if done.HasCurrent {
		s.setRecord(done.Current)
	} else {
		cmds = append(cmds, s.Record.Again())
	}
	return tea.Batch(cmds...)
}

func (s *Editor[I, R, P]) setRecord(now client.Version[R]) {
	s.Record.Cancel()
	s.Record.Put(now)
}

// handleRead tells the edit and the deletion how the record is now.
func (s *Editor[I, R, P]) handleRead() tea.Cmd {
	now, err := s.Record.Value, s.Record.Err
	if s.removal != nil {
		switch s.removal.Read(now, err) {
		case operation.FoundSaved:
			return s.finishDelete(true)
		case operation.GaveUp:
			s.Notes = []string{display.Capital(s.name()) + " is not deleted yet."}
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
		return s.finish(operation.Saving[I, R, P]{Current: now, HasCurrent: true, Lost: true})
	case event == operation.FoundUnsaved:
		s.Notes = []string{"Checked: the " + s.Kind.Name + " is not changed yet. " + s.safeToRetry()}
	case event == operation.Ignored && s.edit.State().IsInDoubt():
		what, next := s.Explain(err)
		s.Notes = []string{fmt.Sprintf("Unknown outcome. %s %s", what, next)}
	case event == operation.FoundPart:
		s.merged()
		saved := s.Kind.Labels(sent.Fields())
		s.Notes = []string{fmt.Sprintf("Saved: %s. What you typed since is not saved yet.", saved)}
		return s.saveDraft()
	default:
		return s.submitted(event)
	}
	return nil
}

// Explain says what went wrong, and what to do next.
func (s *Editor[I, R, P]) Explain(err error) (what, next string) {
	what, next = s.Shell.Explain(err)
	if client.IsNotFound(err) {
		next = s.Shell.Key(s.Kind.List) + " opens another " + s.Kind.Name + "."
	}
	return what, next
}

// WhyNoUndo says why nothing can be undone; "" if something can, or the history may tell.
func (s *Editor[I, R, P]) WhyNoUndo() string {
	if s.undo != nil && s.undo.Reverse().IsAppliedTo(s.Record.Value.Record) {
		changed := s.Kind.Labels(s.undo.Reverse().Fields())
		return fmt.Sprintf("The %s already has its old values: %s.", s.Kind.Name, changed)
	}
	return ""
}
