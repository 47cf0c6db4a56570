package postgres

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/perks/store"
)

// stagedPerks lays down records with what goes to other tables too; created_at and updated_at are null when they were not given.
var stagedPerks = slices.Concat(rowColumns, []column{
	textColumn("id"), instantColumn("valid_from"), instantColumn("valid_to"), instantColumn("created_at"), instantColumn("updated_at"),
	numberColumn("lat"), numberColumn("lng"), integerColumn("cell"), textColumn("approval"),
	textColumn("title_fold"), textColumn("category_fold"), textColumn("merchant_name_fold"), textColumn("city_fold"),
	textColumn("title"), textColumn("category"), textColumn("merchant_name"), textColumn("city"), textColumn("image_url"),
	textColumn("discount_text"), textColumn("description"), textColumn("terms"), textsColumn("words"), integerColumn("stock"),
	textColumn("description_fold"), textColumn("image_url_fold"), textColumn("discount_text_fold"), textColumn("terms_fold"),
})

func stagedPerkValues(p store.PerkRecord) []any {
	keys := p.Keys()
	return append([]any{
		p.Row.Line, int64(p.Row.Absent), p.ID, p.ValidFrom, p.ValidTo, nilIfZero(p.CreatedAt), nilIfZero(p.UpdatedAt),
		p.Lat, p.Lng, keys.Cell, string(cmp.Or(p.Approval, store.ApprovalAuto)),
		keys.Title, keys.Category, keys.MerchantName, keys.City,
		p.Title, p.Category, p.MerchantName, p.City, p.ImageURL,
		p.DiscountText, p.Description, p.Terms, keys.Words, p.Stock,
	}, folds(p.Perk)...)
}

func nilIfZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (db *DB) ImportPerks(ctx context.Context, rows iter.Seq2[store.PerkRecord, error], newID func() string, by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "perks", By: by, At: at}, staging[store.PerkRecord]{
		columns: stagedPerks,
		values: func(perk store.PerkRecord) []any {
			if perk.ID == "" {
				perk.ID = newID()
			}
			return stagedPerkValues(perk)
		},
		merge:   func(s *session) (created, changed int64, err error) { return mergePerks(s, by, at) },
		changes: `perks, perk_folds, perk_stock`,
	}, rows)
}

// partialPerks reads perks that no one else changes, because the catalog's version is raised before.
var partialPerks = partials[store.PerkRecord]{
	kind: store.PerkKind, columns: stagedPerks, values: stagedPerkValues, scan: scanPerkRecord, table: `perks`, lacks: `absent`,
	known: `
		SELECT new.place, new.line, new.absent, ` + stagedPerkColumns.Replace(perkColumns) + `, new.lat, new.lng, new.stock, new.approval,
			` + perkColumns + `, p.lat, p.lng, stock.stock, p.approval
		FROM staged AS new JOIN perks AS p ON p.id = new.id JOIN perk_stock AS stock ON stock.perk_id = p.id WHERE new.absent <> 0`,
}

// stagedPerkColumns makes perkColumns of what is staged. Go's zero time stands for one that was not given.
var stagedPerkColumns = strings.NewReplacer(
	"p.created_at", `coalesce(new.created_at, '0001-01-01T00:00:00Z')`, "p.updated_at", `coalesce(new.updated_at, '0001-01-01T00:00:00Z')`, "p.", "new.")

// mergePerks leaves the stock of perks that are known to the end: from the first of those rows that it changes until the
// commit, no one can redeem that perk. What would stay as it is, is neither written nor locked.
func mergePerks(s *session, by store.Actor, at time.Time) (created, changed int64, err error) {
	if err := s.exec(raiseVersion); err != nil {
		return 0, 0, err
	}
	if err := makeWhole(s, partialPerks); err != nil {
		return 0, 0, err
	}
	if err := mergePerkCategories(s); err != nil {
		return 0, 0, err
	}
	err = store.Run(s.execCount,
		store.Step{Text: auditPerks, Args: []any{at, string(by), store.ActionUpdatePerk, store.PerkSubjectPrefix}},
		store.Step{Text: updatePerks, Args: []any{at}, Count: &changed},
		store.Step{Text: insertPerks, Args: []any{at}, Count: &created},
		store.Step{Text: deleteFolds},
		store.Step{Text: insertFolds},
		store.Step{Text: `
			INSERT INTO perk_stock (perk_id, stock)
			SELECT id, stock FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM perk_stock AS old WHERE old.perk_id = new.id)`},
		store.Step{Text: `
			UPDATE perk_stock AS old SET stock = new.stock
			FROM staged AS new WHERE old.perk_id = new.id AND old.stock IS DISTINCT FROM new.stock`},
	)
	return created, changed, err
}

