package sqlite

import (
	"context"
	"database/sql"
	"errors"
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

func (s *session) query(text string, args ...any) (*sql.Rows, error) {
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
	indexes, err := all(s, func(r row) (i index, err error) {
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
	definition, err := one(s, scanValue[string], `SELECT sql FROM main.sqlite_schema WHERE type = 'trigger' AND name = ?`, name)
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
