package postgres

import (
	"context"
	"errors"
	"time"

	"example.com/perks/store"
)

// Reset deletes rows. TRUNCATE would be faster, but it waits for every reader, makes all others wait for it, and
// empties the tables for readers whose snapshot still has the rows.
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

// LockSandbox blocks all writers to the sandbox, but no readers. It takes locks in the order of the others, so that
// nobody deadlocks: imports lock the catalog first, and redemptions and decisions the stock. EXCLUSIVE also blocks
// those who only lock a row of the stock, before they have read anything.
func (s *session) LockSandbox() (found store.LiveRecords, err error) {
	if err := s.requireOneSchema(); err != nil {
		return found, err
	}
	err = store.Run(s.Exec,
		store.Step{Text: store.RaiseVersion},
		store.Step{Text: `LOCK TABLE perk_stock, perks, categories, users, redemptions, idempotency_keys
			IN EXCLUSIVE MODE`},
		store.Step{Text: `LOCK TABLE clients, signing_keys, properties IN SHARE MODE`},
	)
	if err != nil {
		return found, err
	}
	return store.LiveRecordsIn(s)
}

// LiveRecordsAt counts the records that only a live database has in the one at the address, which must be migrated. It
// changes nothing.
func LiveRecordsAt(ctx context.Context, address string) (store.LiveRecords, error) {
	return readAt(ctx, "count the live records", address, func(q store.Querier) (store.LiveRecords, error) {
		found, err := store.LiveRecordsIn(q)
		return found, fault("count the live records", err)
	})
}

// errSeveralSchemas refuses a search_path whose first schema lacks a table: that of the next schema, which may be live,
// would be emptied instead.
var errSeveralSchemas = errors.New("the tables of this address are in several schemas; name only the sandbox's " +
	"schema in search_path")

func (s *session) requireOneSchema() error {
	schemas, err := store.One(s, store.ScanValue[int], `
		SELECT count(DISTINCT relnamespace) FROM pg_class WHERE oid IN (
			SELECT name::regclass FROM unnest(ARRAY['migrations', 'catalog', 'audit', 'clients', 'signing_keys',
				'properties', 'perks', 'perk_stock', 'categories', 'users', 'redemptions', 'idempotency_keys'])
				AS name)`)
	if err == nil && schemas != 1 {
		err = errSeveralSchemas
	}
	return err
}

// Empty deletes everything. It disables the triggers that protect referenced rows, only within this transaction.
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
