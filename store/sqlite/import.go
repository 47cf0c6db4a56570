package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
)

// staging says how the records of one kind are laid down before they are merged.
type staging[T any] struct {
	table string // makes the temporary table "staged", in which a record replaces an earlier one of its id
	add   func(*session, T) error
	merge func(*session) (created, changed int64, err error) // runs in one transaction and brings what is staged into the database
}

// importRecords lays the records down in a temporary table of a connection of its own, which locks nothing however slowly
// they come, and merges them in one transaction.
func importRecords[T any](ctx context.Context, db *DB, what store.Import, staging staging[T], records iter.Seq2[T, error]) (store.Imported, error) {
	var imported store.Imported
	stage := func(s *session) error {
		if err := s.script(staging.table + `; BEGIN`); err != nil {
			return err
		}
		count := 0
		for record, err := range records {
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			count++
			if err := staging.add(s, record); err != nil {
				return fmt.Errorf("take record %d: %w", count, err)
			}
		}
		return s.exec(`COMMIT`)
	}
	merge := func(s *session) (err error) {
		if imported.Count, err = store.One(s, store.ScanValue[int64], `SELECT count(*) FROM staged`); err != nil {
			return err
		}
		if imported.Created, imported.Changed, err = staging.merge(s); err != nil {
			return err
		}
		imported.Unchanged = imported.Count - imported.Created - imported.Changed
		return what.Audit(s, imported)
	}
	if err := db.writeAlone(ctx, "import "+what.Records, "an import", stage, merge); err != nil {
		return store.Imported{}, err
	}
	return imported, nil
}

// partials says how staged records of a kind are made whole. The table "staged" has line and absent of their store.Row.
type partials[T store.Overlay[T]] struct {
	kind  store.Kind
	put   func(s *session, row any, record T) error // in place of what is staged
	scan  func(row) (T, error)
	known string // selects what store.ScanPartial reads, of the staged records that are not whole: after a rowid, and so many
	table string // where the kind's records are
	lacks string // of absent, what a new record cannot do without
}

// madeWholeAtOnce is how many records are read before they are written.
const madeWholeAtOnce = 1000

// makeWhole gives the staged records of known ids the fields that their rows leave open. Rows for which that cannot be done are refused.
func makeWhole[T store.Overlay[T]](s *session, p partials[T]) error {
	missing := store.Each(s, p.kind.ScanMissing, `
		SELECT line, id, `+p.lacks+` AS lacks FROM staged
		WHERE lacks & ? <> 0 AND id NOT IN (SELECT id FROM `+p.table+`) ORDER BY rowid`, int64(p.kind.Needs()))
	known := func(yield func(store.Partial[T], error) bool) {
		for last := int64(0); ; {
			rows, err := store.All(s, store.ScanPartial(p.scan), p.known, last, madeWholeAtOnce)
			if err != nil {
				yield(store.Partial[T]{}, err)
			}
			if len(rows) == 0 {
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
				last = row.Place
			}
		}
	}
	return store.MakeWhole(known, missing, func(place int64, record T) error { return p.put(s, place, record) })
}

func (db *DB) ImportUsers(ctx context.Context, rows iter.Seq2[store.User, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "users", By: by, At: at}, staging[store.User]{
		table: `CREATE TEMP TABLE staged (id TEXT PRIMARY KEY) STRICT, WITHOUT ROWID`,
		add: func(s *session, user store.User) error {
			return s.exec(`INSERT OR REPLACE INTO staged VALUES (?)`, user.ID)
		},
		merge: func(s *session) (created, changed int64, err error) {
			created, err = s.execCount(`INSERT INTO users SELECT id FROM staged WHERE true ON CONFLICT (id) DO NOTHING`)
			return created, 0, err
		},
	}, rows)
}

func (db *DB) ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "categories", By: by, At: at}, staging[api.Category]{
		table: `CREATE TEMP TABLE staged (id TEXT PRIMARY KEY, name TEXT NOT NULL, name_fold TEXT NOT NULL) STRICT`,
		add: func(s *session, category api.Category) error {
			return s.exec(`INSERT OR REPLACE INTO staged VALUES (?, ?, ?)`, category.ID, category.Name, store.Fold(category.Name))
		},
		merge: mergeCategories,
	}, rows)
}

