package sqlite

import (
	"context"

	"example.com/perks/api"
	"example.com/perks/store"
)

const perkColumns = `p.id, p.title, p.description, p.category, p.merchant_name, p.image_url, p.discount_text, p.terms,
	p.valid_from, p.valid_to, p.city, p.created_at, p.updated_at`

func scanPerk(r row) (p api.Perk, err error) {
	var from, to *int64
	var created, updated int64
	err = r.Scan(&p.ID, &p.Title, &p.Description, &p.Category, &p.MerchantName, &p.ImageURL, &p.DiscountText, &p.Terms,
		&from, &to, &p.City, &created, &updated)
	p.ValidFrom, p.ValidTo = fromMicrosOrNil(from), fromMicrosOrNil(to)
	p.CreatedAt, p.UpdatedAt = fromMicros(created), fromMicros(updated)
	return p, err
}

// Perk returns one perk, whatever its dates and stock, or PerkNotFound.
func (db *DB) Perk(ctx context.Context, id string) (api.Perk, error) {
	perk, err := found(store.PerkNotFound(id), db.latest(ctx), scanPerk,
		`SELECT `+perkColumns+` FROM perks AS p WHERE p.id = ?`, id)
	return perk, fault("read a perk", err)
}

func scanCategory(r row) (c api.Category, err error) { return c, r.Scan(&c.ID, &c.Name) }

// Categories returns all categories in the order of their folded names, then ids. Never nil.
func (db *DB) Categories(ctx context.Context) ([]api.Category, error) {
	categories, err := all(db.latest(ctx), scanCategory, `SELECT id, name FROM categories ORDER BY name_fold, id`)
	return categories, fault("read the categories", err)
}
