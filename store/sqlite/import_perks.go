package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/store"
)

// perkFields are the columns of perks that come from a record as they are, but for the category.
const perkFields = `id, valid_from, valid_to, lat, lng, cell, approval, title_fold, category_fold, merchant_name_fold,
	city_fold, title, merchant_name, city, image_url, discount_text, description, terms`

// stagedPerks lays down records with what goes to other tables too; created_at and updated_at are null when they were not
// given. When the records are merged, placed says for each which row of perks it is.
const stagedPerks = `
	CREATE TEMP TABLE staged AS SELECT 0 AS line, 0 AS absent, ` + perkFields + `, category, created_at, updated_at FROM perks WHERE false;
	ALTER TABLE temp.staged ADD COLUMN stock INTEGER;
	ALTER TABLE temp.staged ADD COLUMN words TEXT;
	CREATE UNIQUE INDEX temp.staged_by_id ON staged (id);
	CREATE TEMP TABLE placed (staged INTEGER PRIMARY KEY, perk INTEGER, known INTEGER, created_at INTEGER, stock INTEGER)`

// ImportPerks adds perks and updates those that are known, which keep what is held of their stock.
func (db *DB) ImportPerks(ctx context.Context, rows iter.Seq2[store.PerkRecord, error], newID func() string, by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, "import perks", staging[store.PerkRecord]{
		entry: store.Import{Action: store.ActionImportPerks, Subject: store.PerksSubject, By: by, At: at},
		table: stagedPerks,
		add: func(s *session, perk store.PerkRecord) error {
			if perk.ID == "" {
				perk.ID = newID()
			}
			return stagePerk(s, nil, perk)
		},
		merge: func(s *session) (created, changed int64, err error) { return mergePerks(s, by, at) },
	}, rows)
}