// mergeCategories lets perks follow their category to its new name. Of several categories of one name, perks belong to
// the one with the lowest id.
func mergeCategories(s *session) (created, changed int64, err error) {
	err = store.Run(s.execCount,
		store.Step{Text: `
			CREATE TEMP TABLE renamed AS
				SELECT old.name_fold AS old_fold, new.name, new.name_fold
				FROM categories AS old JOIN staged AS new ON new.id = old.id
				WHERE new.name <> old.name AND old.id = (SELECT min(id) FROM categories WHERE name_fold = old.name_fold)`},
		store.Step{Count: &changed, Text: `
			UPDATE categories AS old SET name = new.name, name_fold = new.name_fold
			FROM staged AS new WHERE old.id = new.id AND old.name <> new.name`},
		store.Step{Count: &created, Text: `
			INSERT INTO categories (id, name, name_fold) SELECT id, name, name_fold FROM staged WHERE true ON CONFLICT (id) DO NOTHING`},
		store.Step{Text: `
			UPDATE perks SET category = renamed.name, category_fold = renamed.name_fold
			FROM renamed WHERE perks.category_fold = renamed.old_fold`},
		store.Step{Text: raiseVersion},
	)
	return created, changed, err
}

// raiseVersion ends every change of perks or categories.
const raiseVersion = `UPDATE catalog SET version = version + 1`

func (db *DB) ImportProperties(ctx context.Context, rows iter.Seq2[store.PropertyRecord, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "properties", By: by, At: at}, staging[store.PropertyRecord]{
		table: `CREATE TEMP TABLE staged AS SELECT 0 AS line, 0 AS absent, * FROM properties WHERE false;
			CREATE UNIQUE INDEX temp.staged_by_id ON staged (id)`,
		add:   func(s *session, property store.PropertyRecord) error { return stageProperty(s, nil, property) },
		merge: mergeProperties,
	}, rows)
}

// stageProperty puts a record into its row, or without one behind all others. It replaces one of the same id.
func stageProperty(s *session, row any, property store.PropertyRecord) error {
	return s.exec(`INSERT OR REPLACE INTO staged (rowid, line, absent, `+propertyColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append([]any{row, property.Row.Line, int64(property.Row.Absent)}, propertyValues(property)...)...)
}

var partialProperties = partials[store.PropertyRecord]{
	kind: store.PropertyKind, put: stageProperty, scan: scanProperty, table: `properties`,
	lacks: fmt.Sprintf(`CASE WHEN owner = '' THEN absent ELSE absent & ~%d END`, store.OwnerField),
	known: `
		SELECT new.rowid, new.line, new.absent, ` + of("new", propertyColumns) + `, ` + of("old", propertyColumns) + `
		FROM staged AS new CROSS JOIN properties AS old ON old.id = new.id
		WHERE new.absent <> 0 AND new.rowid > ? ORDER BY new.rowid LIMIT ?`,
}

// of names columns of the table that is called so.
func of(table, columns string) string {
	return eachColumn(columns, func(name string) string { return table + "." + name })
}

// excluded assigns all columns what an upsert would have inserted.
func excluded(columns string) string {
	return eachColumn(columns, func(name string) string { return name + " = excluded." + name })
}

func eachColumn(columns string, text func(name string) string) string {
	var texts []string
	for name := range strings.SplitSeq(columns, ",") {
		texts = append(texts, text(strings.TrimSpace(name)))
	}
	return strings.Join(texts, ", ")
}

