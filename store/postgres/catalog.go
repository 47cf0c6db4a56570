package postgres

import (
	"context"

	"example.com/perks/api"
)

func scanCategory(r row) (c api.Category, err error) { return c, r.Scan(&c.ID, &c.Name) }

// Categories returns all categories in the order of their folded names, then ids. Never nil.
func (db *DB) Categories(ctx context.Context) ([]api.Category, error) {
	return latest(ctx, db, "read the categories", func(v view) ([]api.Category, error) {
		return all(v, scanCategory, `SELECT id, name FROM categories ORDER BY name_fold, id`)
	})
}
