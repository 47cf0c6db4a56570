package command

import (
	"fmt"

	"example.com/perks/api"
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
func BadFile(what string, err error) error { return Usagef("%s: %s.", what, Plain(err)) }

// FlagFile says that the file of a flag cannot be used.
func FlagFile(flag string, err error) error { return BadFile("--"+flag, err) }

func (u *UsageError) Error() string {
	return (&api.Error{Message: u.Message, Fields: u.Fields}).Error()
}

// Failure is an error that the program found itself, with the code by which programs know it.
type Failure struct {
	Exit          int
	Code, Message string
}

func (f *Failure) Error() string { return f.Message }

// Cancelled says that a person was asked and said no.
func Cancelled(message string) error { return &Failure{ExitCancelled, "cancelled", message} }

// Busy says that another run is using the same file.
func Busy(message string) error { return &Failure{ExitConflict, "busy", message} }

// RowsFailed says that a bulk run is finished, and that some rows failed or are unknown.
func RowsFailed(message string) error { return &Failure{ExitSomeFailed, "rows_failed", message} }

// TimeUp says that what a command waited for has not happened within --timeout.
func TimeUp(message string) error { return &Failure{ExitUnreached, "timeout", message} }

// ReadOnly says that perksctl itself refused to change something.
func ReadOnly(message string) error { return &Failure{ExitFailed, "read_only", message} }

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
