package sqlite

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"example.com/perks/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

func knownMigrations() []store.Migration { return store.Migrations(migrationFiles) }

// Status returns the migrations, applied and pending, of the database at path. It changes nothing. For a missing file
// all are pending.
func Status(ctx context.Context, path string) (migrations []store.Migration, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return knownMigrations(), nil
	}
	migrations, err = readAt(ctx, path, func(q store.Querier) ([]store.Migration, error) {
		return appliedMigrations(q, knownMigrations())
	})
	if err != nil {
		return nil, fmt.Errorf("read the migrations of %s: %w", path, explainCode(err))
	}
	return migrations, nil
}

// readAt runs work with a view of the database at path, which must exist.
func readAt[T any](ctx context.Context, path string, work func(store.Querier) (T, error)) (result T, err error) {
	file, err := newFile(path)
	if err != nil {
		return result, err
	}
	db := file.readers(nil)
	defer db.Close()
	return work(view{ctx, db})
}

// migrate applies those of the migrations that are pending. It checks again under the write lock, so that of several
// processes one applies each migration. The first check takes no lock: beside a busy server it could wait long for
// nothing.
func (s *session) migrate(known []store.Migration) error {
	for {
		next, err := s.nextPending(known)
		if err != nil || next == nil {
			return err
		}
		err = s.inTransaction(func() error {
			next, err := s.nextPending(known)
			if err != nil || next == nil {
				return err
			}
			return s.apply(*next)
		})
		if err != nil {
			return err
		}
	}
}

// nextPending returns the first pending migration, or nil.
func (s *session) nextPending(known []store.Migration) (*store.Migration, error) {
	migrations, err := appliedMigrations(s, known)
	if pending := store.Pending(migrations); len(pending) > 0 {
		return &pending[0], err
	}
	return nil, err
}

func (s *session) apply(m store.Migration) error {
	if err := s.script(m.Script); err != nil {
		return fmt.Errorf("apply migration %s: %w", m.Name, err)
	}
	if err := s.script(`CREATE TABLE IF NOT EXISTS migrations (
		version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT`); err != nil {
		return err
	}
	return s.exec(`INSERT INTO migrations VALUES (?, ?, ?)`, m.Version, m.Name, time.Now())
}

func appliedMigrations(q store.Querier, known []store.Migration) ([]store.Migration, error) {
	return store.Applied(q, known, `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'migrations')`)
}

// Reset uses a connection of its own without foreign keys: without checks of each row, SQLite deletes whole tables at
// once.
func (db *DB) Reset(ctx context.Context, by store.Actor, at time.Time) (store.Emptied, error) {
	var emptied store.Emptied
	if err := db.beginMerging(ctx); err != nil {
		return store.Emptied{}, fault("empty the sandbox", err)
	}
	defer db.endMerging()
	err := db.writeExclusive(ctx, "empty the sandbox", "a reset",
		func(s *session) error { return s.script(`PRAGMA foreign_keys = OFF`) },
		func(s *session) (err error) {
			emptied, err = db.EmptySandbox(s, by, at)
			return err
		})
	if err != nil {
		return store.Emptied{}, err
	}
	return emptied, nil
}

// LiveRecordsAt counts the records that only a live database has in the one at path, which must be migrated. It changes
// nothing.
func LiveRecordsAt(ctx context.Context, path string) (store.LiveRecords, error) {
	found, err := readAt(ctx, path, store.LiveRecordsIn)
	return found, fault("count the live records", err)
}

// unprotected drops the trigger that keeps redemptions, and creates it again.
func unprotected(tx store.Tx, work func() error) error {
	return tx.(*session).withDropped(work, `type = 'trigger' AND name = 'redemptions_stay'`)
}