// stagePerk puts a record into its row, or without one behind all others. It replaces one of the same id.
func stagePerk(s *session, row any, p store.PerkRecord) error {
	keys := p.Keys()
	return s.exec(`INSERT OR REPLACE INTO staged (rowid, line, absent, `+perkFields+`, category, created_at, updated_at, stock, words)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		row, p.Row.Line, int64(p.Row.Absent), p.ID, microsOrNil(p.ValidFrom), microsOrNil(p.ValidTo), p.Lat, p.Lng, keys.Cell, string(cmp.Or(p.Approval, store.ApprovalAuto)),
		keys.Title, keys.Category, keys.MerchantName, keys.City,
		p.Title, p.MerchantName, p.City, p.ImageURL, p.DiscountText, p.Description, p.Terms,
		p.Category, microsOrNilIfZero(p.CreatedAt), microsOrNilIfZero(p.UpdatedAt), p.Stock, strings.Join(keys.Words, " "))
}

func microsOrNilIfZero(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	return microsOrNil(&t)
}

var partialPerks = partials[store.PerkRecord]{
	kind: store.PerkKind, put: stagePerk, scan: scanPerkRecord, table: `perks`, lacks: `absent`,
	known: `
		SELECT new.rowid, new.line, new.absent, new.lat, new.lng, new.stock, new.approval, ` + stagedPerkColumns.Replace(perkColumns) + `,
			p.lat, p.lng, stock.stock, p.approval, ` + perkColumns + `
		FROM staged AS new CROSS JOIN perks AS p ON p.id = new.id CROSS JOIN perk_stock AS stock ON stock.perk = p.row
		WHERE new.absent <> 0 AND new.rowid > ? ORDER BY new.rowid LIMIT ?`,
}

// stagedPerkColumns makes perkColumns of what is staged. Go's zero time stands for one that was not given.
var stagedPerkColumns = strings.NewReplacer(
	"p.created_at", fmt.Sprintf("ifnull(new.created_at, %d)", time.Time{}.UnixMicro()),
	"p.updated_at", fmt.Sprintf("ifnull(new.updated_at, %d)", time.Time{}.UnixMicro()), "p.", "new.")

// mergePerks leaves only those staged that are new or become different.
func mergePerks(s *session, by store.Actor, at time.Time) (created, changed int64, err error) {
	if err := makeWhole(s, partialPerks); err != nil {
		return 0, 0, err
	}
	if err := mergePerkCategories(s); err != nil {
		return 0, 0, err
	}
	if err := runAll(s, nameCategories, dropUnchangedPerks); err != nil {
		return 0, 0, err
	}
	if err := s.exec(auditPerks, at.UnixMicro(), string(by), store.ActionUpdatePerk, store.PerkSubjectPrefix); err != nil {
		return 0, 0, err
	}
	all, err := s.execCount(`
		INSERT INTO placed
			SELECT s.rowid, ifnull(p.row, (SELECT ifnull(max(row), 0) FROM perks) + s.rowid), p.row IS NOT NULL, p.created_at, s.stock
			FROM staged AS s LEFT JOIN perks AS p ON p.id = s.id`)
	if err != nil {
		return 0, 0, err
	}
	if changed, err = s.execCount(`DELETE FROM perk_words WHERE rowid IN (SELECT perk FROM placed WHERE known)`); err != nil {
		return 0, 0, err
	}
	if err := mergePerkRows(s, at); err != nil {
		return 0, 0, err
	}
	return all - changed, changed, runAll(s,
		`INSERT INTO perk_stock (perk, stock) SELECT perk, stock FROM placed WHERE true
			ON CONFLICT (perk) DO UPDATE SET stock = excluded.stock`,
		`INSERT INTO perk_words (rowid, words)
			SELECT placed.perk, s.words FROM staged AS s JOIN placed ON placed.staged = s.rowid`,
		raiseVersion,
	)
}

const (
	// nameCategories gives every record its category's name as the category itself writes it.
	nameCategories = `
		UPDATE staged SET category = (
			SELECT c.name FROM categories AS c WHERE c.name_fold = staged.category_fold ORDER BY c.name = staged.category DESC, c.id LIMIT 1)
		WHERE category IS NOT NULL`

	comparedPerkFields = perkFields + `, category`

	// auditPerks keeps what redemptions depend on and the API does not show.
	auditPerks = `
		INSERT INTO audit (at, actor, action, subject, before, after)
		SELECT ?1, ?2, ?3, ?4 || new.id, json_object('stock', stock.stock, 'approval', old.approval),
			json_object('stock', new.stock, 'approval', new.approval)
		FROM staged AS new CROSS JOIN perks AS old ON old.id = new.id CROSS JOIN perk_stock AS stock ON stock.perk = old.row
		WHERE (stock.stock, old.approval) IS NOT (new.stock, new.approval) ORDER BY new.rowid`
)

var dropUnchangedPerks = `
	DELETE FROM staged AS new WHERE EXISTS (
		SELECT 1 FROM perks AS old JOIN perk_stock AS stock ON stock.perk = old.row
		WHERE old.id = new.id AND (` + of("old", comparedPerkFields) + `, stock.stock) IS (` + of("new", comparedPerkFields) + `, new.stock)
			AND old.created_at = ifnull(new.created_at, old.created_at) AND old.updated_at = ifnull(new.updated_at, old.updated_at))`

// mergePerkRows makes the indexes anew when most of their entries are: sorting entries is several times faster than
// looking up a place for each.
func mergePerkRows(s *session, at time.Time) error {
	put := func() error { return s.exec(putPerks, at.UnixMicro()) }
	bulk, err := one(s, scanValue[bool], `SELECT 4 * (SELECT count(*) FROM staged) > (SELECT ifnull(max(row), 0) FROM perks) + 10000`)
	if err != nil {
		return err
	}
	if !bulk {
		return put()
	}
	return s.withoutIndexes("perks", put)
}

const putPerks = `
	INSERT INTO perks (row, created_at, updated_at, category, ` + perkFields + `)
	SELECT placed.perk, coalesce(s.created_at, placed.created_at, ?1), ifnull(s.updated_at, ?1), category, ` + perkFields + `
	FROM staged AS s JOIN placed ON placed.staged = s.rowid WHERE true
	ON CONFLICT (row) DO UPDATE SET
		created_at = excluded.created_at, updated_at = excluded.updated_at, valid_from = excluded.valid_from,
		valid_to = excluded.valid_to, lat = excluded.lat, lng = excluded.lng, cell = excluded.cell,
		approval = excluded.approval, title_fold = excluded.title_fold, category_fold = excluded.category_fold,
		merchant_name_fold = excluded.merchant_name_fold, city_fold = excluded.city_fold, title = excluded.title,
		category = excluded.category, merchant_name = excluded.merchant_name, city = excluded.city,
		image_url = excluded.image_url, discount_text = excluded.discount_text, description = excluded.description,
		terms = excluded.terms`

// mergePerkCategories makes the categories that are not known yet, in the order in which the records name them.
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
	return nil
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
