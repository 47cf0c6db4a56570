package sqlite

import (
	"context"
	"database/sql"
	"iter"
	"time"

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

func (db *DB) Perk(ctx context.Context, id string) (api.Perk, error) {
	perk, err := store.Found(store.PerkNotFound(id), db.latest(ctx), scanPerk,
		`SELECT `+perkColumns+` FROM perks AS p WHERE p.id = ?`, id)
	return perk, fault("read a perk", err)
}

func scanCategory(r row) (c api.Category, err error) { return c, r.Scan(&c.ID, &c.Name) }

func (db *DB) Categories(ctx context.Context) ([]api.Category, error) {
	categories, err := store.All(db.latest(ctx), scanCategory, `SELECT id, name FROM categories ORDER BY name_fold, id`)
	return categories, fault("read the categories", err)
}

// view reads what is committed, bounded by a context: as of one moment in a transaction, or as of each query.
type view struct {
	ctx  context.Context
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

func (v view) Query(text string, args ...any) (store.Rows, error) {
	return v.from.QueryContext(v.ctx, text, args...)
}

// read gives work a view of one moment.
func (db *DB) read(ctx context.Context, doing string, work func(view) error) error {
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fault(doing, err)
	}
	defer tx.Rollback()
	return fault(doing, work(view{ctx, tx}))
}

// latest reads what was committed last. It is enough for a single query.
func (db *DB) latest(ctx context.Context) view { return view{ctx, db.readers} }

// write runs work in a transaction of the writer and returns when it is durable.
func (db *DB) write(ctx context.Context, doing string, work func(*session) error) error {
	return db.writer.do(&job{ctx: ctx, work: func(s *session) error { return fault(doing, work(s)) }})
}

func (db *DB) writeTx(ctx context.Context, doing string, work func(store.Tx) error) error {
	return db.write(ctx, doing, func(s *session) error { return work(s) })
}

// writeAlone runs prepare, which locks nothing, and then work in a transaction beside which this process writes nothing else. Both
// have a connection of their own.
func (db *DB) writeAlone(ctx context.Context, doing, whose string, prepare, work func(*session) error) error {
	s, err := db.file.session(ctx)
	if err != nil {
		return fault(doing, err)
	}
	defer func() {
		if closeErr := s.close(); closeErr != nil {
			db.log.Warn("the connection of "+whose+" did not close", "error", closeErr)
		}
	}()
	if err := prepare(s); err != nil {
		return fault(doing, err)
	}
	return fault(doing, db.writer.doAlone(ctx, func() error { return s.inTransaction(func() error { return work(s) }) }))
}

// row is one row of a result, to be scanned.
type row = store.Scanner

func fromMicros(micros int64) time.Time { return time.UnixMicro(micros).UTC() }

func fromMicrosOrNil(micros *int64) *time.Time {
	if micros == nil {
		return nil
	}
	t := fromMicros(*micros)
	return &t
}

func microsOrNil(t *time.Time) *int64 {
	if t == nil {
		return nil
	}
	micros := t.UnixMicro()
	return &micros
}

// Each export is one query, and one query sees one moment.

func (db *DB) ExportPerks(ctx context.Context) iter.Seq2[store.PerkRecord, error] {
	return faults("export perks", store.Each(db.latest(ctx), scanPerkRecord, `
		SELECT p.lat, p.lng, s.stock, p.approval, `+perkColumns+`
		FROM perks AS p CROSS JOIN perk_stock AS s ON s.perk = p.row ORDER BY p.id`))
}

func scanPerkRecord(r row) (record store.PerkRecord, err error) {
	record.Perk, err = scanPerk(rowAfter{r, []any{&record.Lat, &record.Lng, &record.Stock, &record.Approval}})
	return record, err
}

func (db *DB) ExportCategories(ctx context.Context) iter.Seq2[api.Category, error] {
	return faults("export categories", store.Each(db.latest(ctx), scanCategory, `SELECT id, name FROM categories ORDER BY id`))
}

func (db *DB) ExportUsers(ctx context.Context) iter.Seq2[store.User, error] {
	return faults("export users", store.Each(db.latest(ctx), func(r row) (u store.User, err error) {
		return u, r.Scan(&u.ID)
	}, `SELECT id FROM users ORDER BY id`))
}

func (db *DB) ExportProperties(ctx context.Context) iter.Seq2[store.PropertyRecord, error] {
	return faults("export properties", store.Each(db.latest(ctx), scanProperty, `SELECT `+propertyColumns+` FROM properties ORDER BY id`))
}

func (db *DB) ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[store.RedemptionRecord, error] {
	return faults("export redemptions", store.Each(db.latest(ctx), scanRedemptionRecord, `
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
