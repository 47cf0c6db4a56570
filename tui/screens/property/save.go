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
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// sendChange sends a change of the version that was read, and reads the property again.
func sendChange(e client.Editing) screen.Fetch[client.Editing] {
	return func(ctx context.Context, c *client.Client) (client.Editing, error) {
		e := e.Send(ctx, c)
		if e.Err == nil && !e.Lost && !e.Delete {
			e = e.Check(ctx, c)
		}
		return e, e.Err
	}
}

// save sends the edit. A protected profile asks first; elsewhere the review is the question.
func (s *Screen) save() tea.Cmd {
	if s.shell.Account.Confirm == nil {
		return s.send()
	}
	e := s.edit
	return s.shell.Post(screen.Confirm{
		Title: fmt.Sprintf("Save property %s?", s.shownID()),
		Text:  fmt.Sprintf("Changes %s at %s", labels(e.patch.Fields()), s.shell.Account.Profile.APIURL),
		Yes:   "save",
		Then: func() tea.Cmd {
			if s.edit != e || s.sender.Busy() {
				return nil
			}
			return s.send()
		},
	})
}

func (s *Screen) send() tea.Cmd {
	s.notes = nil
	s.seen = true // a merge was decided field by field
	s.scroll = scroll{}
	return s.sender.Send(sendChange(client.EditingOf(s.id, s.edit.base, s.edit.patch)))
}

// handleSave takes the outcome of a save. What was typed stays until it is saved.
func (s *Screen) handleSave(sent screen.Sent[client.Editing]) tea.Cmd {
	done, err := sent.Value, sent.Err
	s.unknown = client.OutcomeUnknown(err)
	var refused *client.Error
	switch {
	case err == nil, client.IsVersionConflict(err) && done.IsApplied():
		return s.finish(done)
	case s.unknown && done.HasCurrent:
		s.note("Unknown outcome: the property is not changed yet. %s", s.safeToRetry())
		return nil
	case s.unknown:
		s.note("Unknown outcome. %s Your text is kept. %s checks whether it was saved.", screen.Sentence("", err), s.shell.Key(actions.CheckAgain))
		return nil
	case client.IsVersionConflict(err) && done.HasCurrent:
		return s.startMerge(done.Current, thenSave)
	case client.IsVersionConflict(err):
		s.note("Not saved: somebody else changed the property, and it was not reloaded. %s.", s.retryHint("Retry"))
		return nil
	case errors.As(err, &refused) && len(refused.Fields) > 0 && s.edit.form != nil:
		return s.refuse(refused)
	}
	what, next := s.explain(err)
	s.note("Not saved. %s", what)
	s.note("Your text is kept. %s", next)
	return s.saveDraft()
}

func (s *Screen) safeToRetry() string {
	return s.retryHint("Retry") + ". It can't overwrite other changes."
}

// retryHint adds the key that sends.
func (s *Screen) retryHint(sentence string) string {
	return sentence + " (" + s.shell.Key(actions.Submit) + ")"
}

// refuse goes back to the form, and shows the service's errors beside the fields.
func (s *Screen) refuse(refused *client.Error) tea.Cmd {
	s.note("Not saved: %s", refused.Message)
	others := s.edit.form.Refuse(refused.Fields)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		s.note("%s %s", name, strings.Join(others[name], ", "))
	}
	s.mode = editing
	return nil
}

// finish ends an edit that is saved, even if it was refused because the property is already so.
func (s *Screen) finish(done client.Editing) tea.Cmd {
	e := s.edit
	// If the saved version was not read, it is computed, and compared with the next one that is read.
	after := e.base.Property.With(e.patch)
	s.undo = &undo{client.Version{Property: after}, api.PropertyChanges(after, e.base.Property)}
	if done.HasCurrent && api.PropertyChanges(after, done.Current.Property).IsEmpty() {
		s.undo.after = done.Current
	}
	changed := labels(e.patch.Fields())
	what := fmt.Sprintf("Saved property %s: %s.", s.shownID(), changed)
	if e.undoing {
		what = fmt.Sprintf("Undone in property %s: %s.", s.shownID(), changed)
	}
	switch {
	case done.Lost:
		what += " The reply was lost; the property has your changes."
	case done.Err != nil:
		what = fmt.Sprintf("Property %s already has it: %s.", s.shownID(), changed)
	}
	cmds := []tea.Cmd{screen.Tell(screen.Done, "%s", what), s.closeEdit()}
	if done.HasCurrent {
		s.setRecord(done.Current)
	} else {
		cmds = append(cmds, s.record.Again())
	}
	return tea.Batch(cmds...)
}

func (s *Screen) setRecord(now client.Version) {
	s.record.Cancel()
	s.record.Put(now)
}

// handleCheck takes the property as it was read after an unknown outcome.
func (s *Screen) handleCheck() tea.Cmd {
	now, err := s.record.Value, s.record.Err
	switch {
	case s.edit == nil && client.IsNotFound(err):
		return s.finishDelete(true)
	case s.edit == nil && err == nil:
		s.unknown, s.notes = false, nil
		s.note("Property %s is not deleted yet.", s.shownID())
	case s.edit == nil:
	case err == nil && s.edit.patch.IsAppliedTo(now.Property):
		return s.finish(client.Editing{Current: now, HasCurrent: true, Lost: true})
	case err == nil:
		s.notes = nil
		s.note("Checked: the property is not changed yet. %s", s.safeToRetry())
	default:
		what, next := s.explain(err)
		s.notes = nil
		s.note("Unknown outcome. %s %s", what, next)
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
