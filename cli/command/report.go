package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/cli/usage"
)

// Report is an error as it is told. Its JSON is what programs read.
type Report struct {
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Status    int             `json:"status,omitempty"` // of the HTTP response, if there was one
	Errors    api.FieldErrors `json:"errors,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
	// RetryAfter is for how many seconds the server wants no further request.
	RetryAfter int64 `json:"retry_after,omitempty"`

	tryAgain string
	advice   string
}

// The codes of errors that no server sends.
const (
	codeUsage          = "usage"
	codeCancelled      = "cancelled"
	codeBusy           = "busy"
	codeNotLoggedIn    = "not_logged_in"
	codeUnreachable    = "unreachable"
	codeOutcomeUnknown = "outcome_unknown"
	codeInterrupted    = "interrupted"
	codeRowsFailed     = "rows_failed"
	codeFailed         = "failed"
)

// NewReport describes an error.
func NewReport(err error) Report {
	r := Report{Code: codeFailed, Message: usage.AboutFile(err), advice: advice(err)}
	var (
		usage       *UsageError
		cancelled   *Cancelled
		busy        *Busy
		notLoggedIn *NotLoggedIn
		rowsFailed  *RowsFailed
		unreachable *client.Unreachable
		refused     *client.Error
		local       *api.Error
	)
	switch {
	case errors.As(err, &usage):
		r.Code, r.Errors = codeUsage, usage.Fields
		r.Message = strings.TrimSuffix(r.Message, usage.Error()) + usage.Message
	case errors.As(err, &cancelled):
		r.Code = codeCancelled
	case errors.As(err, &busy):
		r.Code = codeBusy
	case errors.As(err, &notLoggedIn):
		r.Code = codeNotLoggedIn
	case errors.As(err, &rowsFailed):
		r.Code = codeRowsFailed
	case errors.As(err, &unreachable):
		r.Code = codeUnreachable
		if unreachable.OutcomeUnknown {
			r.Code = codeOutcomeUnknown
		}
	case errors.As(err, &refused):
		r.Code, r.Status, r.RequestID, r.Errors = string(refused.Code), refused.Status, refused.RequestID, refused.Fields
		r.Message = strings.TrimSuffix(r.Message, refused.Error()) + refused.Message
		r.RetryAfter = int64(math.Ceil(refused.RetryAfter.Seconds()))
		r.tryAgain = tryAgain(refused, r.RetryAfter)
	case errors.As(err, &local):
		r.Code, r.Errors = string(local.Code), local.Fields
		r.Message = strings.TrimSuffix(r.Message, local.Error()) + local.Message
	}
	if errors.Is(err, context.Canceled) && !client.OutcomeUnknown(err) {
		r.Code, r.Message = codeInterrupted, "Interrupted."
	}
	return r
}

// Sentence is the message with what is wrong with which value behind it, on one line.
func (r Report) Sentence() string {
	message := r.Message
	for _, field := range slices.Sorted(maps.Keys(r.Errors)) {
		message += " " + field + ": " + strings.Join(r.Errors[field], "; ") + "."
	}
	return display.Line(message)
}

// tryAgain says when, unless the server has said so itself, as many do. What may have been done should not simply be done
// again.
func tryAgain(refused *client.Error, seconds int64) string {
	if seconds == 0 || refused.OutcomeUnknown || strings.Contains(refused.Message, "ry again in") {
		return ""
	}
	return fmt.Sprintf("Try again in %s.", time.Duration(seconds)*time.Second)
}

func advice(err error) string {
	var advised *Advised
	var refused *client.Error
	switch {
	case errors.As(err, &advised):
		return advised.Advice
	case !errors.As(err, &refused):
		return ""
	case refused.Status == http.StatusUnauthorized:
		return "Check the client's id and secret, and log in: perksctl auth login"
	case refused.Status == http.StatusForbidden:
		return "See which client you are: perksctl auth status"
	}
	return ""
}

// Tell writes the error to Err: as sentences, or with asJSON as one line of JSON.
func TellError(s *Streams, err error, asJSON bool) {
	report := NewReport(err)
	if asJSON {
		fmt.Fprintln(s.Err, report.line())
		return
	}
	fmt.Fprint(s.Err, s.Alarm("error: "), display.Text(report.text()))
}

func (r Report) text() string {
	var text strings.Builder
	fmt.Fprintln(&text, r.Message)
	for _, field := range slices.Sorted(maps.Keys(r.Errors)) {
		for _, problem := range r.Errors[field] {
			fmt.Fprintf(&text, "  %s: %s\n", field, problem)
		}
	}
	if r.RequestID != "" {
		fmt.Fprintf(&text, "  (request %s)\n", r.RequestID)
	}
	for _, line := range []string{r.tryAgain, r.advice} {
		if line != "" {
			fmt.Fprintln(&text, line)
		}
	}
	return text.String()
}

// line puts the advice into the message, because a program's log keeps no other text.
func (r Report) line() string {
	if r.advice != "" {
		r.Message += " " + strings.Join(strings.Fields(r.advice), " ")
	}
	r.Message = display.Line(r.Message)
	line, err := json.Marshal(map[string]Report{"error": r})
	if err != nil {
		return `{"error":{"code":"failed","message":"the error cannot be written as JSON"}}` // not reached: a Report always marshals
	}
	return string(display.JSON(line))
}
