package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	driversqlite "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"example.com/perks/store"
)

var (
	// errClosed answers writes that come after Close.
	errClosed = errors.New("the database is closed")
	// errLeft is the outcome of a write that did not begin, because its caller's context had ended.
	errLeft = errors.New("the caller left before the write began")
)

// fault tells what was being done when the database failed or the time was up. Failures that pass, and those after which
// a write may or may not be there, become store.Unavailable; what is not the database's own error is returned as it is.
func fault(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case isPassing(err):
		return store.Unavailable(fmt.Errorf("%s: %w", doing, err))
	case isDatabase(err), isOver(err):
		return fmt.Errorf("%s: %w", doing, err)
	}
	return err
}

// resultCode is SQLite's primary result code, or 0 if the error is not SQLite's.
func resultCode(err error) int {
	var failure *driversqlite.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return failure.Code() & 0xff
}

func isPassing(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_READONLY,
		codes.SQLITE_CANTOPEN, codes.SQLITE_NOMEM, codes.SQLITE_PROTOCOL, codes.SQLITE_INTERRUPT:
		return true
	}
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

func isDatabase(err error) bool { return resultCode(err) != 0 }

func isOver(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// commitsNothing tells whether a COMMIT that failed so has certainly left nothing in the file: a constraint was broken,
// a lock was not to be had, or there was no room for the last page. After other failures, such as one of fsync, the write
// may survive a crash.
func commitsNothing(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_BUSY, codes.SQLITE_FULL:
		return true
	}
	return false
}
