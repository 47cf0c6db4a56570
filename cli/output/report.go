package output

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
	"example.com/perks/cli/command"
)

// ExitCode returns the exit code for the error of a command.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, context.Canceled):
		return command.ExitInterrupted
	}
	exit, _ := classify(err)
	return exit
}

// classify returns the exit code of an error, and the code by which programs know it.
func classify(err error) (exit int, code string) {
	var unreachable *client.Unreachable
	var refused *client.Error
	var local *api.Error
	var outage *command.Outage
	var failure *command.Failure
	switch {
	case errors.As(err, &outage):
		_, code = classify(outage.Err)
		return command.ExitUnreached, code
	case errors.As(err, new(*command.UsageError)):
		return command.ExitUsage, "usage"
	case errors.As(err, &failure):
		return failure.Exit, failure.Code
	case errors.As(err, new(*command.NotLoggedIn)):
		return command.ExitDenied, "not_logged_in"
	case errors.As(err, &unreachable) && unreachable.OutcomeUnknown:
		return command.ExitUnreached, "outcome_unknown"
	case unreachable != nil:
		return command.ExitUnreached, "unreachable"
	case errors.As(err, &refused):
		return exitOfReply(refused), string(refused.Code)
	case errors.As(err, &local):
		return exitOfCode(local.Code), string(local.Code)
	}
	return command.ExitFailed, "failed"
}

// exitOfCode is for an error that was found before anything was sent.
func exitOfCode(code api.Code) int {
	switch code {
	case api.CodeValidationFailed:
		return command.ExitUsage
	case api.CodeNotFound:
		return command.ExitNotFound
	case api.CodeAlreadyRedeemed, api.CodePerkNotStarted, api.CodePerkExpired, api.CodeSoldOut,
		api.CodePreconditionFailed, api.CodeNotDeleted, api.CodeConflict:
		return command.ExitConflict
	}
	return command.ExitFailed
}

// unavailable is the statuses of a service, or of a proxy before it, that is down for now.
var unavailable = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func exitOfReply(e *client.Error) int {
	switch {
	case e.OutcomeUnknown || e.Code == api.CodeUnavailable || slices.Contains(unavailable, e.Status):
		return command.ExitUnreached
	case e.LoginNeeded() || e.Status == http.StatusForbidden:
		return command.ExitDenied
	case e.Code == api.CodeNotFound || e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return command.ExitNotFound
	case e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed:
		return command.ExitConflict
	}
	return command.ExitFailed
}

// Report is an error as people and, in JSON, programs read it.
type Report struct {
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Status     int             `json:"status,omitempty"` // of the HTTP response, if there was one
	Errors     api.FieldErrors `json:"errors,omitempty"`
	RequestID  string          `json:"request_id,omitempty"`
	RetryAfter int64           `json:"retry_after,omitempty"` // seconds
	Retry      string          `json:"retry,omitempty"`       // the command that retries or resumes
	Key        string          `json:"idempotency_key,omitempty"`

	tryAgain string
	advice   string
}

// NewReport describes an error.
func NewReport(err error) Report {
	r := Report{Message: command.Plain(err), advice: advice(err)}
	_, r.Code = classify(err)
	var wrong *command.UsageError
	var refused *client.Error
	var local *api.Error
	if advised := new(command.Advised); errors.As(err, &advised) {
		r.Retry, r.Key = advised.Retry, advised.Key
	}
	switch {
	case errors.As(err, &wrong):
		r.Errors = wrong.Fields
		r.Message = strings.TrimSuffix(r.Message, wrong.Error()) + wrong.Message
	case errors.As(err, &refused) && r.Code == string(refused.Code):
		r.Status, r.RequestID, r.Errors = refused.Status, refused.RequestID, refused.Fields
		r.Message = strings.TrimSuffix(r.Message, refused.Error()) + refused.Message
		r.RetryAfter = int64(math.Ceil(refused.RetryAfter.Seconds()))
		// Not after an unknown outcome, and not where the server says so itself.
		if r.RetryAfter > 0 && !refused.OutcomeUnknown && !strings.Contains(refused.Message, "ry again in") {
			r.tryAgain = fmt.Sprintf("Try again in %s.", time.Duration(r.RetryAfter)*time.Second)
		}
	case errors.As(err, &local) && r.Code == string(local.Code):
		r.Errors = local.Fields
		r.Message = strings.TrimSuffix(r.Message, local.Error()) + local.Message
	}
	r.Message = sentence(r.Message)
	if errors.Is(err, context.Canceled) && !client.OutcomeUnknown(err) {
		r.Code, r.Message = "interrupted", "Interrupted."
	}
	return r
}

// sentence completes an error that begins with what it is about. Others begin with a name, or are sentences.
func sentence(text string) string {
	rest, found := strings.CutPrefix(text, "the ")
	if !found {
		return text
	}
	if !strings.HasSuffix(rest, ".") && !strings.HasSuffix(rest, "?") {
		rest += "."
	}
	return "The " + rest
}

// Sentence is the message and the errors of the fields, on one line.
func (r Report) Sentence() string {
	message := r.Message
	for _, field := range slices.Sorted(maps.Keys(r.Errors)) {
		message += " " + field + ": " + strings.Join(r.Errors[field], "; ") + "."
	}
	return display.Line(message)
}

func advice(err error) string {
	var advised *command.Advised
	var refused *client.Error
	switch {
	case errors.As(err, &advised):
		return advised.Advice
	case !errors.As(err, &refused):
		return ""
	case refused.LoginNeeded():
		return "Check the client's id and secret, and log in: perksctl auth login"
	case refused.Status == http.StatusForbidden:
		return "See which client you are: perksctl auth status"
	}
	return ""
}

// onOneLine adds advice to a message. Each line of it is a sentence or an indented command, which gets backquotes if
// more follows. Marks below a text mean nothing without it.
func onOneLine(message, advice string) string {
	command := -1 // where the message has one, at its end
	for line := range strings.Lines(advice) {
		text := strings.Join(strings.Fields(line), " ")
		if strings.Trim(text, "^") == "" {
			continue
		}
		isCommand := line[0] == ' '
		switch {
		case command >= 0:
			message = message[:command] + "`" + message[command:] + "`."
		case message != "" && !isCommand && !strings.ContainsAny(message[len(message)-1:], ".?!:"):
			message += "."
		}
		if command = -1; isCommand {
			command = len(message) + len(" ")
		}
		message += " " + text
	}
	return strings.TrimSpace(message)
}

// WriteError writes the error to Err: as sentences, or with asJSON as one line of JSON.
func WriteError(s *command.Streams, err error, asJSON bool) {
	r := NewReport(err)
	if asJSON {
		// The advice goes into the message, because a program's log has no other text.
		r.Message = display.Line(onOneLine(r.Message, r.advice))
		line, _ := json.Marshal(map[string]Report{"error": r}) // a Report always marshals
		fmt.Fprintln(s.Err, string(display.JSON(line)))
		return
	}
	lines := []string{r.Message}
	for _, field := range slices.Sorted(maps.Keys(r.Errors)) {
		for _, problem := range r.Errors[field] {
			lines = append(lines, "  "+field+": "+problem)
		}
	}
	if r.RequestID != "" {
		lines = append(lines, "  (request "+r.RequestID+")")
	}
	for _, line := range []string{r.tryAgain, r.advice} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	fmt.Fprint(s.Err, s.Alarm("error: "), display.Text(strings.Join(lines, "\n")+"\n"))
}
