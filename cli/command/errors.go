package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

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
	ExitConflict    = 6   // the state of the record forbids it, or another run is in progress
	ExitSomeFailed  = 7   // some rows of a bulk run failed
	ExitUnreached   = 8   // the service was not reached, time was up, or the outcome is unknown
	ExitInterrupted = 130 // by a signal
)

// UsageError says that the command line is wrong, or a file that it names.
type UsageError struct {
	Message string
	Fields  api.FieldErrors // the problems of each value
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

// ExplainFlag says why a flag is wrong, and which values it takes; the library's error names functions of Go.
func ExplainFlag(err error) error {
	var (
		invalid  *pflag.InvalidValueError
		unknown  *pflag.NotExistError
		valued   *pflag.ValueRequiredError
		mistyped *pflag.InvalidSyntaxError
	)
	switch {
	case errors.As(err, &invalid):
		return fmt.Errorf("--%s %q: %s", invalid.GetFlag().Name, invalid.GetValue(), wanted(invalid))
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() != "":
		return fmt.Errorf("there is no flag -%s", unknown.GetSpecifiedName())
	case unknown != nil:
		return fmt.Errorf("there is no flag --%s", unknown.GetSpecifiedName())
	case errors.As(err, &valued) && valued.GetSpecifiedShortnames() != "":
		return fmt.Errorf("-%s needs a value", valued.GetSpecifiedName())
	case valued != nil:
		return fmt.Errorf("--%s needs a value", valued.GetSpecifiedName())
	case errors.As(err, &mistyped):
		return fmt.Errorf("%q is not a flag", mistyped.GetSpecifiedFlag())
	}
	return err
}

func wanted(invalid *pflag.InvalidValueError) string {
	kind, reason := invalid.GetFlag().Value.Type(), invalid.Unwrap()
	isNumber := strings.HasPrefix(kind, "int") || strings.HasPrefix(kind, "uint") || strings.HasPrefix(kind, "float")
	switch {
	case kind == "bool":
		return "it must be true or false"
	case kind == "duration":
		return "it must be a number with a unit, such as 90s, 15m or 1h"
	case kind == "stringSlice":
		return "a quote in it is not closed, or stands inside a value"
	case isNumber && errors.Is(reason, strconv.ErrRange):
		return "the number is too large or too small"
	case isNumber && strings.HasPrefix(kind, "float"):
		return "it must be a number, such as 2.5"
	case isNumber:
		return "it must be a whole number"
	}
	return reason.Error()
}

// ClosestFlag returns the flag, with its dashes, that was probably meant by an unknown one, or "".
func ClosestFlag(err error, flags *pflag.FlagSet) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || unknown.GetSpecifiedShortnames() != "" {
		return ""
	}
	var names []string
	flags.VisitAll(func(flag *pflag.Flag) {
		if !flag.Hidden {
			names = append(names, flag.Name)
		}
	})
	if name := api.Closest(unknown.GetSpecifiedName(), names); name != "" {
		return "--" + name
	}
	return ""
}

// ValueName returns the name of a flag's value as people read it, in capitals, numbers as N and text as TEXT, and what
// the flag does. A list of choices, such as text|json, stays as it is. The name of a switch is "".
func ValueName(flag *pflag.Flag) (name, does string) {
	name, does = pflag.UnquoteUsage(flag)
	switch kind := flag.Value.Type(); {
	case name == "", strings.ContainsAny(name, "|/"):
		return name, does
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "float"):
		return "N", does
	case name == "string":
		return "TEXT", does
	}
	return strings.ToUpper(name), does
}

// SetHelp names the values of flags as ValueName does in all help of a program, and adds a reference to the root's.
func SetHelp(root *cobra.Command, reference string) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var text strings.Builder
		out := cmd.OutOrStdout()
		cmd.SetOut(&text)
		help(cmd, args)
		cmd.SetOut(out)
		if cmd == root {
			text.WriteString(reference)
		}
		// an output that is lost takes no report
		_, _ = io.WriteString(out, withPlaceholders(text.String(), cmd.Flags()))
	})
}

func withPlaceholders(help string, flags *pflag.FlagSet) string {
	line := regexp.MustCompile(`(?m)^( +(?:-\w, +)?--([\w-]+) )(\S+?(?: \S+?)*?)((?:\[=\S+\])?   )`)
	return line.ReplaceAllStringFunc(help, func(match string) string {
		parts := line.FindStringSubmatch(match)
		flag := flags.Lookup(parts[2])
		if flag == nil {
			return match
		}
		name, _ := ValueName(flag)
		return parts[1] + name + parts[4] + strings.Repeat(" ", max(0, len(parts[3])-len(name)))
	})
}

// Plain returns the text of an error, with plainer words for the system's about a file or a program. Where the text
// names the file or the program before, it is not named again.
func Plain(err error) string {
	text := err.Error()
	var (
		failed *fs.PathError
		moved  *os.LinkError
		absent *exec.Error
		exited *exec.ExitError
	)
	switch {
	case errors.As(err, &failed):
		reason := aboutFile(failed.Err)
		it := reason
		if strings.HasPrefix(reason, " ") {
			it = ": it" + reason
		}
		text = strings.Replace(text, failed.Path+": "+failed.Error(), failed.Path+it, 1)
		return strings.Replace(text, failed.Error(), failed.Path+reason, 1)
	case errors.As(err, &moved):
		return strings.Replace(text, moved.Error(), moved.New+aboutFile(moved.Err), 1)
	case errors.As(err, &absent):
		reason := aboutFile(absent.Err)
		if errors.Is(absent, exec.ErrNotFound) {
			reason = " is not installed, or its directory is not in PATH"
		}
		return strings.Replace(text, absent.Error(), absent.Name+reason, 1)
	case errors.As(err, &exited) && exited.Exited():
		return strings.Replace(text, exited.Error(), fmt.Sprintf("it ended with exit code %d", exited.ExitCode()), 1)
	case exited != nil:
		return strings.Replace(text, exited.Error(), "it was killed", 1)
	}
	return text
}

// aboutFile says why a file cannot be used, as what follows its name.
func aboutFile(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return " does not exist"
	case errors.Is(err, fs.ErrExist):
		return " exists already"
	case errors.Is(err, fs.ErrPermission):
		return ": permission denied"
	case errors.Is(err, syscall.EISDIR):
		return " is a directory"
	case errors.Is(err, syscall.ENOTDIR):
		return ": a part of this path is a file, not a directory"
	case errors.Is(err, syscall.ENOSPC):
		return ": the disk is full"
	case errors.Is(err, syscall.EROFS):
		return ": the disk is read-only"
	case errors.Is(err, syscall.ENOEXEC):
		return " is not a program for this computer"
	}
	return ": " + err.Error()
}
