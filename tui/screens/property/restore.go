package property

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/api/operation"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

// prepared is an edit that was made of the history, to be reviewed, with the property as it is now. That has no id if
// it is deleted.
type prepared struct {
	edit *operation.PropertyEdit
	now  operation.PropertyVersion
}

// prepare reads what it takes to restore a version, or to undo the last change.
func (s *Screen) prepare(read func(ctx context.Context, c *client.Client) (prepared, error)) tea.Cmd {
	s.notes = nil
	return s.prepared.Load(read)
}

// startRestore reviews the restoration of the version that a change has left.
func (s *Screen) startRestore(of api.PropertyVersion) tea.Cmd {
	id, key := s.id, s.shell.NewID()
	return s.prepare(func(ctx context.Context, c *client.Client) (p prepared, err error) {
		p.edit, p.now, err = operation.Properties.ReadRestoration(ctx, c, id, of, key)
		return p, err
	})
}

// startUndo reviews the undo of the last edit: of this screen, or else of the history, or else of an earlier session.
// Later changes by somebody else are merged first.
func (s *Screen) startUndo() tea.Cmd {
	if s.undo != nil {
		s.notes, s.edit = nil, newEdit(s.shell, s.undo.Undo(s.record.Value))
		s.turn()
		return nil
	}
	id, key, profile, memory, name := s.id, s.shell.NewID(), s.shell.Account.Profile, s.shell.Memory, s.drafts.name
	return s.prepare(func(ctx context.Context, c *client.Client) (p prepared, err error) {
		kept := keptEdit(memory.Undo(profile, name))
		p.edit, p.now, err = operation.Properties.ReadLastEdit(ctx, c, id, profile.ClientID, key, kept)
		return p, err
	})
}

// The members of an edit that is kept for another session.
const (
	keptBefore = "before"
	keptAfter  = "after"
)

// keepUndo keeps a saved edit, so that it can be undone in another session where the service keeps no history.
func (s *Screen) keepUndo(of *operation.PropertyEdit) tea.Cmd {
	before, after := of.Kept()
	profile, memory, name := s.shell.Account.Profile, s.shell.Memory, s.drafts.name
	return func() tea.Msg {
		err := memory.SaveUndo(profile, name, map[string]string{keptBefore: string(before), keptAfter: string(after)})
		if err != nil {
			return screen.Toast{Kind: screen.Warning, Text: screen.Sentence("It can be undone only now: ", err)}
		}
		return nil
	}
}

func keptEdit(values map[string]string) *api.PropertyVersion {
	if values == nil {
		return nil
	}
	return &api.PropertyVersion{
		Action: api.VersionUpdated,
		Before: json.RawMessage(values[keptBefore]), After: json.RawMessage(values[keptAfter]),
	}
}

// handlePrepared shows the review, or why there is none.
func (s *Screen) handlePrepared() tea.Cmd {
	p, err := s.prepared.Value, s.prepared.Err
	if err != nil {
		if nothing, is := errors.AsType[*api.Error](err); is && nothing.Code == api.CodeConflict {
			return screen.Tell(screen.Note, "%s", screen.Sentence("", nothing))
		}
		what, next := s.explain(err)
		s.note("%s %s", what, next)
		return nil
	}
	if s.edit != nil {
		return nil
	}
	if p.now.Record.PropertyID() != "" {
		s.setRecord(p.now)
	}
	if p.edit.Restores != nil && p.edit.Patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing to restore: property %s is as it was then.", s.shownID())
	}
	s.edit = newEdit(s.shell, p.edit)
	s.turn()
	return nil
}

// isGone tells whether there is no such property, any more or yet.
func (s *Screen) isGone() bool { return client.IsNotFound(s.record.Err) }

// deletion is the change that has deleted the property; nil if it is not deleted, or its past is not known.
func (s *Screen) deletion() *api.PropertyVersion {
	if !s.isGone() || !s.deleted.Has || s.deleted.Err != nil {
		return nil
	}
	return &s.deleted.Value
}

// readDeletion reads who has deleted the property, and when.
func (s *Screen) readDeletion() tea.Cmd {
	id := s.id
	return s.deleted.Load(func(ctx context.Context, c *client.Client) (api.PropertyVersion, error) {
		return operation.Properties.Deletion(ctx, c, id)
	})
}

// deletedNotice says that the property was deleted, and what can be done.
func (s *Screen) deletedNotice(deletion *api.PropertyVersion) (title, advice string) {
	was, _ := beforeAndAfter(deletion)
	name := cmp.Or(display.Line(was.Title), "without a title")
	return fmt.Sprintf("Property %s, %s, was deleted.", s.shownID(), name),
		fmt.Sprintf("%s %s restores it.", said(s.shell, deletion), s.shell.Key(actions.Restore))
}

// whyUnknown says why it is not known whether the property was deleted; "" if that is known, or nobody can tell.
func (s *Screen) whyUnknown() string {
	refused, is := errors.AsType[*client.Error](s.deleted.Err)
	if !is || refused.Unsupported || client.IsNotFound(refused) {
		return ""
	}
	return screen.Sentence("", refused)
}

// deletedOffers is what can be done with a property that was deleted.
func (s *Screen) deletedOffers(deletion api.PropertyVersion) []actions.Offer {
	busy := actions.WhyIf(s.prepared.Busy(), beingRead)
	restore := func() tea.Cmd { return s.startRestore(deletion) }
	notMine := actions.WhyIf(screen.Optional(deletion.ClientID) != s.shell.Account.Profile.ClientID,
		"Somebody else deleted it.")
	return []actions.Offer{
		{ID: actions.Restore, Why: busy, Do: restore},
		{ID: actions.Undo, Why: cmp.Or(busy, notMine), Do: restore},
		{ID: actions.History, Do: s.openHistory},
		{ID: actions.CopyID, Do: s.copyID},
	}
}

const beingRead = "Its history is being read."

func (s *Screen) openHistory() tea.Cmd { return s.shell.Open(ToHistory{s}) }
func (s *Screen) copyID() tea.Cmd      { return s.shell.Copy(string(s.id), "") }

// tellDeleted says that the property was deleted here, once it is known who can restore it. Where nobody but the
// operator can, the screen closes.
func (s *Screen) tellDeleted() tea.Cmd {
	what := s.told
	switch s.told = ""; {
	case what == "":
		return nil
	case s.deletion() != nil:
		return screen.Tell(screen.Done, "%s %s restores it.", what, s.shell.Key(actions.Restore))
	case s.isGone():
		return tea.Batch(s.close(), screen.Tell(screen.Done,
			"%s To restore it, ask the operator: perksd property restore %s", what, s.shownID()))
	}
	return screen.Tell(screen.Done, "%s", what)
}
