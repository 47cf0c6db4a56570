package postgres

import (
	"context"
	"iter"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Each export is one query, and one query sees one moment.

// ExportPerks streams all perks in the order of their ids.
func (db *DB) ExportPerks(ctx context.Context) iter.Seq2[store.PerkRecord, error] {
	return stream(ctx, db, "export perks", scanPerkRecord, `
		SELECT `+perkColumns+`, p.lat, p.lng, s.stock, p.approval
		FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id ORDER BY p.id`)
}

func scanPerkRecord(r row) (record store.PerkRecord, err error) {
	record.Perk, err = scanPerk(rowBefore{r, []any{&record.Lat, &record.Lng, &record.Stock, &record.Approval}})
	return record, err
}

// ExportCategories streams all categories in the order of their ids.
func (db *DB) ExportCategories(ctx context.Context) iter.Seq2[api.Category, error] {
	return stream(ctx, db, "export categories", scanCategory, `SELECT id, name FROM categories ORDER BY id`)
}

// ExportUsers streams all users in the order of their ids.
func (db *DB) ExportUsers(ctx context.Context) iter.Seq2[store.User, error] {
	return stream(ctx, db, "export users", func(r row) (u store.User, err error) {
		return u, r.Scan(&u.ID)
	}, `SELECT id FROM users ORDER BY id`)
}

// ExportProperties streams all properties in the order of their ids.
func (db *DB) ExportProperties(ctx context.Context) iter.Seq2[store.PropertyRecord, error] {
	return stream(ctx, db, "export properties", scanProperty, `SELECT `+propertyColumns+` FROM properties ORDER BY id`)
}

const exportRedemptions = `SELECT ` + redemptionColumns + `, r.client_id FROM redemptions AS r`

// ExportRedemptions streams the redemptions in one status, or all for "", in the order of their ids.
func (db *DB) ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[store.RedemptionRecord, error] {
	const doing = "export redemptions"
	if status == "" {
		return stream(ctx, db, doing, scanRedemptionRecord, exportRedemptions+` ORDER BY r.id`)
	}
	return stream(ctx, db, doing, scanRedemptionRecord, exportRedemptions+` WHERE r.status = $1 ORDER BY r.id`, string(status))
}

func scanRedemptionRecord(r row) (record store.RedemptionRecord, err error) {
	record.Redemption, err = scanRedemption(rowBefore{r, []any{&record.ClientID}})
	return record, err
}
