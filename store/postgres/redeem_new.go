package postgres

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
)

// The attempts at a hot perk are nearly always alike: each is the first of a known user, under a new key. After a batch of such attempts the
// next one is supposed to be alike, at a perk that has not changed. So it is decided without reading anything, and written by a statement
// that checks the supposition, in one round trip with its COMMIT.

// errNotNew means that the supposition was wrong, and that the attempts must be looked up.
var errNotNew = errors.New("an attempt is not new, or the perk has changed")

// supposition is the perk that the next batch is supposed to find, or nil if that is to be looked up.
func (d *decision) supposition() *eligibility {
	if d.replays || d.refuses || len(d.newUsers) > 0 || len(d.expiredKeys) > 0 || len(d.perks) != 1 {
		return nil
	}
	for _, perk := range d.perks {
		return perk
	}
	return nil
}

// redeemNew is redeemBatch for attempts that are supposed to be new, at the perk. After errNotNew or errLocked nothing was written, unless
// it is the cause of a store.OutcomeUnknownError: then some of the attempts are made.
//
// It does not wait for the lock of the stock, because a caller who leaves meanwhile could not be told that nothing was started.
func (db *DB) redeemNew(ctx context.Context, attempts []store.RedeemAttempt, perk *eligibility, begin func(int) bool) (*decision, error) {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	perks := map[string]*eligibility{attempts[0].PerkID: perk}
	d := decide(attempts, batchState{perks: perks, attempts: slices.Repeat([]attemptState{{userKnown: true}}, len(attempts))}, begin)
	switch {
	case d.refuses:
		return nil, errNotNew
	case len(d.made) == 0: // all callers have left
		return d, nil
	}
	c, _, metadata := d.columns()
	made := 0
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(onlyIndexes)
	b.Queue(waitBriefly)
	b.Queue(lockStocks+` SKIP LOCKED`, c.perks[:1])
	b.Queue(insertNew, c.perks[0], c.ids, c.users, c.clients, c.times, metadata, c.keys, c.fingerprints, string(d.redemptions[0].Status),
		perk.ValidFrom, perk.ValidTo, string(perk.Approval), len(d.made),
	).QueryRow(func(r pgx.Row) error { return r.Scan(&made) })
	b.Queue(`COMMIT`)
	takeWarning(conn.Conn().PgConn())
	if err := orLocked(committed(conn.SendBatch(ctx, b).Close(), conn), false); err != nil {
		return nil, err
	}
	switch made {
	case len(d.made):
		return d, nil
	case 0:
		return nil, errNotNew
	}
	return nil, &store.OutcomeUnknownError{Cause: errNotNew}
}

// insertNew redeems what is new, all in one status, and returns how many those are. xmax shows that this transaction has the lock. It looks
// up each attempt separately, because a join would read whole indexes. It sorts keys, so that transactions cannot deadlock.
const insertNew = `
	WITH new AS MATERIALIZED (
		SELECT * FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::timestamptz[]), (SELECT $6::text[]),
			(SELECT $7::text[]), (SELECT $8::bytea[])) AS a (id, user_id, client_id, at, metadata, key, fingerprint)
		WHERE (SELECT p.id FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id
				WHERE p.id = $1 AND s.xmax = pg_current_xact_id_if_assigned()::xid AND (s.stock IS NULL OR s.stock - s.held >= $13::bigint)
					AND p.approval = $12 AND p.valid_from IS NOT DISTINCT FROM $10::timestamptz AND p.valid_to IS NOT DISTINCT FROM $11::timestamptz) IS NOT NULL
			AND (SELECT u.id FROM users AS u WHERE u.id = a.user_id) IS NOT NULL
			AND (SELECT r.id FROM redemptions AS r WHERE r.user_id = a.user_id AND r.perk_id = $1 AND r.status <> 'rejected') IS NULL
			AND (SELECT k.key FROM idempotency_keys AS k WHERE k.client_id = a.client_id AND k.key = a.key) IS NULL),
	made AS (
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
		SELECT id, $1::text, user_id, client_id, at, $9::text, $9, metadata FROM new),
	kept AS (
		INSERT INTO idempotency_keys (client_id, key, fingerprint, redemption_id, created_at)
		SELECT client_id, key, fingerprint, id, at FROM new WHERE key IS NOT NULL ORDER BY client_id, key),
	taken AS (UPDATE perk_stock SET held = held + (SELECT count(*) FROM new) WHERE perk_id = $1 AND EXISTS (SELECT FROM new))
	SELECT count(*) FROM new`