// mergeProperties leaves only those staged that are new or become different.
func mergeProperties(s *session) (created, changed int64, err error) {
	if err := makeWhole(s, partialProperties); err != nil {
		return 0, 0, err
	}
	if err := store.NoStranger(s, `SELECT owner FROM staged WHERE owner NOT IN (SELECT id FROM clients) ORDER BY id LIMIT 1`); err != nil {
		return 0, 0, err
	}
	if err := s.exec(`
		DELETE FROM staged AS new WHERE EXISTS (
			SELECT 1 FROM properties AS old
			WHERE old.id = new.id AND (` + of("old", propertyColumns) + `) IS (` + of("new", propertyColumns) + `))`); err != nil {
		return 0, 0, err
	}
	if changed, err = store.One(s, store.ScanValue[int64], `SELECT count(*) FROM staged WHERE id IN (SELECT id FROM properties)`); err != nil {
		return 0, 0, err
	}
	all, err := s.execCount(`
		INSERT INTO properties (` + propertyColumns + `) SELECT ` + propertyColumns + ` FROM staged WHERE true
		` + replaceProperty)
	return all - changed, changed, err
}

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

func (db *DB) ImportPerks(ctx context.Context, rows iter.Seq2[store.PerkRecord, error], newID func() string, by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "perks", By: by, At: at}, staging[store.PerkRecord]{
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
	var all int64
	err = store.Run(s.execCount,
		store.Step{Text: nameCategories},
		store.Step{Text: dropUnchangedPerks},
		store.Step{Text: auditPerks, Args: []any{at.UnixMicro(), string(by), store.ActionUpdatePerk, store.PerkSubjectPrefix}},
		store.Step{Count: &all, Text: `
			INSERT INTO placed
				SELECT s.rowid, ifnull(p.row, (SELECT ifnull(max(row), 0) FROM perks) + s.rowid), p.row IS NOT NULL, p.created_at, s.stock
				FROM staged AS s LEFT JOIN perks AS p ON p.id = s.id`},
		store.Step{Count: &changed, Text: `DELETE FROM perk_words WHERE rowid IN (SELECT perk FROM placed WHERE known)`},
	)
	if err != nil {
		return 0, 0, err
	}
	if err := mergePerkRows(s, at); err != nil {
		return 0, 0, err
	}
	return all - changed, changed, store.Run(s.execCount,
		store.Step{Text: `
			INSERT INTO perk_stock (perk, stock) SELECT perk, stock FROM placed WHERE true
			ON CONFLICT (perk) DO UPDATE SET stock = excluded.stock`},
		store.Step{Text: `INSERT INTO perk_words (rowid, words) SELECT placed.perk, s.words FROM staged AS s JOIN placed ON placed.staged = s.rowid`},
		store.Step{Text: raiseVersion},
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
	bulk, err := store.One(s, store.ScanValue[bool], `SELECT 4 * (SELECT count(*) FROM staged) > (SELECT ifnull(max(row), 0) FROM perks) + 10000`)
	if err != nil {
		return err
	}
	if !bulk {
		return put()
	}
	return s.withoutIndexes("perks", put)
}

var putPerks = `
	INSERT INTO perks (row, created_at, updated_at, category, ` + perkFields + `)
	SELECT placed.perk, coalesce(s.created_at, placed.created_at, ?1), ifnull(s.updated_at, ?1), category, ` + perkFields + `
	FROM staged AS s JOIN placed ON placed.staged = s.rowid WHERE true
	ON CONFLICT (row) DO UPDATE SET ` + excluded("created_at, updated_at, category, "+strings.TrimPrefix(perkFields, "id, "))

// mergePerkCategories makes the categories that are not known yet, in the order in which the records name them.
func mergePerkCategories(s *session) error {
	names, err := store.All(s, func(r row) (name string, err error) {
		var first int64
		return name, r.Scan(&name, &first)
	}, `SELECT category, min(rowid) FROM staged
		WHERE category IS NOT NULL AND category_fold NOT IN (SELECT name_fold FROM categories)
		GROUP BY category_fold ORDER BY min(rowid)`)
	if err != nil {
		return err
	}
	for _, name := range names {
		id := store.CategoryID(name, func(id string) bool {
			taken, failure := store.One(s, store.ScanValue[bool], `SELECT EXISTS (SELECT 1 FROM categories WHERE lower(id) = ?)`, id)
			err = failure
			return taken && err == nil
		})
		if err != nil {
			return err
		}
		if err := s.exec(`INSERT INTO categories (id, name, name_fold) VALUES (?, ?, ?)`, id, name, store.Fold(name)); err != nil {
			return err
		}
	}
	return nil
}
