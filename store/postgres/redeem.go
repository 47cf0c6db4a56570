package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/api"
	"example.com/perks/store"
)

// decideOne is what one attempt comes to.
type redeemReply struct {
	result store.RedeemResult
	err    error
}

// redeemBatch replies attempts in one transaction. They are of one perk, and no two of them are of one user or under
// one key of one client. The replies are durable when it returns; after an error nothing of them is, or no one knows. It
// may be called again with the same attempts whatever became of it before, because each is recognised by its id. Just before
// an attempt is decided begin is asked by its place; where it is false, nothing is done for it.
//
// The perk's stock is locked first and everything else is read after that, so what is read stays true until the commit.
// The lock has a second use: a transaction that holds one waits for the standby when it commits, even if all it found
// are redemptions that an earlier attempt made, so that those too are on the standby before anyone is told of them.
func (db *DB) redeemBatch(ctx context.Context, attempts []store.RedeemAttempt, begin func(int) bool) ([]redeemReply, error) {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // a connection that is still in a transaction is closed, which rolls it back
	found, err := lockAndRead(ctx, conn, attempts)
	if err != nil {
		return nil, err
	}
	decision := decide(attempts, found, begin)
	if len(decision.made) == 0 && !decision.replays { // refusals abandon no trace, and need not wait for the disk
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return decision.replies, err
	}
	takeWarning(conn.Conn().PgConn())
	if err := committed(conn.SendBatch(ctx, decision.writes()).Close(), conn); err != nil {
		return nil, err
	}
	return decision.replies, nil
}

// batchState is what the database knows about a perk and the attempts to redeem it.
type batchState struct {
	perk     *eligibility   // nil when there is no such perk
	attempts []attemptState // of each attempt
}

// perk is a perk's terms and how many units are left of it.
type eligibility struct {
	store.Eligibility
	left *int64 // nil without limit
}

type attemptState struct {
	first       *api.Redemption // as the first answer showed it, under the attempt's key or, without one, under its id
	key         []byte          // the fingerprint under the attempt's key; nil when the key is free
	keyExpired  bool            // a key past its life is as if it were never used, but still in the way
	userKnown   bool
	userHasPerk bool
}

// onlyIndexes keeps plans right that a connection made while a table was small, and keeps for as long as it lives. Without
// it a shop that opens with empty tables made 800 redemptions a second where it now makes several thousand.
const onlyIndexes = `SET LOCAL enable_seqscan = off`

const lockStock = `SELECT 1 FROM perk_stock WHERE perk_id = $1 FOR UPDATE`

const readEligibility = `
	SELECT p.valid_from, p.valid_to, p.approval, s.stock - s.held
	FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id WHERE p.id = $1`

// readAttempts looks each attempt up on its own: every LIMIT 1 is a row that is unique anyway, and keeps the planner from
// reading a whole table once for all of them. The lists come by a SELECT here and below for the reason that readPerks gives.
const readAttempts = `
	SELECT k.fingerprint, coalesce(k.is_over, false), (SELECT u.id FROM users AS u WHERE u.id = a.user_id) IS NOT NULL,
		(SELECT r.id FROM redemptions AS r WHERE r.user_id = a.user_id AND r.perk_id = $1 AND r.status <> 'rejected') IS NOT NULL,
		f.id, f.perk_id, f.user_id, f.redeemed_at, f.first_status, f.metadata
	FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::text[]), (SELECT $6::timestamptz[])) WITH ORDINALITY
		AS a (id, user_id, client_id, key, at, place)
	LEFT JOIN LATERAL (
		SELECT fingerprint, redemption_id, created_at < a.at - $7::interval AS is_over
		FROM idempotency_keys WHERE client_id = a.client_id AND key = a.key LIMIT 1) AS k ON true
	LEFT JOIN LATERAL (
		SELECT * FROM redemptions WHERE id = CASE WHEN NOT k.is_over THEN k.redemption_id ELSE a.id END LIMIT 1) AS f ON true
	ORDER BY a.place`

