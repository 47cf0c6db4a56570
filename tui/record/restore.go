package record

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

// prepared is an edit that was made of the history, to be reviewed, with the record as it is now. That has no id if
// it is deleted.
type prepared[I ~string, R any, P operation.Patch[R, P]] struct {
	edit     *operation.Edit[I, R, P]
	now      client.Version[R]
	restores bool // it was chosen from the history
}

// prepare reads what it takes to restore a version, or to undo the last change.
func (s *Editor[I, R, P]) prepare(
	read func(ctx context.Context, c *client.Client) (prepared[I, R, P], error),
) tea.Cmd {
	s.Notes = nil
	return s.prepared.Load(read)
}

// startRestore reviews the restoration of the version that a change has left.
func (s *Editor[I, R, P]) startRestore(of api.PropertyVersion) tea.Cmd {
	kind, id, key := s.Kind, s.ID, s.Shell.NewID()
	return s.prepare(func(ctx context.Context, c *client.Client) (p prepared[I, R, P], err error) {
		p.edit, p.now, err = kind.ReadRestoration(ctx, c, id, of, key)
		p.restores = true
		return p, err
	})
}

// StartUndo reviews the undo of the last edit: of this screen, or else of the history, or else of an earlier session.
// Later changes by somebody else are merged first.
func (s *Editor[I, R, P]) StartUndo() tea.Cmd {
	if s.undo != nil {
		s.Notes, s.edit = nil, s.Kind.newEdit(s.Shell, s.undo.Undo(s.Record.Value))
		s.turn()
		return nil
	}
	kind, id, key, name := s.Kind, s.ID, s.Shell.NewID(), s.drafts.name
	profile, memory := s.Shell.Account.Profile, s.Shell.Memory
	return s.prepare(func(ctx context.Context, c *client.Client) (p prepared[I, R, P], err error) {
		kept := keptEdit(memory.Undo(profile, name))
		p.edit, p.now, err = kind.ReadLastEdit(ctx, c, id, profile.ClientID, key, kept)
		return p, err
	})
}

// The members of an edit that is kept for another session.
const (
	keptBefore = "before"
	keptAfter  = "after"
)

// keepUndo keeps a saved edit, so that it can be undone in another session where the service keeps no history.
func (s *Editor[I, R, P]) keepUndo(of *operation.Edit[I, R, P]) tea.Cmd {
	before, after := of.Kept()
	profile, memory, name := s.Shell.Account.Profile, s.Shell.Memory, s.drafts.name
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
func (s *Editor[I, R, P]) handlePrepared() tea.Cmd {
	p, err := s.prepared.Value, s.prepared.Err
	if err != nil {
		if nothing, is := errors.AsType[*api.Error](err); is && nothing.Code == api.CodeConflict {
			return screen.Tell(screen.Note, "%s", screen.Sentence("", nothing))
		}
		what, next := s.Explain(err)
		s.note("%s %s", what, next)
		return nil
	}
	if s.edit != nil {
		return nil
	}
	if s.Kind.IDOf(p.now.Record) != "" {
		s.setRecord(p.now)
	}
	if p.restores && p.edit.Patch.IsEmpty() {
		return screen.Tell(screen.Note, "Nothing to restore: %s is as it was then.", s.name())
	}
	s.edit = s.Kind.newEdit(s.Shell, p.edit)
	s.edit.restores = p.restores
	s.turn()
	return nil
}

// IsGone tells whether there is no such record, any more or yet.
func (s *Editor[I, R, P]) IsGone() bool { return client.IsNotFound(s.Record.Err) }

// Deletion is the change that has deleted the record; nil if it is not deleted, or its past is not known.
func (s *Editor[I, R, P]) Deletion() *api.PropertyVersion {
	if !s.IsGone() || !s.deleted.Has || s.deleted.Err != nil {
		return nil
	}
	return &s.deleted.Value
}

// readDeletion reads who has deleted the record, and when.
func (s *Editor[I, R, P]) readDeletion() tea.Cmd {
	kind, id := s.Kind, s.ID
	return s.deleted.Load(func(ctx context.Context, c *client.Client) (api.PropertyVersion, error) {
		return kind.Deletion(ctx, c, id)
	})
}

// deletedNotice says that the record was deleted, and what can be done.
func (s *Editor[I, R, P]) deletedNotice(deletion *api.PropertyVersion) (title, advice string) {
	was, _ := s.Kind.beforeAndAfter(deletion)
	title = cmp.Or(s.Kind.Title(was), "without a title")
	return fmt.Sprintf("%s, %s, was deleted.", display.Capital(s.name()), title),
		fmt.Sprintf("%s %s restores it.", said(s.Shell, deletion), s.Shell.Key(actions.Restore))
}

// whyUnknown says why it is not known whether the record was deleted; "" if that is known, or nobody can tell.
func (s *Editor[I, R, P]) whyUnknown() string {
	refused, is := errors.AsType[*client.Error](s.deleted.Err)
	if !is || refused.Unsupported || client.IsNotFound(refused) {
		return ""
	}
	return screen.Sentence("", refused)
}

// DeletedOffers is what can be done with a record that was deleted.
func (s *Editor[I, R, P]) DeletedOffers(deletion api.PropertyVersion) []actions.Offer {
	busy := actions.WhyIf(s.prepared.Busy(), beingRead)
	restore := func() tea.Cmd { return s.startRestore(deletion) }
	notMine := actions.WhyIf(screen.Optional(deletion.ClientID) != s.Shell.Account.Profile.ClientID,
		"Somebody else deleted it.")
	return s.Kind.offers([]actions.Offer{
		{ID: actions.Restore, Why: busy, Do: restore},
		{ID: actions.Undo, Why: cmp.Or(busy, notMine), Do: restore},
		{ID: actions.History, Do: s.OpenHistory},
		{ID: actions.CopyID, Do: s.CopyID},
	})
}

const beingRead = "Its history is being read."

func (s *Editor[I, R, P]) OpenHistory() tea.Cmd { return s.Shell.Open(toHistory[I, R, P]{of: s}) }
func (s *Editor[I, R, P]) CopyID() tea.Cmd      { return s.Shell.Copy(string(s.ID), "") }

// tellDeleted says that the record was deleted here, once it is known who can restore it. Where nobody but the
// operator can, the screen closes.
func (s *Editor[I, R, P]) tellDeleted() tea.Cmd {
	what := s.told
	switch s.told = ""; {
	case what == "":
		return nil
	case s.Deletion() != nil:
		return screen.Tell(screen.Done, "%s %s restores it.", what, s.Shell.Key(actions.Restore))
	case s.IsGone():
		return tea.Batch(s.Leave(), screen.Tell(screen.Done,
			"%s To restore it, ask the operator: perksd %s restore %s", what, s.Kind.Name, s.ShownID()))
	}
	return screen.Tell(screen.Done, "%s", what)
}
