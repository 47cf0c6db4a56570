package screen

import (
	"errors"
	"net/http"
	"time"

	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
)

// IsLacking tells whether the service has no such address, or does not let the client use it: asking again would not
// help.
func IsLacking(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && (refused.Unsupported || refused.Status == http.StatusForbidden)
}

// Explain says why a request failed, and what to do next.
func (s *Shell) Explain(err error) (what, next string) {
	retry := s.Key(actions.Refresh) + " retries."
	var missing *NotLoggedIn
	var unreachable *client.Unreachable
	var refused *client.Error
	switch {
	case errors.As(err, &missing):
		return display.Line(missing.Message), s.Key(actions.Login) + " logs in."
	case errors.As(err, &unreachable):
		return Sentence("", unreachable), retry + " It also reloads by itself."
	case !errors.As(err, &refused):
		return Sentence("", err), retry
	}
	what = Sentence("", refused)
	if refused.RequestID != "" && refused.Status >= http.StatusInternalServerError {
		what += " Request id: " + display.Line(refused.RequestID) + "."
	}
	switch {
	case refused.NotFromService:
		return what, "The reply may not be from the service. Check its address. " + retry
	case refused.LoginNeeded():
		return what, s.Key(actions.Login) + " logs in."
	case refused.Status == http.StatusForbidden:
		return what, s.Key(actions.Login) + " switches the profile."
	}
	return what, retry
}

// Age says when something was loaded that could not be loaded again: "Last loaded 5 min ago."
func (s *Shell) Age(loaded time.Time) string {
	return "Last loaded " + display.Age(s.Now().Sub(loaded)) + "."
}
