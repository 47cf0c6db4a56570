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
		emptied, err = db.EmptySandbox(s, by, at)
		return err
	})
	if err != nil {
		return store.Emptied{}, err
	}
	if emptied.All() >= manyRecords {
		db.vacuum(ctx, `perks, perk_folds, perk_stock, categories, users, redemptions, redemption_metadata,
			idempotency_keys`)
	}
	return emptied, nil
}

// lockSandbox blocks all writers to the sandbox, but no readers. It takes locks in the order of the others, so that
// nobody deadlocks: imports lock the catalog first, and redemptions and decisions the stock. EXCLUSIVE also blocks
// those who only lock a row of the stock, before they have read anything.
func lockSandbox(tx store.Tx) error {
	if err := requireOneSchema(tx); err != nil {
		return err
	}
	return store.Run(tx.Exec,
		store.Step{Text: store.RaiseVersion},
		store.Step{Text: `LOCK TABLE perk_stock, perks, categories, users, redemptions, idempotency_keys
			IN EXCLUSIVE MODE`},
		store.Step{Text: `LOCK TABLE clients, signing_keys, properties IN SHARE MODE`},
	)
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

func requireOneSchema(q store.Querier) error {
	schemas, err := store.One(q, store.ScanValue[int], `
		SELECT count(DISTINCT relnamespace) FROM pg_class WHERE oid IN (
			SELECT name::regclass FROM unnest(ARRAY['migrations', 'catalog', 'audit', 'clients', 'signing_keys',
				'properties', 'perks', 'perk_stock', 'categories', 'users', 'redemptions', 'idempotency_keys'])
				AS name)`)
	if err == nil && schemas != 1 {
		err = errSeveralSchemas
	}
	return err
}

// unprotected disables the triggers that protect referenced rows, only within this transaction.
func unprotected(tx store.Tx, work func() error) error {
	triggers := func(change string) error {
		return store.Run(tx.Exec,
			store.Step{Text: `ALTER TABLE redemptions ` + change + ` TRIGGER redemptions_stay`},
			store.Step{Text: `ALTER TABLE perks ` + change + ` TRIGGER perks_stay`},
			store.Step{Text: `ALTER TABLE users ` + change + ` TRIGGER users_stay`},
		)
	}
	if err := triggers(`DISABLE`); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return triggers(`ENABLE`)
}
