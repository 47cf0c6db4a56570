package sqlite

import (
	"context"
	"time"

	"example.com/perks/store"
)

// Reset forgets what is in a sandbox. It has a connection of its own, on which foreign keys are not looked after: all that
// refer to one another go together, and without looking at each row SQLite gives up whole tables at once.
func (db *DB) Reset(ctx context.Context, by store.Actor, at time.Time) (emptied store.Emptied, err error) {
	const doing = "empty the sandbox"
	s, err := db.file.session(ctx)
	if err != nil {
		return emptied, fault(doing, err)
	}
	defer func() {
		if closeErr := s.close(); closeErr != nil {
			db.log.Warn("the connection of a reset did not close", "error", closeErr)
		}
	}()
	if err := s.script(`PRAGMA foreign_keys = OFF`); err != nil {
		return emptied, fault(doing, err)
	}
	err = db.writer.doAlone(ctx, func() error {
		return s.inTransaction(func() (err error) {
			emptied, err = s.empty(by, at)
			return err
		})
	})
	if err != nil {
		return store.Emptied{}, fault(doing, err)
	}
	return emptied, nil
}

const liveRecords = `SELECT (SELECT count(*) FROM clients), (SELECT count(*) FROM signing_keys), (SELECT count(*) FROM properties)`

func scanLiveRecords(r row) (l store.LiveRecords, err error) {
	return l, r.Scan(&l.Clients, &l.SigningKeys, &l.Properties)
}

// LiveRecords counts what only a live database has.
func (db *DB) LiveRecords(ctx context.Context) (store.LiveRecords, error) {
	found, err := one(db.latest(ctx), scanLiveRecords, liveRecords)
	return found, fault("look for what only a live database has", err)
}

// LiveRecordsAt is LiveRecords of the database at path, which must be set up. It changes nothing, and migrates nothing.
func LiveRecordsAt(ctx context.Context, path string) (found store.LiveRecords, err error) {
	file, err := newFile(path)
	if err != nil {
		return found, err
	}
	db, err := file.readers()
	if err != nil {
		return found, err
	}
	defer db.Close()
	found, err = one(view{ctx, db}, scanLiveRecords, liveRecords)
	return found, fault("look for what only a live database has", err)
}

func (s *session) empty(by store.Actor, at time.Time) (emptied store.Emptied, err error) {
	if err := s.requireSandbox(); err != nil {
		return emptied, err
	}
	err = s.withoutTrigger("redemptions_stay", func() (err error) {
		emptied, err = s.deleteAll()
		return err
	})
	if err != nil {
		return emptied, err
	}
	if err := s.exec(raiseVersion); err != nil {
		return emptied, err
	}
	return emptied, s.audit(at, by, store.ActionResetSandbox, store.SandboxSubject, emptied, nil)
}

func (s *session) deleteAll() (emptied store.Emptied, err error) {
	for _, table := range []struct {
		count *int64
		text  string
	}{
		{&emptied.IdempotencyKeys, `DELETE FROM idempotency_keys`},
		{&emptied.Redemptions, `DELETE FROM redemptions`},
		{new(int64), `DELETE FROM perk_stock`},
		{new(int64), `INSERT INTO perk_words (perk_words) VALUES ('delete-all')`},
		{&emptied.Perks, `DELETE FROM perks`},
		{&emptied.Categories, `DELETE FROM categories`},
		{&emptied.Users, `DELETE FROM users`},
	} {
		if *table.count, err = s.execCount(table.text); err != nil {
			return emptied, err
		}
	}
	return emptied, nil
}

// requireSandbox holds until the transaction ends, which nothing else writes beside.
func (s *session) requireSandbox() error {
	found, err := one(s, scanLiveRecords, liveRecords)
	if err == nil && found.AreThere() {
		err = store.NotASandbox(found)
	}
	return err
}
