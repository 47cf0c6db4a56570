package sqlite

import (
	"context"
	"iter"
	"strings"
	"time"

	"example.com/perks/store"
)

// perkFields are the columns of perks that come from a record as they are.
const perkFields = `id, valid_from, valid_to, lat, lng, cell, approval, title_fold, category_fold, merchant_name_fold,
	city_fold, title, category, merchant_name, city, image_url, discount_text, description, terms`

// stagedPerks has what perks has, and what goes to other tables. A given created_at or updated_at is kept; row and known
// are found out when the records are merged.
const stagedPerks = `
	CREATE TEMP TABLE staged AS SELECT ` + perkFields + `, created_at, updated_at FROM perks WHERE false;
	ALTER TABLE temp.staged ADD COLUMN stock INTEGER;
	ALTER TABLE temp.staged ADD COLUMN words TEXT;
	ALTER TABLE temp.staged ADD COLUMN row INTEGER;
	ALTER TABLE temp.staged ADD COLUMN known INTEGER;
	CREATE UNIQUE INDEX temp.staged_by_id ON staged (id)`

const stagePerk = `INSERT OR REPLACE INTO staged (` + perkFields + `, created_at, updated_at, stock, words)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// ImportPerks adds perks and updates those that are known, which keep what is held of their stock.
func (db *DB) ImportPerks(ctx context.Context, rows iter.Seq2[store.PerkRecord, error], newID func() string, at time.Time) (int64, error) {
	return importRecords(ctx, db, "import perks", staging[store.PerkRecord]{
		table: stagedPerks,
		add: func(s *session, perk store.PerkRecord) error {
			if perk.ID == "" {
				perk.ID = newID()
			}
			return s.exec(stagePerk, stagedPerkValues(perk)...)
		},
		merge: func(s *session) error { return mergePerks(s, at) },
	}, rows)
}

func stagedPerkValues(p store.PerkRecord) []any {
	if p.Approval == "" {
		p.Approval = store.ApprovalAuto
	}
	return []any{
		p.ID, microsOrNil(p.ValidFrom), microsOrNil(p.ValidTo), p.Lat, p.Lng, cellOrNil(p.Lat, p.Lng), string(p.Approval),
		store.Fold(p.Title), foldOrNil(p.Category), foldOrNil(p.MerchantName), store.Fold(p.City),
		p.Title, p.Category, p.MerchantName, p.City, p.ImageURL, p.DiscountText, p.Description, p.Terms,
		microsOrNilIfZero(p.CreatedAt), microsOrNilIfZero(p.UpdatedAt), p.Stock, perkWords(p),
	}
}

func cellOrNil(lat, lng *float64) *int {
	if lat == nil || lng == nil {
		return nil
	}
	cell := store.Cell(*lat, *lng)
	return &cell
}

func foldOrNil(text *string) *string {
	if text == nil {
		return nil
	}
	folded := store.Fold(*text)
	return &folded
}

func microsOrNilIfZero(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return microsOrNil(&t)
}

func perkWords(p store.PerkRecord) string {
	text := p.Title + " " + p.Description
	if p.MerchantName != nil {
		text += " " + *p.MerchantName
	}
	return strings.Join(store.Words(text), " ")
}

func mergePerks(s *session, at time.Time) error {
	if err := s.exec(`
		UPDATE staged SET row = p.row, known = true, created_at = ifnull(staged.created_at, p.created_at)
		FROM perks AS p WHERE p.id = staged.id`); err != nil {
		return err
	}
	if err := s.exec(`
		UPDATE staged SET row = (SELECT ifnull(max(row), 0) FROM perks) + rowid
		WHERE known IS NULL`); err != nil {
		return err
	}
	if err := s.exec(`UPDATE staged SET created_at = ifnull(created_at, ?1), updated_at = ifnull(updated_at, ?1)`, at.UnixMicro()); err != nil {
		return err
	}
	if err := mergePerkCategories(s); err != nil {
		return err
	}
	return runAll(s,
		`DELETE FROM perk_words WHERE rowid IN (SELECT row FROM staged WHERE known)`,
		putPerks,
		`INSERT INTO perk_stock (perk, stock) SELECT row, stock FROM staged WHERE true
			ON CONFLICT (perk) DO UPDATE SET stock = excluded.stock`,
		`INSERT INTO perk_words (rowid, words) SELECT row, words FROM staged ORDER BY row`,
		raiseVersion,
	)
}

const putPerks = `
	INSERT INTO perks (row, created_at, updated_at, ` + perkFields + `)
	SELECT row, created_at, updated_at, ` + perkFields + ` FROM staged WHERE true
	ON CONFLICT (row) DO UPDATE SET
		created_at = excluded.created_at, updated_at = excluded.updated_at, valid_from = excluded.valid_from,
		valid_to = excluded.valid_to, lat = excluded.lat, lng = excluded.lng, cell = excluded.cell,
		approval = excluded.approval, title_fold = excluded.title_fold, category_fold = excluded.category_fold,
		merchant_name_fold = excluded.merchant_name_fold, city_fold = excluded.city_fold, title = excluded.title,
		category = excluded.category, merchant_name = excluded.merchant_name, city = excluded.city,
		image_url = excluded.image_url, discount_text = excluded.discount_text, description = excluded.description,
		terms = excluded.terms`

// mergePerkCategories makes the categories that are not known yet, in the order in which the records name them, and
// gives every perk its category's name as the category itself has it.
func mergePerkCategories(s *session) error {
	names, err := all(s, func(r row) (name string, err error) {
		var first int64
		return name, r.Scan(&name, &first)
	}, `SELECT category, min(rowid) FROM staged
		WHERE category IS NOT NULL AND category_fold NOT IN (SELECT name_fold FROM categories)
		GROUP BY category_fold ORDER BY min(rowid)`)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := makeCategory(s, name); err != nil {
			return err
		}
	}
	return s.exec(`
		UPDATE staged SET category = (
			SELECT c.name FROM categories AS c WHERE c.name_fold = staged.category_fold
			ORDER BY c.name = staged.category DESC, c.id LIMIT 1)
		WHERE category IS NOT NULL`)
}

func makeCategory(s *session, name string) error {
	var failure error
	id := store.CategoryID(name, func(id string) bool {
		taken, err := one(s, scanValue[bool], `SELECT EXISTS (SELECT 1 FROM categories WHERE lower(id) = ?)`, id)
		failure = err
		return taken && err == nil
	})
	if failure != nil {
		return failure
	}
	return s.exec(`INSERT INTO categories (id, name, name_fold) VALUES (?, ?, ?)`, id, name, store.Fold(name))
}
