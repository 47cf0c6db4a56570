package postgres

import (
	"context"
	"encoding/json"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

const redemptionColumns = `r.id, r.perk_id, r.user_id, r.redeemed_at, r.status, r.metadata`

func scanRedemption(r row) (redemption api.Redemption, err error) {
	var metadata string
	err = r.Scan(&redemption.ID, &redemption.PerkID, &redemption.UserID, &redemption.RedeemedAt, &redemption.Status, &metadata)
	redemption.RedeemedAt, redemption.Metadata = redemption.RedeemedAt.UTC(), json.RawMessage(metadata)
	return redemption, err
}

// scanRedemptionOrNil reads a redemption of an outer join.
func scanRedemptionOrNil(r row) (*api.Redemption, error) {
	var id, perk, user, status, metadata *string
	var at *time.Time
	if err := r.Scan(&id, &perk, &user, &at, &status, &metadata); err != nil || id == nil {
		return nil, err
	}
	return &api.Redemption{ID: *id, PerkID: *perk, UserID: *user, RedeemedAt: at.UTC(),
		Status: api.RedemptionStatus(*status), Metadata: json.RawMessage(*metadata)}, nil
}

// rowBefore is a row whose last columns are scanned elsewhere, so that the scan of the other columns can be shared.
type rowBefore struct {
	row
	last []any
}

func (r rowBefore) Scan(into ...any) error { return r.row.Scan(append(into, r.last...)...) }

// Redemption locks the perk's stock, as whoever decides or makes a redemption of it does. Which perk it is never changes, so
// that can be read before.
func (s *session) Redemption(id string) (api.Redemption, error) {
	missing := store.RedemptionNotFound(id)
	perkID, err := store.Found(missing, s, store.ScanValue[string], `SELECT perk_id FROM redemptions WHERE id = $1`, id)
	if err != nil {
		return api.Redemption{}, err
	}
	if err := s.exec(lockStock, perkID); err != nil {
		return api.Redemption{}, err
	}
	return store.Found(missing, s, scanRedemption, `SELECT `+redemptionColumns+` FROM redemptions AS r WHERE r.id = $1`, id)
}

func (s *session) PutStatus(r api.Redemption) error {
	return s.exec(`UPDATE redemptions SET status = $2 WHERE id = $1`, r.ID, string(r.Status))
}

func (s *session) GiveBack(r api.Redemption) error {
	return s.exec(`UPDATE perk_stock SET held = held - 1 WHERE perk_id = $1`, r.PerkID)
}

// PurgeIdempotencyKeys leaves keys that someone else is using or forgetting to them.
func (s *session) PurgeIdempotencyKeys(before time.Time, most int) (int64, error) {
	return s.execCount(`
		WITH old AS MATERIALIZED (
			SELECT client_id, key FROM idempotency_keys
			WHERE created_at < $1 ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
		DELETE FROM idempotency_keys AS k USING old WHERE k.client_id = old.client_id AND k.key = old.key`, before, most)
}

var redemptionSortColumns = map[string]sortColumn{
	"redeemed_at": {`r.redeemed_at`, false, true},
	"status":      {`r.status`, false, false},
	"perk_id":     {`r.perk_id`, false, false},
	"user_id":     {`r.user_id`, false, false},
	"id":          {`r.id`, false, false},
}

func (db *DB) ListRedemptions(ctx context.Context, query store.RedemptionQuery) (store.List[api.Redemption], error) {
	var list store.List[api.Redemption]
	page, err := redemptionPage(query.Sort)
	if err != nil {
		return list, err
	}
	err = db.read(ctx, "list redemptions", func(v view) (err error) {
		list.Total, err = store.Found(store.UserNotFound(query.UserID), v, store.ScanValue[int64], `
			SELECT count(*) FROM redemptions WHERE user_id = $1
			HAVING $2 OR EXISTS (SELECT 1 FROM users WHERE id = $1)`, query.UserID, query.AnyUser)
		if err != nil {
			return err
		}
		list.Items, err = store.All(v, scanRedemption, page, forTheseValues, query.UserID, query.Window.PerPage, query.Window.Offset())
		return err
	})
	if err != nil {
		return store.List[api.Redemption]{}, err
	}
	return list, nil
}

// redemptionPage reads a page of what a user, $1, has. By time it is walked to on an index; in another order all of it is
// sorted, and OFFSET 0 keeps PostgreSQL from looking for it among what everyone has.
func redemptionPage(sort []api.SortKey) (string, error) {
	order, err := orderBy(redemptionSortColumns, sort, `r.id`, false)
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
