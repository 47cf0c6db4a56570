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
	"example.com/perks/tui/screen"
)

// saved is how a property is after a change was sent, if it could be read.
type saved struct {
	now   version
	known bool
	quiet bool // no answer told of the change: reading did
	again bool // it had the change already when this was sent
}

// save changes a property if it still is the version that the change was made to, and reads what became of it.
func save(base version, patch api.PropertyPatch) screen.Fetch[saved] {
	return func(ctx context.Context, c *client.Client) (saved, error) {
		if base.ETag == "" {
			if now, err := untouched(ctx, c, base); err != nil {
				return settled(now, errors.Is(err, errChanged), patch, err)
			}
		}
		_, err := c.UpdateProperty(ctx, base.Property.ID, patch, base.ETag)
		if neverMatches(ctx, c, base, err) {
			_, err = c.UpdateProperty(ctx, base.Property.ID, patch, "")
		}
		if err != nil && !client.OutcomeUnknown(err) && !isChanged(err) {
			return saved{}, err
		}
		now, failed := look(ctx, c, base.Property.ID)
		if err == nil {
			return saved{now: now, known: failed == nil}, nil
		}
		return settled(now, failed == nil, patch, err)
	}
}

// settled finds that a change was made after all: its answer was lost, or that of a former try.
func settled(now version, known bool, patch api.PropertyPatch, err error) (saved, error) {
	if known && patch.IsHeldBy(now.Property) {
		return saved{now: now, known: true, quiet: client.OutcomeUnknown(err), again: isChanged(err)}, nil
	}
	return saved{now: now, known: known}, err
}

// send saves what the present comparison shows.
func (s *Screen) send() tea.Cmd {
	s.edit.notes = nil
	s.seen = true // or was merged, field by field
	s.scroll.top()
	return s.sender.Send(save(s.edit.base, s.edit.patch))
}

// sent goes on with how saving has ended. Whatever it is, what was typed stays until it is saved.
func (s *Screen) sent(sent screen.Sent[saved]) tea.Cmd {
	e, err := s.edit, sent.Err
	e.lost = client.OutcomeUnknown(err)
	var refused *client.Error
	switch {
	case err == nil:
		return s.finish(sent.Value)
	case e.lost && sent.Value.known:
		e.note("No answer came, and when it was looked after, the property was not changed. The change may still come. %s, because it holds only while nobody has changed it.", s.again("To send it once more is safe"))
		return nil
	case e.lost:
		e.note("No answer came, so nobody knows yet whether it was saved. %s Your text is kept. %s looks whether it was done.", screen.Sentence("", err), s.key(settleKey))
		return nil
	case isChanged(err) && sent.Value.known:
		return s.meet(sent.Value.now, thenSave)
	case isChanged(err):
		e.note("Somebody else changed the property meanwhile, and what they made of it could not be read. Nothing was saved. %s.", s.again("Try it once more"))
		return nil
	case errors.As(err, &refused) && len(refused.Fields) > 0 && e.form != nil:
		return s.refuse(refused)
	}
	what, next := s.explain(err)
	e.note("It was not saved. %s", what)
	e.note("Your text is kept. %s", next)
	return s.keepDraft()
}

// again ends a sentence with the key that sends.
func (s *Screen) again(sentence string) string { return sentence + " (" + s.key(submitKey) + ")" }

// refuse goes back to the form, with what the service said beside the fields.
func (s *Screen) refuse(refused *client.Error) tea.Cmd {
	e := s.edit
	e.note("The service did not take it: %s", refused.Message)
	others := e.form.Refuse(refused.Fields)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		e.note("%s %s", name, strings.Join(others[name], ", "))
	}
	s.stage = filling
	return nil
}

// finish is the end of an edit that is saved.
func (s *Screen) finish(done saved) tea.Cmd {
	e := s.edit
	s.undo = undoOf(e, done)
	what := fmt.Sprintf("Saved property %d: %s.", s.id, words(e.patch.Fields()))
	if e.undoing {
		what = fmt.Sprintf("Undone in property %d: %s.", s.id, words(e.patch.Fields()))
	}
	switch {
	case done.quiet:
		what += " No answer told so, but it is as you want it."
	case done.again:
		what = fmt.Sprintf("Property %d already has it: %s.", s.id, words(e.patch.Fields()))
	}
	cmds := []tea.Cmd{screen.Tell(screen.Done, "%s", what), s.leaveEdit()}
	if done.known {
		s.record.Cancel()
		s.record.Put(done.now)
	} else {
		cmds = append(cmds, s.record.Load(read(s.id)))
	}
	return tea.Batch(cmds...)
}

// look finds out what became of a change of which no answer told.
func (s *Screen) look() tea.Cmd {
	id := s.id
	return s.looker.Load(func(ctx context.Context, c *client.Client) (version, error) { return look(ctx, c, id) })
}

func (s *Screen) looked() tea.Cmd {
	e := s.edit
	if e == nil || !e.lost {
		return nil
	}
	if err := s.looker.Err; err != nil {
		what, next := s.explain(err)
		e.only("It still is not known whether it was saved. %s %s", what, next)
		return nil
	}
	now := s.looker.Value
	if e.patch.IsHeldBy(now.Property) {
		return s.finish(saved{now: now, known: true, quiet: true})
	}
	e.only("Looked just now: the property is not changed. %s, because it holds only while nobody has changed it.", s.again("To send it once more is safe"))
	return nil
}
