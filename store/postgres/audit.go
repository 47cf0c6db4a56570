package postgres

import (
	"context"
	"time"

	"example.com/perks/store"
)

// audit adds an entry in the transaction of the change itself. Before and after are written as JSON, nil as null.
func (s *session) audit(at time.Time, by store.Actor, action, subject string, before, after any) error {
	was, err := store.AuditText(before)
	if err != nil {
		return err
	}
	is, err := store.AuditText(after)
	if err != nil {
		return err
	}
	return s.exec(`INSERT INTO audit (at, actor, action, subject, before, after) VALUES ($1, $2, $3, $4, $5, $6)`,
		at, string(by), action, subject, was, is)
}

// AuditRestore adds the entry that says of the database that it was restored from a backup.
func (db *DB) AuditRestore(ctx context.Context, restored store.Restored, by store.Actor, at time.Time) error {
	return db.write(ctx, "note that the database was restored", func(s *session) error {
		return s.audit(at, by, store.ActionRestoreDatabase, store.DatabaseSubject, nil, restored)
	})
}

// auditImport adds the entry of an import, unless it brought nothing.
func (s *session) auditImport(i store.Import, imported store.Imported) error {
	if imported.Count == 0 {
		return nil
	}
	return s.audit(i.At, i.By, i.Action, i.Subject, nil, imported)
}
