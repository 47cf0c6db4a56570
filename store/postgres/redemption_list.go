package postgres

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionSortColumns = map[string]sortColumn{
	"redeemed_at": {`r.redeemed_at`, false, true},
	"status":      {`r.status`, false, false},
	"perk_id":     {`r.perk_id`, false, false},
	"user_id":     {`r.user_id`, false, false},
	"id":          {`r.id`, false, false},
}

// ListRedemptions returns one page of a user's redemptions in every status, or UserNotFound.
func (db *DB) ListRedemptions(ctx context.Context, query store.RedemptionQuery) (store.List[api.Redemption], error) {
	var list store.List[api.Redemption]
	page, err := redemptionPage(query.Sort)
	if err != nil {
		return list, err
	}
	err = db.read(ctx, "list redemptions", func(v view) (err error) {
		list.Total, err = found(store.UserNotFound(query.UserID), v, scanValue[int64], `
			SELECT count(*) FROM redemptions WHERE user_id = $1
			HAVING $2 OR EXISTS (SELECT 1 FROM users WHERE id = $1)`, query.UserID, query.AnyUser)
		if err != nil {
			return err
		}
		list.Items, err = all(v, scanRedemption, page, forTheseValues, query.UserID, query.Window.PerPage, query.Window.Offset())
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