func lockAndRead(ctx context.Context, conn *pgxpool.Conn, attempts []store.RedeemAttempt) (batchState, error) {
	var f batchState
	perkID := attempts[0].PerkID
	c := columnsOf(attempts)
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL READ COMMITTED`)
	b.Queue(onlyIndexes)
	b.Queue(lockStock, perkID)
	b.Queue(readEligibility, perkID).Query(func(rows pgx.Rows) (err error) {
		f.perk, err = pgx.CollectOneRow(rows, func(r pgx.CollectableRow) (*eligibility, error) {
			var o eligibility
			return &o, r.Scan(&o.ValidFrom, &o.ValidTo, &o.Approval, &o.left)
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	b.Queue(readAttempts, perkID, c.ids, c.users, c.clients, c.keys, c.times, store.IdempotencyKeyLife).Query(func(rows pgx.Rows) (err error) {
		f.attempts, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (f attemptState, err error) {
			f.first, err = scanRedemptionOrNil(store.ScanAfter(r, &f.key, &f.keyExpired, &f.userKnown, &f.userHasPerk))
			return f, err
		})
		return err
	})
	if err := conn.SendBatch(ctx, b).Close(); err != nil {
		return f, err
	}
	if len(f.attempts) != len(attempts) {
		return f, fmt.Errorf("%d attempts were looked up, and %d found", len(attempts), len(f.attempts))
	}
	return f, nil
}

// scanRedemptionOrNil reads a redemption of an outer join.
func scanRedemptionOrNil(r row) (*api.Redemption, error) {
	var id, perk, user, status, metadata *string
	var at *time.Time
	if err := r.Scan(&id, &perk, &user, &at, &status, &metadata); err != nil || id == nil {
		return nil, err
	}
	return &api.Redemption{ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: *at,
		Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata)}, nil
}

// decision is what a transaction replies and writes.
type decision struct {
	perkID      string
	replies     []redeemReply
	made        []store.RedeemAttempt
	redemptions []api.Redemption      // what each of made becomes
	newUsers    []store.RedeemAttempt // of made: those that make their user too
	expiredKeys []store.RedeemAttempt // of made: those whose key is there and over
	replays     bool                  // an answer was given before
}

// decide lets the attempts that begin have what is left, in their order.
func decide(attempts []store.RedeemAttempt, f batchState, begin func(int) bool) *decision {
	d := &decision{perkID: attempts[0].PerkID}
	for i, attempt := range attempts {
		if !begin(i) {
			d.replies = append(d.replies, redeemReply{err: store.NotBegun(store.ErrCallerGone)})
			continue
		}
		d.replies = append(d.replies, d.decideOne(attempt, f.attempts[i], f.perk))
	}
	return d
}

func (d *decision) decideOne(attempt store.RedeemAttempt, known attemptState, perk *eligibility) redeemReply {
	if known.key != nil && !known.keyExpired {
		if fits, err := attempt.Key.Matches(known.key); err != nil {
			return redeemReply{err: err}
		} else if !fits {
			return redeemReply{err: store.IdempotencyKeyReused(attempt.Key.Key)}
		}
	}
	if first := known.first; first != nil {
		if first.ID == attempt.ID && (first.PerkID != attempt.PerkID || first.UserID != attempt.UserID) {
			return redeemReply{err: fmt.Errorf("the id %q of a new redemption is already used", attempt.ID)}
		}
		d.replays = true
		return redeemReply{result: store.RedeemResult{Redemption: *first, Replayed: first.ID != attempt.ID}}
	}
	if perk == nil {
		return redeemReply{err: store.PerkNotFound(attempt.PerkID)}
	}
	terms := perk.Eligibility
	terms.UserKnown, terms.UserHasPerk, terms.SoldOut = known.userKnown, known.userHasPerk, perk.left != nil && *perk.left <= 0
	if err := terms.Refusal(attempt); err != nil {
		return redeemReply{err: err}
	}
	if perk.left != nil {
		*perk.left--
	}
	made := terms.Redemption(attempt)
	d.made, d.redemptions = append(d.made, attempt), append(d.redemptions, made)
	if !known.userKnown {
		d.newUsers = append(d.newUsers, attempt)
	}
	if known.keyExpired {
		d.expiredKeys = append(d.expiredKeys, attempt)
	}
	return redeemReply{result: store.RedeemResult{Redemption: made}}
}

// writes ends the transaction. A key that another transaction took meanwhile, for another perk, fails all of it; tried
// again, it is found taken.
func (d *decision) writes() *pgx.Batch {
	b := &pgx.Batch{}
	if len(d.newUsers) > 0 {
		d.queueUsers(b)
	}
	if len(d.expiredKeys) > 0 {
		c := columnsOf(d.expiredKeys)
		b.Queue(`
			DELETE FROM idempotency_keys AS k USING unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::timestamptz[])) AS a (client_id, key, at)
			WHERE k.client_id = a.client_id AND k.key = a.key AND k.created_at < a.at - $4::interval`,
			c.clients, c.keys, c.times, store.IdempotencyKeyLife)
	}
	if len(d.made) > 0 {
		d.queueRedemptions(b)
	}
	b.Queue(`COMMIT`)
	return b
}

// queueUsers comes before keys are touched, and takes the users in one order, so that transactions about different perks
// never wait for each other in a circle. A user whom another one made meanwhile is there when this one's turn comes.
func (d *decision) queueUsers(b *pgx.Batch) {
	c := columnsOf(d.newUsers)
	b.Queue(`
		WITH made AS (
			INSERT INTO users (id) SELECT id FROM unnest((SELECT $1::text[])) AS a (id) ORDER BY id ON CONFLICT (id) DO NOTHING RETURNING id)
		INSERT INTO audit (at, actor, action, subject, after)
		SELECT a.at, $5::text || a.client_id, $6::text, $7::text || a.id, json_build_object('id', a.id, 'redemption_id', a.redemption_id)::text
		FROM unnest((SELECT $1::text[]), (SELECT $2::timestamptz[]), (SELECT $3::text[]), (SELECT $4::text[])) AS a (id, at, client_id, redemption_id)
		JOIN made ON made.id = a.id ORDER BY a.id`,
		c.users, c.times, c.clients, c.ids, string(store.ClientActor("")), store.ActionCreateUser, store.UserSubject(""))
}

func (d *decision) queueRedemptions(b *pgx.Batch) {
	c := columnsOf(d.made)
	var statuses, metadata []string
	for _, r := range d.redemptions {
		statuses, metadata = append(statuses, string(r.Status)), append(metadata, string(r.Metadata))
	}
	b.Queue(`
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
		SELECT id, $1::text, user_id, client_id, at, status, status, metadata
		FROM unnest((SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::timestamptz[]), (SELECT $6::text[]), (SELECT $7::text[]))
			AS a (id, user_id, client_id, at, status, metadata)`,
		d.perkID, c.ids, c.users, c.clients, c.times, statuses, metadata)
	if c.hasKeys {
		// In one order everywhere, so that two transactions never wait for each other's keys.
		b.Queue(`
			INSERT INTO idempotency_keys (client_id, key, fingerprint, redemption_id, created_at)
			SELECT client_id, key, fingerprint, id, at
			FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::bytea[]), (SELECT $4::text[]), (SELECT $5::timestamptz[])) AS a (client_id, key, fingerprint, id, at)
			WHERE key IS NOT NULL ORDER BY client_id, key`,
			c.clients, c.keys, c.fingerprints, c.ids, c.times)
	}
	b.Queue(`UPDATE perk_stock SET held = held + $2 WHERE perk_id = $1`, d.perkID, len(d.made))
}

// attemptColumns is attempts turned on their side, as unnest takes them.
type attemptColumns struct {
	ids, users, clients []string
	keys                []*string
	fingerprints        [][]byte
	times               []time.Time
	hasKeys             bool
}

func columnsOf(attempts []store.RedeemAttempt) attemptColumns {
	var c attemptColumns
	for _, a := range attempts {
		c.ids, c.users, c.clients = append(c.ids, a.ID), append(c.users, a.UserID), append(c.clients, a.ClientID)
		c.times = append(c.times, a.At.UTC().Truncate(time.Microsecond))
		var key *string
		var fingerprint []byte
		if a.Key != nil {
			key, fingerprint, c.hasKeys = &a.Key.Key, a.Key.Fingerprint[:], true
		}
		c.keys, c.fingerprints = append(c.keys, key), append(c.fingerprints, fingerprint)
	}
	return c
}

const redemptionColumns = `r.id, r.perk_id, r.user_id, r.redeemed_at, r.status, r.metadata`

// Redemption locks the perk's stock, as whoever decides or makes a redemption of it does. Which perk it is never changes, so
// that can be read before.
func (s *session) Redemption(id string) (api.Redemption, error) {
	missing := store.RedemptionNotFound(id)
	perkID, err := store.OneOr(missing, s, store.ScanValue[string], `SELECT perk_id FROM redemptions WHERE id = $1`, id)
	if err != nil {
		return api.Redemption{}, err
	}
	if err := s.exec(lockStock, perkID); err != nil {
		return api.Redemption{}, err
	}
	return store.OneOr(missing, s, store.ScanRedemption, `SELECT `+redemptionColumns+` FROM redemptions AS r WHERE r.id = $1`, id)
}

func (s *session) GiveBack(r api.Redemption) error {
	return s.exec(`UPDATE perk_stock SET held = held - 1 WHERE perk_id = $1`, r.PerkID)
}

// PurgeIdempotencyKeys leaves keys that someone else is using or forgetting to them.
func (s *session) PurgeIdempotencyKeys(before time.Time, most int) (int64, error) {
	return s.Exec(`
		WITH old AS MATERIALIZED (
			SELECT client_id, key FROM idempotency_keys
			WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		DELETE FROM idempotency_keys AS k USING old WHERE k.client_id = old.client_id AND k.key = old.key`, before, most)
}

var redemptionOrder = store.RedemptionOrder(`r.perk_id`)

// redemptionPage reads a page of what a user, $1, has. By time it is walked to on an index; in another order all of it is
// sorted, and OFFSET 0 keeps PostgreSQL from looking for it among what everyone has.
func redemptionPage(sort []api.SortKey) (string, error) {
	order, err := redemptionOrder.By(sort, false)
	if err != nil {
		return "", err
	}
	offset := ``
	if len(sort) == 0 || sort[0].Field != "redeemed_at" {
		offset = ` OFFSET 0`
	}
	return `SELECT ` + redemptionColumns + ` FROM (SELECT * FROM redemptions WHERE user_id = $1` + offset + `) AS r
		ORDER BY ` + order + ` LIMIT $2 OFFSET $3`, nil
}
