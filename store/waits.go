package store

import (
	"fmt"
	"time"
)

// Wait is a statement of the service that waits inside the database: for a lock that another session has, or for a
// standby.
type Wait struct {
	Table     string // that is locked; "" if it is not known, or the statement waits for a standby
	IsTable   bool   // the whole table is locked, so that other requests wait too
	Statement string // the beginning of its text
	BlockedBy string // the sessions that hold the lock, or what is waited for
	Since     time.Time
}

// String is for the log, for example: the statement "INSERT ..." has waited since 2026-01-02T03:04:05Z for the table
// redemptions, locked by psql of ops, process 4711, since 2026-01-02T03:04:00Z.
func (w Wait) String() string {
	what := "for " + w.BlockedBy
	switch {
	case w.IsTable:
		what = fmt.Sprintf("for the table %s, locked by %s", w.Table, w.BlockedBy)
	case w.Table != "":
		what = fmt.Sprintf("for a row of %s, locked by %s", w.Table, w.BlockedBy)
	}
	return fmt.Sprintf("the statement %q has waited since %s %s", w.Statement, w.Since.UTC().Format(time.RFC3339), what)
}

// WaitError is an error of work that took too long because a statement waited.
type WaitError struct {
	Wait
	Cause error
}

func (e *WaitError) Error() string { return fmt.Sprintf("%v: %v", e.Cause, e.Wait) }
func (e *WaitError) Unwrap() error { return e.Cause }
