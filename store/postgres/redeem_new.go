package postgres

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
)

// The attempts at a perk are nearly always alike: each is the first of a known user, under a new key. After such
// attempts the next one at the perk is supposed to be alike, and the perk not to have changed. A batch of these is
// decided without reading anything, and written by a statement that checks the supposition for each attempt, in one
// round trip with its COMMIT.

// errNotNew means that the supposition was wrong, and that the attempts must be looked up.
var errNotNew = errors.New("an attempt is not new, or the perk has changed")

// maxSupposed is how many perks are remembered. Each takes some 300 bytes.
const maxSupposed = 10_000

// suppose remembers the perks of a batch at which all attempts were new, and forgets the others. Without a decision it
// forgets all.
func (r *redeemer) suppose(attempts []store.RedeemAttempt, d *decision) {
	if d == nil {
		for _, attempt := range attempts {
			r.supposed.Remove(attempt.PerkID)
		}
		return
	}
	for id, perk := range d.perks {
		if perk.hasOthers {
			r.supposed.Remove(id)
		} else {
			r.supposed.Add(id, perk)
		}
	}
}

// optimistic is the perks as the batch is supposed to find them, or nil if it has to be looked up.
func (r *redeemer) optimistic(batch []*queuedAttempt, perks []*perkQueue) map[string]*eligibility {
	if len(batch) == 1 { // so that a refusal takes one transaction
		return nil
	}
	supposed := map[string]*eligibility{}
	for _, queue := range perks {
		perk, known := r.supposed.Get(queue.perkID)
		if !known {
			return nil
		}
		supposed[queue.perkID] = perk
	}
	return supposed
}

// redeemNew is redeemBatch for attempts that are supposed to be new, at perks as they are supposed to be. Replies are
// errLocked where that is wrong, and for attempts at a perk that others have locked: nothing of these was written.
// After errNotNew or errLocked nothing was.
//
// It does not wait for the lock of the stock, because a caller who leaves meanwhile could not be told that nothing was
// started.
func (db *DB) redeemNew(
	ctx context.Context, attempts []store.RedeemAttempt, perks map[string]*eligibility, begin func(int) bool,
) (*decision, error) {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	d := decide(attempts, batchState{perks: perks,
		attempts: slices.Repeat([]attemptState{{userKnown: true}}, len(attempts))}, begin)
	switch {
	case d.refuses:
		return nil, errNotNew
	case len(d.made) == 0: // all callers have left
		return d, nil
	}
	c, statuses, metadata, expiries := d.columns()
	p := d.perkColumns()
	var made []string
	b := &pgx.Batch{}
	queueBegin(b, db.settings)
	b.Queue(onlyIndexes)
	b.Queue(waitBriefly)
	b.Queue(lockStocks+` SKIP LOCKED`, p.ids)
	b.Queue(insertNew, p.ids, p.attempts, p.approvals, p.from, p.to,
		c.ids, c.perks, c.users, c.clients, c.times, statuses, metadata, c.actors, c.keys,
		c.fingerprints, p.holds, expiries,
	).Query(func(rows pgx.Rows) (err error) {
		made, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	d.queueMetadata(b)
	b.Queue(`COMMIT`)
	takeWarning(conn.Conn().PgConn())
	if err := orLocked(committed(conn.SendBatch(ctx, b).Close(), conn), false); err != nil {
		return nil, err
	}
	if len(made) < len(d.made) {
		d.retract(attempts, made)
	}
	return d, nil
}

// retract replaces the replies to those attempts that are not made.
func (d *decision) retract(attempts []store.RedeemAttempt, made []string) {
	for i, attempt := range attempts {
		if d.replies[i].err == nil && !slices.Contains(made, attempt.ID) {
			d.replies[i] = redeemReply{err: errLocked}
			d.undecided++
			d.perks[attempt.PerkID].hasOthers = true
		}
	}
}

// perkColumns is what attempts suppose of their perks as columns, for unnest.
type perkColumns struct {
	ids, approvals []string
	attempts       []int64
	from, to       []*time.Time
	holds          []*int64
}

func (d *decision) perkColumns() (c perkColumns) {
	counts := map[string]int64{}
	for _, attempt := range d.made {
		counts[attempt.PerkID]++
	}
	for id, attempts := range counts {
		perk := d.perks[id]
		c.ids, c.attempts, c.approvals = append(c.ids, id), append(c.attempts, attempts),
			append(c.approvals, string(perk.Approval))
		c.from, c.to = append(c.from, perk.ValidFrom), append(c.to, perk.ValidTo)
		c.holds = append(c.holds, (*int64)(perk.HoldFor))
	}
	return c
}

// insertNew redeems what is new, and returns its ids. xmax shows that this transaction has the lock. It looks up each
// perk and attempt separately, because a join would read whole indexes. It sorts keys, so that transactions cannot
// deadlock.
const insertNew = `
	WITH unchanged AS MATERIALIZED (
		SELECT b.id FROM unnest((SELECT $1::text[]), (SELECT $2::bigint[]), (SELECT $3::text[]),
			(SELECT $4::timestamptz[]), (SELECT $5::timestamptz[]), (SELECT $16::bigint[]))
			AS b (id, attempts, approval, valid_from, valid_to, hold_seconds)
		WHERE (SELECT p.id FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id
				WHERE p.id = b.id AND s.xmax = pg_current_xact_id_if_assigned()::xid
					AND (s.stock IS NULL OR s.stock - s.held >= b.attempts) AND p.approval = b.approval
					AND p.hold_seconds IS NOT DISTINCT FROM b.hold_seconds
					AND p.valid_from IS NOT DISTINCT FROM b.valid_from
					AND p.valid_to IS NOT DISTINCT FROM b.valid_to) IS NOT NULL),
	new AS MATERIALIZED (
		SELECT * FROM unnest((SELECT $6::text[]), (SELECT $7::text[]), (SELECT $8::text[]), (SELECT $9::text[]),
			(SELECT $10::timestamptz[]),
			(SELECT $11::text[]), (SELECT $12::text[]), (SELECT $13::text[]), (SELECT $14::text[]),
			(SELECT $15::bytea[]), (SELECT $17::timestamptz[]))
			AS a (id, perk_id, user_id, client_id, at, status, metadata, actor, key, fingerprint, expires_at)
		WHERE a.perk_id = ANY (ARRAY (SELECT id FROM unchanged))
			AND (SELECT u.id FROM users AS u WHERE u.id = a.user_id) IS NOT NULL
			AND (SELECT r.id FROM redemptions AS r WHERE r.user_id = a.user_id AND r.perk_id = a.perk_id
				AND r.status <> 'rejected') IS NULL
			AND (SELECT k.key FROM idempotency_keys AS k WHERE k.client_id = a.client_id AND k.key = a.key) IS NULL),
	made AS (
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata, actor,
			expires_at)
		SELECT id, perk_id, user_id, client_id, at, status, status, metadata, actor, expires_at FROM new),
	kept AS (
		INSERT INTO idempotency_keys (client_id, key, fingerprint, redemption_id, created_at)
		SELECT client_id, key, fingerprint, id, at FROM new WHERE key IS NOT NULL ORDER BY client_id, key),
	taken AS (
		UPDATE perk_stock AS s SET held = s.held + n.made
		FROM (SELECT perk_id, count(*) AS made FROM new GROUP BY perk_id) AS n WHERE s.perk_id = n.perk_id)
	SELECT id FROM new`
