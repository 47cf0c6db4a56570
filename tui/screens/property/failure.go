package property

import (
	"errors"
	"fmt"
	"net/http"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
)

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
