package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store"
)

var (
	// errClosed answers writes that come after Close.
	errClosed = errors.New("the database is closed")
	// errWarned is what makes a commit unclear that the server reported with a warning: it may be on no standby.
	errWarned = errors.New("the server warned instead of waiting for its standby")
	// errLeft is the outcome of a write that did not begin, because its caller's context had ended.
	errLeft = errors.New("the caller left before the write began")
)

// fault tells what was being done when the database failed or the time was up. Failures that pass become store.NotBegun, and
// those after which a write may or may not be there store.Unavailable; what is not the database's own error is returned as
// it is.
func fault(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*unclearError)):
		return store.Unavailable(fmt.Errorf("%s: %w", doing, err))
	case isPassing(err):
		return store.NotBegun(fmt.Errorf("%s: %w", doing, err))
	case sqlState(err) != "", isOver(err):
		return fmt.Errorf("%s: %w", doing, err)
	}
	return err
}

// writeFault is fault for a write. One that was given up before its commit, because its caller left or the database closes,
// is not there.
func writeFault(doing string, err error) error {
	if isOver(err) && !errors.As(err, new(*unclearError)) {
		return store.NotBegun(fmt.Errorf("%s: %w", doing, err))
	}
	return fault(doing, err)
}

// sqlState is the SQLSTATE that the server reported, or "" if the error is not the server's.
func sqlState(err error) string {
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Code
}

// The SQLSTATEs (PostgreSQL's appendix of error codes) that this package tells apart.
const (
	stateReadOnly        = "25006" // the server was demoted, or was a standby all along
	stateUniqueViolation = "23505"
	stateDiskFull        = "53100"
)

// unknownStates are those of failures after which the server itself does not know whether it carried the statement out.
var unknownStates = []string{"08007", "40003"}

// passingStates are the SQLSTATEs, or classes of them, of failures that are not the statement's own fault.
var passingStates = []string{
	"08",    // the connection broke
	"25006", // read only
	"40",    // rolled back for another transaction's sake
	"53",    // no disk, memory or connection left
	"55P03", // a lock was not to be had
	"57P",   // the server is shut down, starts or was told to stop the work
	"58",    // the operating system failed
}

// isPassing holds for failures after which the same work may succeed. In doubt whether it did the first time, only work
// that recognises itself may be done again.
func isPassing(err error) bool {
	if errors.As(err, new(*unclearError)) || isBroken(err) {
		return true
	}
	state := sqlState(err)
	return slices.ContainsFunc(passingStates, func(passing string) bool { return strings.HasPrefix(state, passing) })
}

// isWorthWaiting holds for failures that often pass within seconds. A full disk has to be seen to by somebody.
func isWorthWaiting(err error) bool { return isPassing(err) && sqlState(err) != stateDiskFull }

// isBroken holds when the connection failed, and not the statement: it could not be made, was cut, or the server says that
// it ends it.
func isBroken(err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	var failure *pgconn.PgError
	return errors.As(err, &refused) ||
		errors.As(err, &failure) && slices.Contains([]string{"FATAL", "PANIC"}, failure.SeverityUnlocalized) ||
		!isOver(err) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err))
}

func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
