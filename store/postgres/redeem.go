package postgres

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/api"
	"example.com/perks/store"
)

// redeemReply is the outcome of one attempt.
type redeemReply struct {
	result store.RedeemResult
	err    error
}

// errLocked means that attempts were not decided, because others have locked what they need.
var errLocked = errors.New("another transaction has the lock")

// redeemBatch decides attempts in one transaction. No two of them have the same user, or the same client and key. The
// replies are durable when it returns. After an error nothing was written, or the outcome is unknown. It may be called
// again with the same attempts in any case, because each is recognized by its id. It calls begin just before it decides
// an attempt, and skips it if begin returns false.
//
// It locks the stock of the perks first, so that what it reads afterwards cannot change. Unless it waits for locks, the
// replies of attempts at a perk that others have locked are errLocked, and it returns errLocked if a user, a key or a
// table is locked for long. A transaction with a lock also waits for the standby when it commits, so that replayed
// redemptions are on the standby too before anyone is told of them.
func (db *DB) redeemBatch(
	ctx context.Context, attempts []store.RedeemAttempt, waits bool, begin func(int) bool,
) (*decision, error) {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release() // closes a connection in a transaction, which rolls it back
	b := &pgx.Batch{}
	queueBegin(b, db.settings)
	found, err := lockAndRead(ctx, conn, b, attempts, waits)
	for expired := 1; err == nil && expired > 0; {
		if expired, err = found.expire(openTx{view{ctx, conn}, conn}, attempts); err == nil && expired > 0 {
			found, err = lockAndRead(ctx, conn, &pgx.Batch{}, attempts, waits)
		}
	}
	if err != nil {
		return nil, orLocked(err, waits)
	}
	d := decide(attempts, found, begin)
	if len(d.made) == 0 && !d.replays { // refusals write nothing, and need not wait for the disk
		_, err := conn.Exec(ctx, `ROLLBACK`)
		return d, err
	}
	takeWarning(conn.Conn().PgConn())
	return d, orLocked(committed(conn.SendBatch(ctx, d.writes()).Close(), conn), waits)
}

// orLocked is errLocked in place of the error after a brief wait.
func orLocked(err error, waits bool) error {
	if !waits && sqlState(err) == stateLockTimeout {
		return errLocked
	}
	return err
}

// batchState is the perks and the attempts as the database knows them.
type batchState struct {
	perks    map[string]*eligibility // those that there are
	attempts []attemptState          // in the order of the attempts
}

// eligibility is the perk's part of store.Eligibility, and how many units are left.
type eligibility struct {
	store.Eligibility
	left      *int64 // nil means unlimited
	isHeld    bool   // by a redemption that has expired
	locked    bool   // by this transaction
	hasOthers bool   // an attempt of the batch was not new, see redeemNew
}

type attemptState struct {
	first       *api.Redemption // an earlier reply, by the attempt's key or else by its id
	key         []byte          // the fingerprint of the attempt's key; nil if the key is new
	keyExpired  bool            // to be deleted before its next use
	userKnown   bool
	userHasPerk bool
	hasExpired  bool // what the user has
}

// onlyIndexes prevents sequential scans, which a connection that planned while the tables were empty would use for
// ever: 800 redemptions a second instead of several thousand.
const onlyIndexes = `SET LOCAL enable_seqscan = off`

// lockStocks locks in an order, so that transactions cannot deadlock.
const lockStocks = `SELECT perk_id FROM perk_stock WHERE perk_id = ANY((SELECT $1::text[])::text[])
	ORDER BY perk_id FOR UPDATE`

const readEligibility = `
	SELECT p.id, p.valid_from, p.valid_to, p.approval, p.hold_seconds, s.stock - s.held,
		(SELECT r.id FROM redemptions AS r WHERE r.perk_id = p.id AND r.status = 'pending' AND r.expires_at <= $2
			LIMIT 1) IS NOT NULL
	FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id WHERE p.id = ANY((SELECT $1::text[])::text[])`

// readAttempts looks up each attempt separately. LIMIT 1 is redundant, but keeps the planner from reading a whole
// table. For the SELECT around lists see readPerks.
const readAttempts = `
	SELECT k.fingerprint, coalesce(k.expired, false), (SELECT u.id FROM users AS u WHERE u.id = a.user_id) IS NOT NULL,
		(SELECT coalesce(r.status = 'pending' AND r.expires_at <= a.at, false) FROM redemptions AS r
			WHERE r.user_id = a.user_id AND r.perk_id = a.perk_id AND r.status <> 'rejected'),
		f.id, f.perk_id, f.user_id, f.redeemed_at, f.first_status, f.metadata
	FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]), (SELECT $5::text[]),
		(SELECT $6::timestamptz[])) WITH ORDINALITY
		AS a (perk_id, id, user_id, client_id, key, at, number)
	LEFT JOIN LATERAL (
		SELECT fingerprint, redemption_id, created_at < a.at - $7::interval AS expired
		FROM idempotency_keys WHERE client_id = a.client_id AND key = a.key LIMIT 1) AS k ON true
	LEFT JOIN LATERAL (
		SELECT * FROM redemptions WHERE id = CASE WHEN NOT k.expired THEN k.redemption_id ELSE a.id END LIMIT 1
	) AS f ON true
	ORDER BY a.number`

