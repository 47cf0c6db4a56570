package sqlite

import (
	"context"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionSortColumns = map[string]sortColumn{
	"redeemed_at": {`r.redeemed_at`, false},
	"status":      {`r.status`, false},
	"perk_id":     {`p.id`, false},
	"user_id":     {`r.user_id`, false},
	"id":          {`r.id`, false},
}

// ListRedemptions returns one page of a user's redemptions in every status, or UserNotFound.
func (db *DB) ListRedemptions(ctx context.Context, query store.RedemptionQuery) (store.List[api.Redemption], error) {
	list := store.List[api.Redemption]{Items: []api.Redemption{}}
	order, err := orderBy(redemptionSortColumns, query.Sort, `r.id`, false)
	if err != nil {
		return list, err
	}
	err = db.read(ctx, "list redemptions", func(v view) (err error) {
		if err := requireUser(v, query.UserID, query.AnyUser); err != nil {
			return err
		}
		list.Total, err = one(v, scanValue[int64], `SELECT count(*) FROM redemptions WHERE user_id = ?`, query.UserID)
		if err != nil {
			return err
		}
		list.Items, err = all(v, scanRedemption, `
			SELECT `+redemptionColumns+` FROM redemptions AS r JOIN perks AS p ON p.row = r.perk
			WHERE r.user_id = ? ORDER BY `+order+` LIMIT ? OFFSET ?`,
			query.UserID, query.Window.PerPage, query.Window.Offset())
		return err
	})
	if err != nil {
		return store.List[api.Redemption]{}, err
	}
	return list, nil
}

// DecideRedemption turns a pending redemption into approved or rejected; rejected gives stock and the user's place back.
func (db *DB) DecideRedemption(ctx context.Context, id string, status api.RedemptionStatus, by store.Actor, at time.Time) (api.Redemption, error) {
	action, err := store.DecisionAction(status)
	if err != nil {
		return api.Redemption{}, err
	}
	return writeFor(ctx, db, "decide a redemption", func(s *session) (api.Redemption, error) {
		before, err := s.pendingRedemption(id)
		if err != nil {
			return api.Redemption{}, err
		}
		if err := s.exec(`UPDATE redemptions SET status = ? WHERE id = ?`, string(status), id); err != nil {
			return api.Redemption{}, err
		}
		if status == api.StatusRejected {
			if err := s.exec(`UPDATE perk_stock SET held = held - 1 WHERE perk = (SELECT perk FROM redemptions WHERE id = ?)`, id); err != nil {
				return api.Redemption{}, err
			}
		}
		after := before
		after.Status = status
		return after, s.audit(at, by, action, store.RedemptionSubject(id), before, after)
	})
}

func (s *session) pendingRedemption(id string) (api.Redemption, error) {
	redemption, err := found(store.RedemptionNotFound(id), s, scanRedemption, `
		SELECT `+redemptionColumns+` FROM redemptions AS r JOIN perks AS p ON p.row = r.perk WHERE r.id = ?`, id)
	if err == nil && redemption.Status != api.StatusPending {
		err = store.RedemptionDecided(id, redemption.Status)
	}
	return redemption, err
}

// purgeChunk keeps each transaction short: other writes go in between.
const purgeChunk = 2000

// PurgeIdempotencyKeys forgets the keys first used before the instant and returns how many there were.
func (db *DB) PurgeIdempotencyKeys(ctx context.Context, before time.Time) (int64, error) {
	var purged int64
	for {
		n, err := writeFor(ctx, db, "forget idempotency keys", func(s *session) (int64, error) {
			return s.execCount(`
				DELETE FROM idempotency_keys WHERE (client_id, key) IN (
					SELECT client_id, key FROM idempotency_keys WHERE created_at < ? LIMIT ?)`, before.UnixMicro(), purgeChunk)
		})
		purged += n
		if err != nil || n < purgeChunk {
			return purged, err
		}
	}
}
