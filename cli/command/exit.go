package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"example.com/perks/api"
	"example.com/perks/api/client"
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
	ExitUnreached   = 8   // the service was not reached, or the outcome is unknown
	ExitInterrupted = 130 // by a signal
)

// Usage says that the command line is wrong, or a file that it names.
type UsageError struct {
	Message string
	Fields  api.FieldErrors // what is wrong with which value, if that is the trouble
}

// Usagef makes a Usage whose message is formatted as fmt.Sprintf does.
func Usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

func (u *UsageError) Error() string {
	return (&api.Error{Message: u.Message, Fields: u.Fields}).Error()
}

// Cancelled says that a person was asked and said no.
type Cancelled struct{ Message string }

func (c *Cancelled) Error() string { return c.Message }

// Busy says that somebody else is at work on the same.
type Busy struct{ Message string }

func (b *Busy) Error() string { return b.Message }

// RowsFailed says that a bulk run came to its end, and that not every row is done.
type RowsFailed struct{ Message string }

func (r *RowsFailed) Error() string { return r.Message }

// NotLoggedIn says that there are no credentials to obtain a token with.
type NotLoggedIn struct{ Message string }

func (n *NotLoggedIn) Error() string { return n.Message }

// LoginNeeded tells the terminal UI, which knows nothing of this package, that another login is what helps.
func (n *NotLoggedIn) LoginNeeded() bool { return true }

// Advised is an error with what to do about it. The advice may have several lines.
type Advised struct {
	Err    error
	Advice string
}

func (a *Advised) Error() string { return a.Err.Error() }

// Unwrap returns the error without the advice.
func (a *Advised) Unwrap() error { return a.Err }

// Code returns the exit code for the error that a command ended with.
func ExitCode(err error) int {
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
	case err == nil:
		return ExitOK
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &cancelled):
		return ExitCancelled
	case errors.As(err, &busy):
		return ExitConflict
	case errors.As(err, &notLoggedIn):
		return ExitDenied
	case errors.As(err, &rowsFailed):
		return ExitSomeFailed
	case errors.As(err, &unreachable):
		return ExitUnreached
	case errors.As(err, &refused):
		return ofAnswer(refused)
	case errors.As(err, &local):
		return ofCode(local.Code)
	}
	return ExitFailed
}

// ofCode is for what was found wrong before anything was sent.
func ofCode(code api.Code) int {
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

func ofAnswer(e *client.Error) int {
	switch {
	case e.OutcomeUnknown || e.Code == api.CodeUnavailable:
		return ExitUnreached
	case e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden:
		return ExitDenied
	case e.Code == api.CodeNotFound:
		return ExitNotFound
	case e.Status == http.StatusConflict || e.Status == http.StatusPreconditionFailed:
		return ExitConflict
	}
	return ExitFailed
}
