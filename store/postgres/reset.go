package postgres

import (
	"context"
	"errors"
	"time"

	"example.com/perks/store"
)

// Reset forgets what is in a sandbox. It deletes rows, where TRUNCATE would be faster: that waits for every reader, has
// all others wait for it, and empties the tables under the eyes of readers who still see the moment before.
func (db *DB) Reset(ctx context.Context, by store.Actor, at time.Time) (store.Emptied, error) {
	var emptied store.Emptied
	err := db.write(ctx, "empty the sandbox", func(s *session) (err error) {
		emptied, err = store.EmptySandbox(s, by, at)
		return err
	})
	if err != nil {
		return store.Emptied{}, err
	}
	if emptied.All() >= manyRecords {
		db.vacuum(ctx, `perks, perk_folds, perk_stock, categories, users, redemptions, idempotency_keys`)
	}
	return emptied, nil
}

// LockSandbox has everyone wait who writes to the sandbox. Readers go on. What others hold
// they get in the same order: imports lock the catalog first, those who redeem and decide the stock; so nobody waits in a
// circle. EXCLUSIVE keeps even those out who only lock a row of the stock, before they have read anything.
func (s *session) LockSandbox() (found store.LiveRecords, err error) {
	if err := s.requireOneSchema(); err != nil {
		return found, err
	}
	err = store.Run(s.Exec,
		store.Step{Text: store.RaiseVersion},
		store.Step{Text: `LOCK TABLE perk_stock, perks, categories, users, redemptions, idempotency_keys IN EXCLUSIVE MODE`},
		store.Step{Text: `LOCK TABLE clients, signing_keys, properties IN SHARE MODE`},
	)
	if err != nil {
		return found, err
	}
	return store.LiveRecordsIn(s)
}

// LiveRecordsAt is LiveRecords of the database at the address, which must be set up. It changes nothing, and migrates nothing.
func LiveRecordsAt(ctx context.Context, address string) (store.LiveRecords, error) {
	return readAt(ctx, "count the live records", address, func(q store.Querier) (store.LiveRecords, error) {
		found, err := store.LiveRecordsIn(q)
		return found, fault("count the live records", err)
	})
}

// errSeveralSchemas stops a search_path whose first schema lacks a table, so that the next one's, which may be live, would be
// emptied in its place.
var errSeveralSchemas = errors.New("the tables that the address leads to lie in several schemas; name the sandbox's alone in search_path")

func (s *session) requireOneSchema() error {
	schemas, err := store.One(s, store.ScanValue[int], `
		SELECT count(DISTINCT relnamespace) FROM pg_class WHERE oid IN (
			'migrations'::regclass, 'catalog'::regclass, 'audit'::regclass, 'clients'::regclass, 'signing_keys'::regclass, 'properties'::regclass,
			'perks'::regclass, 'perk_stock'::regclass, 'categories'::regclass, 'users'::regclass, 'redemptions'::regclass, 'idempotency_keys'::regclass)`)
	if err == nil && schemas != 1 {
		err = errSeveralSchemas
	}
	return err
}

// Empty deletes everything. The triggers that keep rows which others refer to are off until it is done, and only in this transaction.
func (s *session) Empty() (emptied store.Emptied, err error) {
	err = store.Run(s.Exec,
		store.Step{Text: `ALTER TABLE redemptions DISABLE TRIGGER redemptions_stay`},
		store.Step{Text: `ALTER TABLE perks DISABLE TRIGGER perks_stay`},
		store.Step{Text: `ALTER TABLE users DISABLE TRIGGER users_stay`},
		store.Step{Count: &emptied.IdempotencyKeys, Text: `DELETE FROM idempotency_keys`},
		store.Step{Count: &emptied.Redemptions, Text: `DELETE FROM redemptions`},
		store.Step{Text: `DELETE FROM perk_stock`},
		store.Step{Text: `DELETE FROM perk_folds`},
		store.Step{Count: &emptied.Perks, Text: `DELETE FROM perks`},
		store.Step{Count: &emptied.Categories, Text: `DELETE FROM categories`},
		store.Step{Count: &emptied.Users, Text: `DELETE FROM users`},
		store.Step{Text: `ALTER TABLE redemptions ENABLE TRIGGER redemptions_stay`},
		store.Step{Text: `ALTER TABLE perks ENABLE TRIGGER perks_stay`},
		store.Step{Text: `ALTER TABLE users ENABLE TRIGGER users_stay`},
	)
	return emptied, err
}
