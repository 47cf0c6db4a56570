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

// Status reads which migrations the database at path has and which are pending. It changes nothing: to a missing file
// all are pending, and it stays missing.
func Status(ctx context.Context, path string) (migrations []store.Migration, err error) {
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return knownMigrations(), nil
	}
	err = readAt(ctx, path, func(v view) (err error) {
		migrations, err = appliedMigrations(v)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the migrations of %s: %w", path, inWords(err))
	}
	return migrations, nil
}

// readAt gives work a view of the database at path, which must be there.
func readAt(ctx context.Context, path string, work func(view) error) error {
	file, err := newFile(path)
	if err != nil {
		return err
	}
	db, err := file.readers()
	if err != nil {
		return err
	}
	defer db.Close()
	return work(view{ctx, db})
}

// migrate applies what is pending. Of several processes that open the database at once, each migration is applied by
// one, because the write lock is held from a second look at what is there to the commit. The first look takes no lock: a
// database that lacks nothing would wait long for it beside a server that writes all the time.
func (s *session) migrate() error {
	for {
		next, err := s.nextPending()
		if err != nil || next == nil {
			return err
		}
		err = s.inTransaction(func() error {
			next, err := s.nextPending()
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

// nextPending returns the first migration that the database lacks, or nil.
func (s *session) nextPending() (*store.Migration, error) {
	migrations, err := appliedMigrations(s)
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

func appliedMigrations(q store.Querier) ([]store.Migration, error) {
	return store.Applied(q, knownMigrations(), `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'migrations')`)
}

// Reset forgets what is in a sandbox. It has a connection of its own, on which foreign keys are not looked after: all that
// refer to one another go together, and without looking at each row SQLite gives up whole tables at once.
func (db *DB) Reset(ctx context.Context, by store.Actor, at time.Time) (store.Emptied, error) {
	var emptied store.Emptied
	err := db.writeAlone(ctx, "empty the sandbox", "a reset",
		func(s *session) error { return s.script(`PRAGMA foreign_keys = OFF`) },
		func(s *session) (err error) {
			emptied, err = store.EmptySandbox(s, by, at)
			return err
		})
	if err != nil {
		return store.Emptied{}, err
	}
	return emptied, nil
}

// LiveRecordsAt is LiveRecords of the database at path, which must be set up. It changes nothing, and migrates nothing.
func LiveRecordsAt(ctx context.Context, path string) (found store.LiveRecords, err error) {
	err = readAt(ctx, path, func(v view) (err error) {
		found, err = store.LiveRecordsIn(v)
		return err
	})
	return found, fault("look for what only a live database has", err)
}

// LockSandbox locks nothing: no one else writes until the transaction ends.
func (s *session) LockSandbox() (store.LiveRecords, error) { return store.LiveRecordsIn(s) }

func (s *session) Empty() (emptied store.Emptied, err error) {
	err = s.without(func() error {
		return store.Run(s.Exec,
			store.Step{Count: &emptied.IdempotencyKeys, Text: `DELETE FROM idempotency_keys`},
			store.Step{Count: &emptied.Redemptions, Text: `DELETE FROM redemptions`},
			store.Step{Text: `DELETE FROM perk_stock`},
			store.Step{Text: `INSERT INTO perk_words (perk_words) VALUES ('delete-all')`},
			store.Step{Count: &emptied.Perks, Text: `DELETE FROM perks`},
			store.Step{Count: &emptied.Categories, Text: `DELETE FROM categories`},
			store.Step{Count: &emptied.Users, Text: `DELETE FROM users`},
			store.Step{Text: store.RaiseVersion},
		)
	}, `type = 'trigger' AND name = 'redemptions_stay'`)
	return emptied, err
}
