package postgres

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

var redemptionSortColumns = map[string]sortColumn{
	"redeemed_at": {`r.redeemed_at`, false},
	"status":      {`r.status`, false},
	"perk_id":     {`r.perk_id`, false},
}

// ListRedemptions returns one page of a user's redemptions in every status, or UserNotFound.
func (db *DB) ListRedemptions(ctx context.Context, query store.RedemptionQuery) (store.List[api.Redemption], error) {
	var list store.List[api.Redemption]
	order, err := orderBy(redemptionSortColumns, query.Sort, `r.id`, false)
	if err != nil {
		return list, err
	}
	err = db.read(ctx, "list redemptions", func(v view) (err error) {
		list.Total, err = found(store.UserNotFound(query.UserID), v, scanValue[int64], `
			SELECT (SELECT count(*) FROM redemptions WHERE user_id = u.id) FROM users AS u WHERE u.id = $1`, query.UserID)
		if err != nil {
			return err
		}
		list.Items, err = all(v, scanRedemption, `
			SELECT `+redemptionColumns+` FROM `+redemptionsOf(query.Sort)+` AS r
			ORDER BY `+order+` LIMIT $2 OFFSET $3`,
			forTheseValues, query.UserID, query.Window.PerPage, query.Window.Offset())
		return err
	})
	if err != nil {
		return store.List[api.Redemption]{}, err
	}
	return list, nil
}

// redemptionsOf is the rows of one user. By time they are walked on an index to the page; in other orders all of them are
// sorted, and OFFSET 0 keeps PostgreSQL from looking for them among everyone's.
func redemptionsOf(sort []api.SortKey) string {
	if len(sort) > 0 && sort[0].Field == "redeemed_at" {
		return `(SELECT * FROM redemptions WHERE user_id = $1)`
	}
	return `(SELECT * FROM redemptions WHERE user_id = $1 OFFSET 0)`
}
