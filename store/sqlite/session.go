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

// session is one connection that writes. It prepares each statement once, so the texts must be constants. Its
// statements take no context: what a write has begun it finishes.
type session struct {
	pool     *sql.DB // of this connection alone
	conn     *sql.Conn
	prepared map[string]*sql.Stmt
}

func (s *session) statement(text string) (*sql.Stmt, error) {
	if statement, ok := s.prepared[text]; ok {
		return statement, nil
	}
	statement, err := s.conn.PrepareContext(context.Background(), text)
	if err == nil {
		s.prepared[text] = statement
	}
	return statement, err
}

func (s *session) exec(text string, args ...any) error {
	_, err := s.execCount(text, args...)
	return err
}

// execCount returns how many rows the statement changed.
func (s *session) execCount(text string, args ...any) (int64, error) {
	statement, err := s.statement(text)
	if err != nil {
		return 0, err
	}
	result, err := statement.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert returns the row of what the statement added.
func (s *session) insert(text string, args ...any) (int64, error) {
	statement, err := s.statement(text)
	if err != nil {
		return 0, err
	}
	result, err := statement.Exec(args...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// script runs statements that are not worth keeping.
func (s *session) script(text string) error {
	_, err := s.conn.ExecContext(context.Background(), text)
	return err
}

func (s *session) Query(text string, args ...any) (store.Rows, error) {
	statement, err := s.statement(text)
	if err != nil {
		return nil, err
	}
	return statement.Query(args...)
}

// inTransaction runs work in a transaction that holds the write lock from its start, and commits it unless work fails.
// After an error the session must be closed, which rolls back whatever is still open.
func (s *session) inTransaction(work func() error) error {
	if err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return s.commit()
}

// commit fails with an unclearError unless nothing was certainly kept.
func (s *session) commit() error {
	err := s.exec("COMMIT")
	if err != nil && !commitsNothing(err) {
		return &unclearError{err}
	}
	return err
}

// withoutIndexes drops the table's indexes, runs work and makes them again, all within the transaction that is open.
func (s *session) withoutIndexes(table string, work func() error) error {
	type index struct{ name, definition string }
	indexes, err := store.All(s, func(r row) (i index, err error) {
		return i, r.Scan(&i.name, &i.definition)
	}, `SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL`, table)
	if err != nil {
		return err
	}
	for _, index := range indexes {
		if err := s.script(`DROP INDEX ` + index.name); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	for _, index := range indexes {
		if err := s.script(index.definition); err != nil {
			return err
		}
	}
	return nil
}

// withoutTrigger drops the trigger, runs work and makes it again, all within the transaction that is open.
func (s *session) withoutTrigger(name string, work func() error) error {
	definition, err := store.One(s, store.ScanValue[string], `SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?`, name)
	if err != nil {
		return err
	}
	if err := s.script(`DROP TRIGGER ` + name); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return s.script(definition)
}

func (s *session) close() error {
	var err error
	for _, statement := range s.prepared {
		err = errors.Join(err, statement.Close())
	}
	return errors.Join(err, s.conn.Close(), s.pool.Close())
}

var (
	// errClosed answers writes that come after Close.
	errClosed = errors.New("the database is closed")
	// errLeft is the outcome of a write that did not begin, because its caller's context had ended.
	errLeft = errors.New("the caller left before the write began")
	// errFull is why the database is not ready although a small write may fit.
	errFull = errors.New("the disk of the database was full a moment ago")
)

// fault tells what was being done when the database failed or the time was up. Failures that pass become store.NotBegun, and
// those after which a write may or may not be there store.Unavailable; what is not the database's own error is returned as
// it is.
func fault(doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*unclearError)):
		return store.Unavailable(fmt.Errorf("%s: %w", doing, inWords(err)))
	case isPassing(err):
		return store.NotBegun(fmt.Errorf("%s: %w", doing, inWords(err)))
	case isDatabase(err), isOver(err):
		return fmt.Errorf("%s: %w", doing, inWords(err))
	}
	return err
}

// inWords says in plain words what SQLite says of the world around it.
func inWords(err error) error {
	switch resultCode(err) {
	case codes.SQLITE_FULL:
		return fmt.Errorf("there is no room on the disk: %w", err)
	case codes.SQLITE_CORRUPT:
		return fmt.Errorf("the database is damaged; 'perksd restore' brings a backup back: %w", err)
	case codes.SQLITE_NOTADB:
		return fmt.Errorf("it is no database of SQLite, or a damaged one: %w", err)
	case codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN:
		return fmt.Errorf("the file or its folder cannot be opened and written by this user: %w", err)
	}
	return err
}

// resultCode is SQLite's primary result code, or 0 if the error is not SQLite's. Of several errors in one the first counts.
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

// unclearError is the failure of a commit that may have succeeded.
type unclearError struct{ cause error }

func (e *unclearError) Error() string {
	return fmt.Sprintf("it is not known whether the commit succeeded: %v", e.cause)
}
func (e *unclearError) Unwrap() error { return e.cause }

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
