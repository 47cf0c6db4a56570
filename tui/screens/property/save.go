package property

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

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
	return s.shell.Post(screen.Confirm{
		Title: fmt.Sprintf("Save property %s?", s.shownID()),
		Text:  fmt.Sprintf("Changes %s at %s", labels(e.Patch.Fields()), s.shell.Account.Profile.APIURL),
		Yes:   "save",
		Then:  send,
	})
}

// handleSave takes the outcome of a save. What was typed stays until it is saved.
func (s *Screen) handleSave(sent screen.Sent[operation.PropertySaving]) tea.Cmd {
	done, err, e := sent.Value, sent.Err, s.edit
	done.Err = err
	isSame := done.HasCurrent && operation.Properties.IsSame(done.Current, e.Base)
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
		if isSame {
			s.note("Not saved: the service reports another version, but no field differs. %s.", s.retryHint("Retry"))
		} else {
			s.note("Not saved yet: somebody else saved it without visible changes. %s.", s.retryHint("Save now"))
		}
		return nil
	case operation.FoundRefused:
		return s.refuse(err)
	}
	if operation.IsVersionConflict(err) {
		s.note("Not saved: somebody else changed the property, and it was not reloaded. %s.", s.retryHint("Retry"))
		return nil
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
	undo := e.Undo(done.Current, done.HasCurrent)
	s.undo = &undo
	changed := labels(e.Patch.Fields())
	what := fmt.Sprintf("Saved property %s: %s.", s.shownID(), changed)
	if e.Undoes {
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
