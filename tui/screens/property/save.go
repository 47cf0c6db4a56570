package property

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
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

// version is a property as it was read. Without an ETag a change cannot be tied to it.
type version struct {
	Property api.Property `json:"property"`
	ETag     string       `json:"etag"`
}

func read(id int64) screen.Fetch[version] {
	return func(ctx context.Context, c *client.Client) (version, error) {
		property, etag, err := c.Property(ctx, id)
		return version{property, etag}, err
	}
}

// same tells whether two versions are one. Without ETags, or with weak ones, which two versions may share, every field
// is compared.
func (v version) same(other version) bool {
	if v.ETag != "" && other.ETag != "" && !client.IsWeak(v.ETag) {
		return v.ETag == other.ETag
	}
	return api.PropertyChanges(v.Property, other.Property).IsEmpty()
}

// with returns the property as a change makes it.
func (v version) with(patch api.PropertyPatch) api.Property {
	after := v.Property
	patch.Apply(&after)
	return after
}

// lookTime is how long the search for what became of a change may take.
const lookTime = 5 * time.Second

func look(ctx context.Context, c *client.Client, id int64) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	return read(id)(ctx, c)
}

// errChanged is what a service without ETags cannot say by itself.
var errChanged error = &client.Error{
	Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was changed meanwhile.",
}

// untouched reads a property without an ETag just before a change, which is all that can be done for it: between the two a
// moment is left.
func untouched(ctx context.Context, c *client.Client, base version) (now version, err error) {
	now, err = read(base.Property.ID)(ctx, c)
	if err == nil && !now.same(base) {
		err = errChanged
	}
	return now, err
}

// neverMatches tells whether a change was refused although nobody changed the property: a weak ETag never matches at a service
// that compares strongly.
func neverMatches(ctx context.Context, c *client.Client, base version, err error) bool {
	if !client.IsWeak(base.ETag) || !isChanged(err) {
		return false
	}
	_, err = untouched(ctx, c, base)
	return err == nil
}

func isChanged(err error) bool { return statusOf(err) == http.StatusPreconditionFailed }

func statusOf(err error) int {
	var refused *client.Error
	if errors.As(err, &refused) {
		return refused.Status
	}
	return 0
}

// Shorter names for the keys that sentences mention.
const (
	submitKey = actions.Submit
	backKey   = actions.Back
	settleKey = actions.Settle
	mineKey   = actions.Mine
	theirsKey = actions.Theirs
)

// key is a key as sentences name it, or the way to an action that has none.
func (s *Screen) key(id actions.ID) string {
	if key := s.shell.Keys.Key(id); key != "" {
		return key
	}
	return fmt.Sprintf("%q in the command palette", s.shell.Keys.Action(id).Name)
}

// explain says what has happened, and what to do next.
func (s *Screen) explain(err error) (what, next string) {
	var refused *client.Error
	var unreachable *client.Unreachable
	var missing *screen.NotLoggedIn
	switch {
	case errors.As(err, &unreachable):
		return display.Line(unreachable.Error()), s.key(actions.Refresh) + " tries again; it is tried by itself once the service is back."
	case errors.As(err, &missing):
		return display.Line(missing.Message), s.key(actions.Login) + " logs in."
	case !errors.As(err, &refused):
		return screen.Sentence("", err), s.key(actions.Refresh) + " tries again."
	}
	what = display.Line(refused.Error())
	if refused.RequestID != "" && refused.Status >= http.StatusInternalServerError {
		what += " (request " + display.Line(refused.RequestID) + ")"
	}
	switch {
	case refused.Status == http.StatusUnauthorized:
		return what, "Log in, and try again."
	case refused.Status == http.StatusForbidden:
		return what, s.key(actions.Login) + " switches to a profile that may."
	case client.Missing(err):
		return what, s.key(actions.Property) + " opens another property."
	case refused.Stray:
		return what, "The answer does not look like the service's own: is its address right? " + s.key(actions.Refresh) + " tries again."
	}
	return what, s.key(actions.Refresh) + " tries again."
}