// auditPerks keeps what redemptions depend on and the API does not show.
const auditPerks = `
	INSERT INTO audit (at, actor, action, subject, before, after)
	SELECT $1, $2, $3, $4 || new.id,
		json_build_object('stock', stock.stock, 'approval', old.approval)::text,
		json_build_object('stock', new.stock, 'approval', new.approval)::text
	FROM staged AS new JOIN perks AS old ON old.id = new.id JOIN perk_stock AS stock ON stock.perk_id = old.id
	WHERE (stock.stock, old.approval) IS DISTINCT FROM (new.stock, new.approval) ORDER BY new.place`

// perkFields are the columns of perks that come from a record as they are, beside the id.
var perkFields = []string{
	"valid_from", "valid_to", "lat", "lng", "cell", "approval", "title_fold", "category_fold", "merchant_name_fold",
	"city_fold", "title", "category", "merchant_name", "city", "image_url", "discount_text", "description", "terms",
}

// of names columns of the table that is called so.
func of(table string, columns []string) string {
	return table + "." + strings.Join(columns, ", "+table+".")
}

var (
	updated  = strings.Join(perkFields, ", ") + ", created_at, updated_at, words"
	existing = of("old", perkFields) + ", old.created_at, old.words"
	incoming = of("new", perkFields) + ", coalesce(new.created_at, old.created_at), array_to_tsvector(new.words)"

	updatePerks = `
		UPDATE perks AS old SET (` + updated + `) = ROW (` + of("new", perkFields) + `,
			coalesce(new.created_at, old.created_at), coalesce(new.updated_at, $1), array_to_tsvector(new.words))
		FROM staged AS new JOIN perk_stock AS stock ON stock.perk_id = new.id
		WHERE old.id = new.id AND (` + existing + `, old.updated_at, stock.stock)
			IS DISTINCT FROM (` + incoming + `, coalesce(new.updated_at, old.updated_at), new.stock)`

	insertPerks = `
		INSERT INTO perks (id, ` + updated + `)
		SELECT new.id, ` + of("new", perkFields) + `, coalesce(new.created_at, $1), coalesce(new.updated_at, $1), array_to_tsvector(new.words)
		FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM perks AS old WHERE old.id = new.id)`
)

// mergePerkCategories makes the categories that are not known yet, in the order in which the records name them, and gives
// every record its category's name as the category itself writes it.
func mergePerkCategories(s *session) error {
	names, err := store.All(s, store.ScanValue[string], `
		SELECT category FROM staged WHERE place IN (
			SELECT min(place) FROM staged
			WHERE category IS NOT NULL AND category_fold NOT IN (SELECT name_fold FROM categories)
			GROUP BY category_fold)
		ORDER BY place`)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		if err := makeCategories(s, names); err != nil {
			return err
		}
	}
	return s.exec(`
		UPDATE staged SET category = known.name
		FROM (
			SELECT given.category AS given, (
				SELECT name FROM categories WHERE name_fold = given.category_fold
				ORDER BY name = given.category DESC, id LIMIT 1) AS name
			FROM (SELECT DISTINCT category, category_fold FROM staged WHERE category IS NOT NULL) AS given) AS known
		WHERE staged.category = known.given AND known.given <> known.name`)
}

func makeCategories(s *session, names []string) error {
	known, err := store.All(s, store.ScanValue[string], `SELECT lower(id) FROM categories`)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, id := range known {
		taken[id] = true
	}
	var ids, folds []string
	for _, name := range names {
		id := store.CategoryID(name, func(id string) bool { return taken[id] })
		taken[id] = true
		ids, folds = append(ids, id), append(folds, store.Fold(name))
	}
	return s.exec(`
		INSERT INTO categories (id, name, name_fold) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])`, ids, names, folds)
}
