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

// The exit codes of perksctl.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the service refused, or the command failed
	ExitUsage       = 2   // the command line, a variable or a file as a whole is wrong; nothing was sent
	ExitCancelled   = 3   // the person said no
	ExitDenied      = 4   // not logged in, or not allowed
	ExitNotFound    = 5   // no such record
	ExitConflict    = 6   // the state of the record forbids it, or another run is at work
	ExitSomeFailed  = 7   // some rows of a bulk run failed
	ExitUnreached   = 8   // the service was not reached, time was up, or the outcome is unknown
	ExitInterrupted = 130 // by a signal
)

// UsageError says that the command line is wrong, or a file that it names.
type UsageError struct {
	Message string
	Fields  api.FieldErrors // what is wrong with which value
}

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// BadFile says why a file cannot be used.
func BadFile(what string, err error) error { return Usagef("%s: %s.", what, usage.Plain(err)) }

// FlagFile says that the file of a flag cannot be used.
func FlagFile(flag string, err error) error { return BadFile("--"+flag, err) }

func (u *UsageError) Error() string {
	return (&api.Error{Message: u.Message, Fields: u.Fields}).Error()
}

// Cancelled says that a person was asked and said no.
type Cancelled struct{ Message string }

func (c *Cancelled) Error() string { return c.Message }

// Busy says that another run is using the same file.
type Busy struct{ Message string }

func (b *Busy) Error() string { return b.Message }

// RowsFailed says that a bulk run is finished, and that some rows failed or are unknown.
type RowsFailed struct{ Message string }

func (r *RowsFailed) Error() string { return r.Message }

// TimeUp says that what a command waited for has not happened within --timeout.
type TimeUp struct{ Message string }

func (t *TimeUp) Error() string { return t.Message }

// Outage says that the service answers nothing but failures, so that a run has stopped.
type Outage struct{ Err error }

func (o *Outage) Error() string { return o.Err.Error() }

// Unwrap returns the last failure.
func (o *Outage) Unwrap() error { return o.Err }

// RetryAdvice says how to settle an unknown outcome: by running the command again if the service has shown that it
// honours its idempotency key, or else by looking first. done is "redeemed" or "created".
func RetryAdvice(isSafe bool, done, again, look string) string {
	if isSafe {
		return "Retry. It can't be " + done + " twice:\n  " + again
	}
	return "This server has not shown that it honours idempotency keys. Check first whether it was " + done + ":\n  " +
		look + "\nIf it was not, run again:\n  " + again
}

// NotLoggedIn says that there are no credentials to obtain a token with.
type NotLoggedIn struct{ Message string }

func (n *NotLoggedIn) Error() string { return n.Message }

// LoginNeeded is for the terminal UI, which does not import this package.
func (n *NotLoggedIn) LoginNeeded() bool { return true }

// ReadOnly says that perksctl itself refused to change something.
type ReadOnly struct{ Message string }

func (r *ReadOnly) Error() string { return r.Message }

// Advised is an error with what to do about it. The advice may have several lines; those with commands are indented.
type Advised struct {
	Err    error
	Advice string

	// For programs:
	Retry string // the command that retries or resumes; "" if the advice has none
	Key   string // the idempotency key of the request that may be retried
}

func (a *Advised) Error() string { return a.Err.Error() }

// Unwrap returns the error without the advice.
func (a *Advised) Unwrap() error { return a.Err }

// ExitCode returns the exit code for the error of a command.
func ExitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	}
	exit, _ := classify(err)
	return exit
}

// classify returns the exit code of an error, and the code by which programs know it.
func classify(err error) (exit int, code string) {
	var unreachable *client.Unreachable
	var refused *client.Error
	var local *api.Error
	var outage *Outage
	switch {
	case errors.As(err, &outage):
		_, code = classify(outage.Err)
		return ExitUnreached, code
	case errors.As(err, new(*UsageError)):
		return ExitUsage, "usage"
	case errors.As(err, new(*Cancelled)):
		return ExitCancelled, "cancelled"
	case errors.As(err, new(*Busy)):
		return ExitConflict, "busy"
	case errors.As(err, new(*NotLoggedIn)):
		return ExitDenied, "not_logged_in"
	case errors.As(err, new(*ReadOnly)):
		return ExitFailed, "read_only"
	case errors.As(err, new(*RowsFailed)):
		return ExitSomeFailed, "rows_failed"
	case errors.As(err, new(*TimeUp)):
		return ExitUnreached, "timeout"
	case errors.As(err, &unreachable) && unreachable.OutcomeUnknown:
		return ExitUnreached, "outcome_unknown"
	case unreachable != nil:
		return ExitUnreached, "unreachable"
	case errors.As(err, &refused):
		return exitOfReply(refused), string(refused.Code)
	case errors.As(err, &local):
		return exitOfCode(local.Code), string(local.Code)
	}
	return ExitFailed, "failed"
}

// exitOfCode is for an error that was found before anything was sent.
func exitOfCode(code api.Code) int {
	switch code {
	case api.CodeValidationFailed:
		return ExitUsage
	case api.CodeNotFound:
		return ExitNotFound
	case api.CodeAlreadyRedeemed, api.CodePerkNotStarted, api.CodePerkExpired, api.CodeSoldOut, api.CodePreconditionFailed, api.CodeConflict:
		return ExitConflict
	}
	return ExitFailed
}

// unavailable is the statuses of a service, or of a proxy before it, that is down for now.
var unavailable = []int{http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}

func exitOfReply(e *client.Error) int {
	switch {
	case e.OutcomeUnknown || e.Code == api.CodeUnavailable || slices.Contains(unavailable, e.Status):
		return ExitUnreached
	case e.LoginNeeded() || e.Status == http.StatusForbidden:
		return ExitDenied
	case e.Code == api.CodeNotFound || e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return ExitNotFound
	case e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed:
		return ExitConflict
	}
	return ExitFailed
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
	r := Report{Message: usage.Plain(err), advice: advice(err)}
	_, r.Code = classify(err)
	var wrong *UsageError
	var refused *client.Error
	var local *api.Error
	if advised := new(Advised); errors.As(err, &advised) {
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
	var advised *Advised
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
func WriteError(s *Streams, err error, asJSON bool) {
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