// waitBriefly limits waiting for a user or a key that another transaction has just created. Most commit within a
// millisecond; an import may take minutes.
const waitBriefly = `SET LOCAL lock_timeout = '100ms'`

func lockAndRead(
	ctx context.Context, conn *pgxpool.Conn, b *pgx.Batch, attempts []store.RedeemAttempt, waits bool,
) (batchState, error) {
	f := batchState{perks: map[string]*eligibility{}}
	c := columnsOf(attempts)
	perks := slices.Compact(slices.Sorted(slices.Values(c.perks)))
	lock := lockStocks
	if !waits {
		lock += ` SKIP LOCKED`
	}
	locked := map[string]bool{}
	b.Queue(onlyIndexes)
	if !waits {
		b.Queue(waitBriefly)
	}
	b.Queue(lock, perks).Query(func(rows pgx.Rows) error {
		var id string
		_, err := pgx.ForEachRow(rows, []any{&id}, func() error { locked[id] = true; return nil })
		return err
	})
	b.Queue(readEligibility, perks, latest(attempts)).Query(func(rows pgx.Rows) error {
		var id string
		var read eligibility
		_, err := pgx.ForEachRow(rows, []any{&id, &read.ValidFrom, &read.ValidTo, &read.Approval, &read.HoldFor,
			&read.left, &read.isHeld},
			func() error {
				perk := read
				perk.locked = locked[id]
				f.perks[id] = &perk
				return nil
			})
		return err
	})
	b.Queue(readAttempts, c.perks, c.ids, c.users, c.clients, c.keys, c.times,
		store.IdempotencyKeyLife).Query(func(rows pgx.Rows) (err error) {
		f.attempts, err = pgx.CollectRows(rows, func(r pgx.CollectableRow) (f attemptState, err error) {
			var has *bool
			f.first, err = scanRedemptionOrNil(store.ScanAfter(r, &f.key, &f.keyExpired, &f.userKnown, &has))
			f.userHasPerk, f.hasExpired = has != nil, has != nil && *has
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

// openTx is the transaction that a connection is in.
type openTx struct {
	view
	conn *pgxpool.Conn
}

func (t openTx) Exec(text string, args ...any) (int64, error) {
	tag, err := t.conn.Exec(t.ctx, text, args...)
	return tag.RowsAffected(), err
}

// latest is the time of the last attempt.
func latest(attempts []store.RedeemAttempt) time.Time {
	return slices.MaxFunc(attempts, func(a, b store.RedeemAttempt) int { return a.At.Compare(b.At) }).At
}

// expire rejects redemptions that have expired and are in the way of the attempts.
func (f batchState) expire(tx store.Tx, attempts []store.RedeemAttempt) (expired int, err error) {
	wanted := map[string]int64{}
	for i, attempt := range attempts {
		perk := f.perks[attempt.PerkID]
		if perk == nil || !perk.locked {
			continue
		}
		wanted[attempt.PerkID]++
		userID := ""
		switch {
		case f.attempts[i].hasExpired:
			userID = attempt.UserID
		case !perk.isHeld || perk.left == nil || *perk.left >= wanted[attempt.PerkID]:
			continue
		}
		n, err := dialect.Expire(tx, latest(attempts), attempt.PerkID, userID)
		if err != nil {
			return expired, err
		}
		if expired += n; perk.left != nil {
			*perk.left += int64(n)
		}
		perk.isHeld = n > 0
	}
	return expired, nil
}

// scanRedemptionOrNil scans a redemption of an outer join.
func scanRedemptionOrNil(r row) (*api.Redemption, error) {
	var id, perk, user, status, metadata *string
	var at *time.Time
	if err := r.Scan(&id, &perk, &user, &at, &status, &metadata); err != nil || id == nil {
		return nil, err
	}
	return &api.Redemption{ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: *at,
		Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata)}, nil
}

// decision is the outcome of a batch.
type decision struct {
	perks       map[string]*eligibility // after the batch
	replies     []redeemReply
	made        []store.RedeemAttempt
	redemptions []api.Redemption      // made by the attempts of made
	expiries    []*time.Time          // of these
	expires     bool                  // one of these does
	newUsers    []store.RedeemAttempt // of made: those that create their user
	expiredKeys []store.RedeemAttempt // of made: those with an expired key
	replays     bool                  // there is a replay among the replies
	refuses     bool                  // there is a refusal among the replies
	undecided   int                   // how many replies are errLocked
}

// decide assigns what is left of the stocks to the attempts, in their order.
func decide(attempts []store.RedeemAttempt, f batchState, begin func(int) bool) *decision {
	d := &decision{perks: f.perks}
	for i, attempt := range attempts {
		perk := f.perks[attempt.PerkID]
		if perk != nil && !perk.locked {
			d.replies = append(d.replies, redeemReply{err: errLocked})
			d.undecided++
			perk.hasOthers = true
			continue
		}
		if !begin(i) {
			d.replies = append(d.replies, redeemReply{err: store.NotStarted(store.ErrCallerGone)})
			continue
		}
		known := f.attempts[i]
		reply := d.decideOne(attempt, known)
		d.replies, d.refuses = append(d.replies, reply), d.refuses || reply.err != nil
		if perk != nil && (reply.err != nil || known.first != nil || known.keyExpired || !known.userKnown) {
			perk.hasOthers = true
		}
	}
	return d
}

func (d *decision) decideOne(attempt store.RedeemAttempt, known attemptState) redeemReply {
	if known.key != nil && !known.keyExpired {
		if err := attempt.Key.Check(known.key); err != nil {
			return redeemReply{err: err}
		}
	}
	if known.first != nil {
		first, err := attempt.Replay(*known.first)
		d.replays = d.replays || err == nil
		return redeemReply{first, err}
	}
	perk := d.perks[attempt.PerkID]
	if perk == nil {
		return redeemReply{err: store.PerkNotFound(attempt.PerkID)}
	}
	eligibility := perk.Eligibility
	eligibility.UserKnown, eligibility.UserHasPerk, eligibility.SoldOut = known.userKnown, known.userHasPerk,
		perk.left != nil && *perk.left <= 0
	if err := eligibility.Refusal(attempt); err != nil {
		return redeemReply{err: err}
	}
	if perk.left != nil {
		*perk.left--
	}
	made := eligibility.Redemption(attempt)
	d.made, d.redemptions = append(d.made, attempt), append(d.redemptions, made)
	expiry := eligibility.ExpiresAt(made)
	d.expiries, d.expires = append(d.expiries, expiry), d.expires || expiry != nil
	if !known.userKnown {
		d.newUsers = append(d.newUsers, attempt)
	}
	if known.keyExpired {
		d.expiredKeys = append(d.expiredKeys, attempt)
	}
	return redeemReply{result: store.RedeemResult{Redemption: made}}
}

// writes is the statements that end the transaction. If another transaction, for another perk, has just used a key, all
// of it fails, and the retry finds the key.
func (d *decision) writes() *pgx.Batch {
	b := &pgx.Batch{}
	if len(d.newUsers) > 0 {
		d.queueUsers(b)
	}
	if len(d.expiredKeys) > 0 {
		c := columnsOf(d.expiredKeys)
		b.Queue(`
			DELETE FROM idempotency_keys AS k USING unnest((SELECT $1::text[]), (SELECT $2::text[]),
				(SELECT $3::timestamptz[])) AS a (client_id, key, at)
			WHERE k.client_id = a.client_id AND k.key = a.key AND k.created_at < a.at - $4::interval`,
			c.clients, c.keys, c.times, store.IdempotencyKeyLife)
	}
	if len(d.made) > 0 {
		d.queueRedemptions(b)
	}
	b.Queue(`COMMIT`)
	return b
}

// queueUsers comes before keys are written, and sorts the users, so that transactions for different perks cannot
// deadlock. A user that another transaction has just created is skipped.
func (d *decision) queueUsers(b *pgx.Batch) {
	c := columnsOf(d.newUsers)
	actors := make([]string, len(d.newUsers))
	for i, attempt := range d.newUsers {
		actors[i] = string(store.ClientActor(attempt.ClientID, attempt.Actor))
	}
	b.Queue(`
		WITH made AS (
			INSERT INTO users (id) SELECT id FROM unnest((SELECT $1::text[])) AS a (id) ORDER BY id
				ON CONFLICT (id) DO NOTHING RETURNING id)
		INSERT INTO audit (at, actor, action, subject, after)
		SELECT a.at, a.actor, $5::text, $6::text || a.id,
			json_build_object('id', a.id, 'redemption_id', a.redemption_id)::text
		FROM unnest((SELECT $1::text[]), (SELECT $2::timestamptz[]), (SELECT $3::text[]), (SELECT $4::text[]))
			AS a (id, at, actor, redemption_id)
		JOIN made ON made.id = a.id ORDER BY a.id`,
		c.users, c.times, actors, c.ids, store.ActionCreateUser, store.UserSubject(""))
}

func (d *decision) queueRedemptions(b *pgx.Batch) {
	c, statuses, metadata, expiries := d.columns()
	b.Queue(`
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata, actor,
			expires_at)
		SELECT id, perk_id, user_id, client_id, at, status, status, metadata, actor, expires_at
		FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::text[]), (SELECT $4::text[]),
			(SELECT $5::timestamptz[]), (SELECT $6::text[]), (SELECT $7::text[]), (SELECT $8::text[]),
			(SELECT $9::timestamptz[]))
			AS a (id, perk_id, user_id, client_id, at, status, metadata, actor, expires_at)`,
		c.ids, c.perks, c.users, c.clients, c.times, statuses, metadata, c.actors, expiries)
	if c.hasKeys {
		// Sorted, so that transactions cannot deadlock.
		b.Queue(`
			INSERT INTO idempotency_keys (client_id, key, fingerprint, redemption_id, created_at)
			SELECT client_id, key, fingerprint, id, at
			FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::bytea[]), (SELECT $4::text[]),
				(SELECT $5::timestamptz[])) AS a (client_id, key, fingerprint, id, at)
			WHERE key IS NOT NULL ORDER BY client_id, key`,
			c.clients, c.keys, c.fingerprints, c.ids, c.times)
	}
	d.queueMetadata(b)
	b.Queue(`
		UPDATE perk_stock AS s SET held = s.held + a.made
		FROM (SELECT perk_id, count(*) AS made FROM unnest((SELECT $1::text[])) AS a (perk_id) GROUP BY perk_id) AS a
			WHERE s.perk_id = a.perk_id`, c.perks)
}

// queueMetadata writes by what the redemptions are found, of those that were made. Those of an earlier try are there.
func (d *decision) queueMetadata(b *pgx.Batch) {
	var keys, values, ids []string
	var times []time.Time
	for i, attempt := range d.made {
		for _, searched := range attempt.Searched {
			keys, values = append(keys, searched.Key), append(values, searched.Value)
			ids, times = append(ids, attempt.ID), append(times, d.redemptions[i].RedeemedAt)
		}
	}
	if len(ids) == 0 {
		return
	}
	b.Queue(`
		INSERT INTO redemption_metadata (key, value, redeemed_at, redemption_id)
		SELECT key, value, at, id
		FROM unnest((SELECT $1::text[]), (SELECT $2::text[]), (SELECT $3::timestamptz[]), (SELECT $4::text[]))
			AS a (key, value, at, id)
		WHERE (SELECT r.id FROM redemptions AS r WHERE r.id = a.id) IS NOT NULL
		ON CONFLICT DO NOTHING`, keys, values, times, ids)
}

// columns is the redemptions made as columns.
func (d *decision) columns() (c attemptColumns, statuses, metadata []string, expiries []*time.Time) {
	for _, r := range d.redemptions {
		statuses, metadata = append(statuses, string(r.Status)), append(metadata, string(r.Metadata))
	}
	if d.expires { // unnest pads a missing column with nulls
		expiries = d.expiries
	}
	return columnsOf(d.made), statuses, metadata, expiries
}

// attemptColumns is attempts as columns, for unnest.
type attemptColumns struct {
	ids, perks, users, clients []string
	actors, keys               []*string
	fingerprints               [][]byte
	times                      []time.Time
	hasActors, hasKeys         bool
}

func columnsOf(attempts []store.RedeemAttempt) attemptColumns {
	var c attemptColumns
	for _, a := range attempts {
		c.ids, c.perks = append(c.ids, a.ID), append(c.perks, a.PerkID)
		c.users, c.clients = append(c.users, a.UserID), append(c.clients, a.ClientID)
		c.actors, c.hasActors = append(c.actors, store.OrNull(a.Actor)), c.hasActors || a.Actor != ""
		c.times = append(c.times, a.At.UTC().Truncate(time.Microsecond))
		var key *string
		var fingerprint []byte
		if a.Key != nil {
			key, fingerprint, c.hasKeys = &a.Key.Key, a.Key.Fingerprint[:], true
		}
		c.keys, c.fingerprints = append(c.keys, key), append(c.fingerprints, fingerprint)
	}
	if !c.hasKeys { // unnest pads a missing column with nulls
		c.keys, c.fingerprints = nil, nil
	}
	if !c.hasActors {
		c.actors = nil
	}
	return c
}
