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

func (s *session) run(text string, args []any) (sql.Result, error) {
	statement, err := s.statement(text)
	if err != nil {
		return nil, err
	}
	return statement.Exec(args...)
}

func (s *session) exec(text string, args ...any) error {
	_, err := s.run(text, args)
	return err
}

// execCount returns how many rows the statement changed.
func (s *session) execCount(text string, args ...any) (int64, error) {
	result, err := s.run(text, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert returns the row of what the statement added.
func (s *session) insert(text string, args ...any) (int64, error) {
	result, err := s.run(text, args)
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

// commit fails with an store.UnclearError unless nothing was certainly kept.
func (s *session) commit() error {
	err := s.exec("COMMIT")
	if err != nil && !commitsNothing(err) {
		return &store.UnclearError{Cause: err}
	}
	return err
}

// withoutIndexes drops the table's indexes, runs work and makes them again, all within the transaction that is open.
func (s *session) withoutIndexes(table string, work func() error) error {
	return s.without(work, `type = 'index' AND tbl_name = ? AND sql IS NOT NULL`, table)
}

// withoutTrigger is withoutIndexes for a trigger.
func (s *session) withoutTrigger(name string, work func() error) error {
	return s.without(work, `type = 'trigger' AND name = ?`, name)
}

func (s *session) without(work func() error, which, name string) error {
	type part struct{ drop, definition string }
	parts, err := store.All(s, func(r row) (p part, err error) {
		return p, r.Scan(&p.drop, &p.definition)
	}, `SELECT 'DROP ' || type || ' ' || name, sql FROM main.sqlite_schema WHERE `+which, name)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.script(part.drop); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.script(part.definition); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) close() error {
	var err error
	for _, statement := range s.prepared {
		err = errors.Join(err, statement.Close())
	}
	return errors.Join(err, s.conn.Close(), s.pool.Close())
}

// errFull is why the database is not ready although a small write may fit.
var errFull = errors.New("the disk of the database was full a moment ago")

func fault(doing string, err error) error {
	return store.Fault(doing, inWords(err), isPassing(err), resultCode(err) != 0)
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

// commitsNothing tells whether a COMMIT that failed so has certainly left nothing in the file: a constraint was broken, a lock was not to
// be had, or there was no room for the last page. After other failures, such as one of fsync, the write may survive a crash.
func commitsNothing(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_BUSY, codes.SQLITE_FULL:
		return true
	}
	return false
}
