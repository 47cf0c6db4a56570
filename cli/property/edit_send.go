package property

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/cli/command"
)

// maxMerges ends an edit that nobody watches, if others change the property as fast as it is sent.
const maxMerges = 5

// send changes the property if it still is as it was when the edit began.
func (e *edit) send(ctx context.Context, patch api.PropertyPatch) (answer string, err error) {
	c, connection, err := e.afresh().Connect()
	if err != nil {
		return "", err
	}
	if e.base.ETag == "" {
		if err := e.checkUnchanged(ctx); err != nil {
			return "", err
		}
	}
	message, err := c.UpdateProperty(ctx, e.id, patch, e.base.ETag)
	var refused *client.Error
	if client.IsWeak(e.base.ETag) && errors.As(err, &refused) && refused.Status == http.StatusPreconditionFailed && e.checkUnchanged(ctx) == nil {
		// Nobody changed it: to this server a weak ETag never matches.
		message, err = c.UpdateProperty(ctx, e.id, patch, "")
	}
	if client.OutcomeUnknown(err) && ctx.Err() == nil && e.isHeld(ctx, patch) {
		e.session.Streams.Note("Updated %s at %s: no answer said so, but it is as you want it.", name(e.id), connection)
		return "The property holds the change, although no answer said so.", nil
	}
	if err != nil {
		return "", err
	}
	e.session.Streams.Note("Updated %s at %s.", name(e.id), connection)
	return message.Message, nil
}

// checkUnchanged does what it can where a change cannot be tied to an ETag: between it and the change, a moment is left.
func (e *edit) checkUnchanged(ctx context.Context) error {
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	if len(current.sheet.changesTo(e.base.sheet)) == 0 {
		return nil
	}
	return &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was changed meanwhile."}
}

// isHeld reads the property after a change of which nobody knows whether it was made.
func (e *edit) isHeld(ctx context.Context, patch api.PropertyPatch) bool {
	current, err := e.read(ctx)
	return err == nil && patch.IsHeldBy(current.Property)
}

// answerTo makes the text ready to be tried again, or returns why that is no use.
func (e *edit) answerTo(ctx context.Context, err error) error {
	var refused *client.Error
	switch {
	case !errors.As(err, &refused) || refused.OutcomeUnknown:
		return settle(e.session, e.id, err)
	case refused.Status == http.StatusPreconditionFailed:
		return e.afterConflict(ctx, err)
	case refused.Status == http.StatusUnprocessableEntity || refused.Status == http.StatusBadRequest && len(refused.Fields) > 0:
		n := notesOf(refused.Fields)
		n.top = append(n.top, "The server refused this: "+refused.Message)
		return e.openAgain(n, err)
	}
	return err
}

// afterConflict brings the text up to what somebody else made of the property.
func (e *edit) afterConflict(ctx context.Context, cause error) error {
	current, err := e.read(ctx)
	if err != nil {
		return err
	}
	text, err := e.draft.Read()
	if err != nil {
		return err
	}
	isSame := current.ETag == e.base.ETag && len(current.sheet.changesTo(e.base.sheet)) == 0
	if e.merges++; isSame || e.merges > maxMerges && !e.session.Streams.CanAsk() {
		return cause
	}
	return e.catchUp(readSheet(text).sheet, current)
}

// catchUp merges the edited fields into what the property is now, and says what changed. The editor opens for fields that
// both sides changed. The text is written first: with the old base beside it nothing is lost, whenever the process ends.
func (e *edit) catchUp(edited sheet, current base) error {
	s := e.session.Streams
	merged, changed := merge(e.base.sheet, edited, current.sheet)
	if len(changed) > 0 {
		s.Warn("Somebody else changed %s meanwhile:", name(e.id))
		s.Show(writeMeanwhile(changed))
	}
	both := conflicts(changed)
	if len(both) > 0 && !s.CanAsk() {
		return &command.Advised{
			Err:    &client.Error{Status: http.StatusPreconditionFailed, Code: api.CodePreconditionFailed, Message: "The property was not changed, because somebody else changed the same fields meanwhile."},
			Advice: "Decide on a terminal about: " + strings.Join(both, ", ") + ".",
		}
	}
	if err := e.draft.Write(annotate(merged.write(e.heading()), besideConflicts(changed))); err != nil {
		return err
	}
	e.base, e.open = current, len(both) > 0
	return e.rememberBase()
}
