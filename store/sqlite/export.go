package sqlite

import (
	"context"
	"iter"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Each export is one query, and one query sees one moment.

// ExportPerks streams all perks in the order of their ids.
func (db *DB) ExportPerks(ctx context.Context) iter.Seq2[store.PerkRecord, error] {
	return faults("export perks", each(db.latest(ctx), scanPerkRecord, `
		SELECT p.lat, p.lng, s.stock, p.approval, `+perkColumns+`
		FROM perks AS p CROSS JOIN perk_stock AS s ON s.perk = p.row ORDER BY p.id`))
}

func scanPerkRecord(r row) (record store.PerkRecord, err error) {
	record.Perk, err = scanPerk(rowAfter{r, []any{&record.Lat, &record.Lng, &record.Stock, &record.Approval}})
	return record, err
}

// ExportCategories streams all categories in the order of their ids.
func (db *DB) ExportCategories(ctx context.Context) iter.Seq2[api.Category, error] {
	return faults("export categories", each(db.latest(ctx), scanCategory, `SELECT id, name FROM categories ORDER BY id`))
}

// ExportUsers streams all users in the order of their ids.
func (db *DB) ExportUsers(ctx context.Context) iter.Seq2[store.User, error] {
	return faults("export users", each(db.latest(ctx), func(r row) (u store.User, err error) {
		return u, r.Scan(&u.ID)
	}, `SELECT id FROM users ORDER BY id`))
}

// ExportProperties streams all properties in the order of their ids.
func (db *DB) ExportProperties(ctx context.Context) iter.Seq2[store.PropertyRecord, error] {
	return faults("export properties", each(db.latest(ctx), scanProperty, `SELECT `+propertyColumns+` FROM properties ORDER BY id`))
}

// ExportRedemptions streams the redemptions in one status, or all for "", in the order of their ids.
func (db *DB) ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[store.RedemptionRecord, error] {
	return faults("export redemptions", each(db.latest(ctx), scanRedemptionRecord, `
		SELECT r.client_id, `+redemptionColumns+` FROM redemptions AS r CROSS JOIN perks AS p ON p.row = r.perk
		WHERE ?1 = '' OR r.status = ?1 ORDER BY r.id`, string(status)))
}

func scanRedemptionRecord(r row) (record store.RedemptionRecord, err error) {
	record.Redemption, err = scanRedemption(rowAfter{r, []any{&record.ClientID}})
	return record, err
}

// rowAfter is a row whose first columns are scanned elsewhere, so that the scan of the other columns can be shared.
type rowAfter struct {
	row
	first []any
}

func (r rowAfter) Scan(into ...any) error { return r.row.Scan(append(r.first, into...)...) }

// faults passes records on, and errors as fault makes them.
func faults[T any](doing string, records iter.Seq2[T, error]) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for record, err := range records {
			if !yield(record, fault(doing, err)) {
				return
			}
		}
	}
}
