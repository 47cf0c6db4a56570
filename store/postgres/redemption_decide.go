package postgres

import (
	"context"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// DecideRedemption turns a pending redemption into approved or rejected; rejected gives stock and the user's place back.
func (db *DB) DecideRedemption(ctx context.Context, id string, status api.RedemptionStatus, by store.Actor, at time.Time) (api.Redemption, error) {
	action, err := store.DecisionAction(status)
	if err != nil {
		return api.Redemption{}, err
	}
	return writeFor(ctx, db, "decide a redemption", func(s *session) (api.Redemption, error) {
		before, err := s.lockPendingRedemption(id)
		if err != nil {
			return api.Redemption{}, err
		}
		if err := s.exec(`UPDATE redemptions SET status = $2 WHERE id = $1`, id, string(status)); err != nil {
			return api.Redemption{}, err
		}
		if status == api.StatusRejected {
			if err := s.exec(`UPDATE perk_stock SET held = held - 1 WHERE perk_id = $1`, before.PerkID); err != nil {
				return api.Redemption{}, err
			}
		}
		after := before
		after.Status = status
		return after, s.audit(at, by, action, store.RedemptionSubject(id), before, after)
	})
}

// lockPendingRedemption reads a redemption that no one else can decide before the end of the transaction, because whoever
// does locks the perk's stock. Which perk it is never changes, so that can be read before.
func (s *session) lockPendingRedemption(id string) (api.Redemption, error) {
	missing := store.RedemptionNotFound(id)
	perkID, err := found(missing, s, scanValue[string], `SELECT perk_id FROM redemptions WHERE id = $1`, id)
	if err != nil {
		return api.Redemption{}, err
	}
	if err := s.exec(lockStock, perkID); err != nil {
		return api.Redemption{}, err
	}
	redemption, err := found(missing, s, scanRedemption, `SELECT `+redemptionColumns+` FROM redemptions AS r WHERE r.id = $1`, id)
	if err == nil && redemption.Status != api.StatusPending {
		err = store.RedemptionDecided(id, redemption.Status)
	}
	return redemption, err
}

// purgeChunk keeps each transaction short, and few of its rows in the way of others.
const purgeChunk = 2000

// PurgeIdempotencyKeys forgets the keys first used before the instant and returns how many there were. Keys that someone
// else is using or forgetting are left to them.
func (db *DB) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	var purged int64
	for {
		n, err := writeFor(ctx, db, "forget idempotency keys", func(s *session) (int64, error) {
			return s.execCount(`
				WITH old AS MATERIALIZED (
					SELECT client_id, key FROM idempotency_keys
					WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
				DELETE FROM idempotency_keys AS k USING old WHERE k.client_id = old.client_id AND k.key = old.key`, before, purgeChunk)
		})
		purged += n
		if err != nil || n < purgeChunk {
			return purged, err
		}
	}
}
