package postgres

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

const perkColumns = `p.id, p.title, p.description, p.category, p.merchant_name, p.image_url, p.discount_text, p.terms,
	p.valid_from, p.valid_to, p.city, p.created_at, p.updated_at`

func scanPerk(r row) (p api.Perk, err error) {
	err = r.Scan(&p.ID, &p.Title, &p.Description, &p.Category, &p.MerchantName, &p.ImageURL, &p.DiscountText, &p.Terms,
		&p.ValidFrom, &p.ValidTo, &p.City, &p.CreatedAt, &p.UpdatedAt)
	p.ValidFrom, p.ValidTo = utcOrNil(p.ValidFrom), utcOrNil(p.ValidTo)
	p.CreatedAt, p.UpdatedAt = p.CreatedAt.UTC(), p.UpdatedAt.UTC()
	return p, err
}

// Perk returns one perk, whatever its dates and stock, or PerkNotFound.
func (db *DB) Perk(ctx context.Context, id string) (api.Perk, error) {
	return latest(ctx, db, "read a perk", func(v view) (api.Perk, error) {
		return found(store.PerkNotFound(id), v, scanPerk, `SELECT `+perkColumns+` FROM perks AS p WHERE p.id = $1`, id)
	})
}

func scanCategory(r row) (c api.Category, err error) { return c, r.Scan(&c.ID, &c.Name) }

// Categories returns all categories in the order of their folded names, then ids. Never nil.
func (db *DB) Categories(ctx context.Context) ([]api.Category, error) {
	return latest(ctx, db, "read the categories", func(v view) ([]api.Category, error) {
		return all(v, scanCategory, `SELECT id, name FROM categories ORDER BY name_fold, id`)
	})
}
