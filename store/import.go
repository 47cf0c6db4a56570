package store

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/perks/api"
)

// Import is records of one kind to be imported.
type Import struct {
	Records string // such as "perks"
	By      Actor
	At      time.Time
	// of the table "staged", after the column seq, which numbers the records
	Columns []Column
	Rows    iter.Seq2[[]any, error]                      // the values of Columns
	merge   func(Tx) (created, changed int64, err error) // writes the staged records to the database
}

// Column is a column of the table "staged".
type Column struct {
	Name string
	Type ColumnType
}

// ColumnType is what a column holds. Everything may be null.
type ColumnType int

// The types of columns.
const (
	Text ColumnType = iota
	Texts
	Instant
	Integer
	Number
)

func columns(t ColumnType, names string) (list []Column) {
	for name := range strings.SplitSeq(names, ", ") {
		list = append(list, Column{name, t})
	}
	return list
}

// newImport returns an import of records, each with the values of columns.
func newImport[R any](
	kind string, by Actor, at time.Time, records iter.Seq2[R, error], columns []Column, values func(R) []any,
) Import {
	return Import{Records: kind, By: by, At: at, Columns: columns, Rows: func(yield func([]any, error) bool) {
		for record, err := range records {
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(values(record), nil) {
				return
			}
		}
	}}
}

// Merge writes the staged records to the database, and adds the entry of the import to the audit log.
func (i Import) Merge(tx Tx, staged int64) (imported Imported, err error) {
	imported.Count = staged
	if imported.Created, imported.Changed, err = i.merge(tx); err != nil || staged == 0 {
		return imported, err
	}
	imported.Unchanged = staged - imported.Created - imported.Changed
	return imported, Audit(tx, i.At, i.By, i.Records+".import", i.Records, nil, imported)
}

func (o Operations) ImportUsers(
	ctx context.Context, rows iter.Seq2[User, error], by Actor, at time.Time,
) (Imported, error) {
	users := newImport("users", by, at, rows, columns(Text, "id"), func(user User) []any { return []any{user.ID} })
	users.merge = func(tx Tx) (created, changed int64, err error) {
		created, err = tx.Exec(`INSERT INTO users (id) SELECT id FROM staged WHERE true ORDER BY id
			ON CONFLICT (id) DO NOTHING`)
		return created, 0, err
	}
	return o.db.Import(ctx, users)
}

func (o Operations) ImportCategories(
	ctx context.Context, rows iter.Seq2[api.Category, error], by Actor, at time.Time,
) (Imported, error) {
	categories := newImport("categories", by, at, rows, columns(Text, "id, name, name_fold"),
		func(c api.Category) []any {
			return []any{c.ID, c.Name, Fold(c.Name)}
		})
	categories.merge = o.mergeCategories
	return o.db.Import(ctx, categories)
}

// mergeCategories also renames the category of perks. If several categories share a name, perks belong to the one with
// the lowest id.
func (o Operations) mergeCategories(tx Tx) (created, changed int64, err error) {
	err = Run(tx.Exec,
		Step{Text: RaiseVersion},
		Step{Text: `
			CREATE TEMP TABLE renamed ` + o.db.OnCommitDrop + ` AS
				SELECT old.name_fold AS old_fold, new.name, new.name_fold
				FROM categories AS old JOIN staged AS new ON new.id = old.id
				WHERE new.name <> old.name
					AND old.id = (SELECT min(id) FROM categories WHERE name_fold = old.name_fold)`},
		Step{Count: &changed, Text: `
			UPDATE categories AS old SET name = new.name, name_fold = new.name_fold
			FROM staged AS new WHERE old.id = new.id AND old.name <> new.name`},
		Step{Count: &created, Text: `
			INSERT INTO categories (id, name, name_fold)
			SELECT id, name, name_fold FROM staged AS new
			WHERE NOT EXISTS (SELECT 1 FROM categories AS old WHERE old.id = new.id)`},
		Step{Text: `
			UPDATE perks SET category = renamed.name, category_fold = renamed.name_fold
			FROM renamed WHERE perks.category_fold = renamed.old_fold`},
	)
	return created, changed, err
}

// RaiseVersion is the first statement of every change of perks or categories. It locks the row of the version until the
// transaction ends, so that such changes run one at a time: ids of new categories cannot collide, and imports cannot
// deadlock.
const RaiseVersion = `UPDATE catalog SET version = version + 1`

// rowColumns are those of a record's Row, for kinds with partial records.
var rowColumns = columns(Integer, "line, absent")

func (o Operations) ImportProperties(
	ctx context.Context, rows iter.Seq2[PropertyRecord, error], by Actor, at time.Time,
) (Imported, error) {
	properties := newImport("properties", by, at, rows, partialProperties.columns, partialProperties.values)
	properties.merge = func(tx Tx) (created, changed int64, err error) { return o.mergeProperties(tx, by, at) }
	return o.db.Import(ctx, properties)
}

// mergeProperties locks the known listings of partial records before it reads their fields.
func (o Operations) mergeProperties(tx Tx, by Actor, at time.Time) (created, changed int64, err error) {
	if err := lock(tx, o.db.LockNewProperties); err != nil {
		return 0, 0, err
	}
	if err := fillPartials(tx, o.db, partialProperties, o.db.LockProperty); err != nil {
		return 0, 0, err
	}
	for owner, err := range Each(tx, ScanValue[string],
		`SELECT owner FROM staged WHERE owner NOT IN (SELECT id FROM clients) ORDER BY id LIMIT 1`) {
		return 0, 0, cmp.Or(err, ClientNotFound(owner))
	}
	fields := strings.TrimPrefix(PropertyColumns, "id, ")
	derived := `, new.city_fold, CAST(new.words AS ` + o.db.WordsType + `), new.price_key, new.word_bits`
	differs := `(` + Of("old", fields) + `) IS DISTINCT FROM (` + Of("new", fields) + `)`
	err = Run(tx.Exec, Step{Text: `CREATE TEMP TABLE written (seq bigint, place ` + o.db.RowPlaceType +
		`, before text) ` + o.db.OnCommitDrop})
	for isMissed := true; isMissed && err == nil; {
		var known, written int64
		err = Run(tx.Exec,
			Step{Count: &known, Text: `
				INSERT INTO written SELECT new.seq, old.` + o.db.RowPlace + `, ` + o.db.changedJSON() + `
				FROM staged AS new JOIN properties AS old ON old.id = new.id WHERE ` + differs},
			Step{Count: &written, Text: `
				UPDATE properties AS old
					SET (` + fields + `, ` + derivedPropertyColumns + `) = (` + Of("new", fields) + derived + `)
				FROM staged AS new JOIN written ON written.seq = new.seq
				WHERE old.id = new.id AND old.` + o.db.RowPlace + ` = written.place`},
		)
		changed += written
		if isMissed = written < known; err == nil && isMissed { // others have changed or deleted some meanwhile
			_, err = tx.Exec(`
				DELETE FROM written WHERE seq IN (
					SELECT new.seq FROM staged AS new LEFT JOIN properties AS old ON old.id = new.id
					WHERE old.id IS NULL OR ` + differs + `)`)
		}
	}
	if err != nil {
		return 0, 0, err
	}
	// The numbers of the entries are taken while the listings are locked, so that they are in the order of commits.
	err = Run(tx.Exec,
		Step{Count: &created, Text: `
			INSERT INTO written SELECT seq, NULL, NULL
			FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM properties AS old WHERE old.id = new.id)`},
		Step{Text: `
			INSERT INTO properties (` + PropertyColumns + `, ` + derivedPropertyColumns + `)
			SELECT ` + PropertyColumns + derived + `
			FROM staged AS new JOIN written ON written.seq = new.seq WHERE written.before IS NULL`},
		Step{Args: []any{at, string(by)}, Text: `
			INSERT INTO imported_properties (` + o.db.AuditID + `, at, actor, property, before, after)
			SELECT ` + o.db.NextAuditID + `, $1, $2, new.id, written.before, ` + o.db.wholeJSON() + `
			FROM staged AS new JOIN written ON written.seq = new.seq`},
	)
	return created, changed, err
}

// wholeJSON is SQL for the staged listing AS new as JSON.
func (d *Dialect) wholeJSON() string {
	var members []string
	for name, column := range jsonOfProperty {
		value := `new.` + column.Name
		if column.Type == Texts {
			value = fmt.Sprintf(d.JSONTexts, value)
		}
		members = append(members, `'`+name+`', `+value)
	}
	return d.JSONObject + `(` + strings.Join(members, `, `) + `)`
}

// changedJSON is SQL for the fields of a listing AS old that differ from the staged one AS new, as JSON.
func (d *Dialect) changedJSON() string {
	var members []string
	for name, column := range jsonOfProperty {
		value := `old.` + column.Name
		if column.Type == Texts {
			value = fmt.Sprintf(d.JSONTexts, value)
		}
		value = fmt.Sprintf(d.JSONValue, value)
		members = append(members, `CASE WHEN old.`+column.Name+` IS DISTINCT FROM new.`+column.Name+
			` THEN ',"`+name+`":' || `+value+` ELSE '' END`)
	}
	return `'{' || substr(` + strings.Join(members, ` || `) + `, 2) || '}'`
}

// jsonOfProperty yields the columns of PropertyColumns with the names of their fields.
func jsonOfProperty(yield func(name string, column Column) bool) {
	for i, name := range strings.Split(PropertyColumns, ", ") {
		column := partialProperties.columns[len(rowColumns)+i]
		if name == "id" {
			name = "propertyId"
		}
		if !yield(name, column) {
			return
		}
	}
}

// stagedPerkColumns maps PerkColumns to columns of the staging table. $1 is the zero time, for a time that the record
// lacks.
var stagedPerkColumns = strings.NewReplacer(
	"p.created_at", "coalesce(new.created_at, $1)", "p.updated_at", "coalesce(new.updated_at, $1)", "p.", "new.")

func nilIfZero(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

func (o Operations) ImportPerks(
	ctx context.Context, rows iter.Seq2[PerkRecord, error], newID func() string, by Actor, at time.Time,
) (Imported, error) {
	partials := o.partialPerks()
	perks := newImport("perks", by, at, rows, partials.columns, func(perk PerkRecord) []any {
		if perk.ID == "" {
			perk.ID = newID()
		}
		return partials.values(perk)
	})
	perks.merge = func(tx Tx) (created, changed int64, err error) {
		if _, err := tx.Exec(RaiseVersion); err != nil { // no other transaction changes known perks from here on
			return 0, 0, err
		}
		if err := fillPartials(tx, o.db, partials, ""); err != nil {
			return 0, 0, err
		}
		if err := mergePerkCategories(tx); err != nil {
			return 0, 0, err
		}
		return o.db.MergePerks(tx, by, at)
	}
	return o.db.Import(ctx, perks)
}

// AuditPerks records changes of the fields that redemptions depend on and the API does not show.
func (d *Dialect) AuditPerks(by Actor, at time.Time) Step {
	record := func(stock, perk string) string {
		return d.JSONObject + `('stock', ` + stock + `.stock, 'approval', ` + perk + `.approval, ` +
			`'hold_for', ` + perk + `.hold_seconds || 's')`
	}
	return Step{Args: []any{at, string(by), ActionUpdatePerk, PerkSubjectPrefix}, Text: `
		INSERT INTO audit (at, actor, action, subject, before, after)
		SELECT $1, $2, $3, $4 || new.id, ` + record(`s`, `p`) + `, ` + record(`new`, `new`) + `
		FROM staged AS new CROSS JOIN perks AS p ` + d.Stock + `
		WHERE p.id = new.id AND (s.stock, p.approval, p.hold_seconds)
			IS DISTINCT FROM (new.stock, new.approval, new.hold_seconds) ORDER BY new.seq`}
}

// mergePerkCategories creates unknown categories, in the order in which records name them, and gives every record the
// name of its category in the category's own spelling.
func mergePerkCategories(tx Tx) error {
	names, err := All(tx, ScanValue[string], `
		SELECT category FROM staged WHERE seq IN (
			SELECT min(seq) FROM staged
			WHERE category IS NOT NULL AND category_fold NOT IN (SELECT name_fold FROM categories)
			GROUP BY category_fold)
		ORDER BY seq`)
	if err != nil {
		return err
	}
	if err := addCategories(tx, names...); err != nil {
		return err
	}
	_, err = tx.Exec(`
		UPDATE staged SET category = known.name
		FROM (
			SELECT given.category AS given, (
				SELECT name FROM categories WHERE name_fold = given.category_fold
				ORDER BY name = given.category DESC, id LIMIT 1) AS name
			FROM (SELECT DISTINCT category, category_fold FROM staged WHERE category IS NOT NULL) AS given) AS known
		WHERE staged.category = known.given AND known.given <> known.name`)
	return err
}

// addCategories adds categories with these names and ids that follow from them.
func addCategories(tx Tx, names ...string) error {
	taken := map[string]bool{}
	if len(names) > 0 {
		for id, err := range Each(tx, ScanValue[string], `SELECT lower(id) FROM categories`) {
			if err != nil {
				return err
			}
			taken[id] = true
		}
	}
	for _, name := range names {
		id := CategoryID(name, func(id string) bool { return taken[id] })
		taken[id] = true
		if _, err := tx.Exec(`INSERT INTO categories (id, name, name_fold) VALUES ($1, $2, $3)`, id, name,
			Fold(name)); err != nil {
			return err
		}
	}
	return nil
}

// Imported counts the records of an import by what happened to them, each id once. The audit log shows it too.
type Imported struct {
	Count     int64 `json:"count"`
	Created   int64 `json:"created"`
	Changed   int64 `json:"changed"`
	Unchanged int64 `json:"unchanged"` // known, and equal to the row
}

// Fields is a set of the fields of one kind of record, a bit for each in the order of its JSON.
type Fields = api.Fields

// Row is where a record comes from.
type Row = api.Row

// Kind is a kind of record that is read from files.
type Kind struct {
	name  string
	names []string
	needs Fields
	index [][]int // of each field in the record
}

// PerkKind and PropertyKind can have partial records.
var (
	PerkKind     = kindOf[PerkRecord]("perk", "title", "description", "city")
	PropertyKind = kindOf[PropertyRecord]("property", "propertyId", "title", "price_pw", "owner")
	categoryKind = kindOf[api.Category]("category", "id", "category_name")
	userKind     = kindOf[User]("user", "id")
)

// OwnerField may be given once per import, for all properties whose rows lack it. It is staged but marked as absent: a
// known property keeps its owner, and a new one gets this one.
var OwnerField = PropertyKind.fields("owner")

func kindOf[R any](name string, needs ...string) Kind {
	k := Kind{name: name}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[R]()) {
		if tag := field.Tag.Get("json"); !field.Anonymous && tag != "-" {
			k.names, k.index = append(k.names, tag), append(k.index, field.Index)
		}
	}
	k.needs = k.fields(needs...)
	return k
}

// fields is the set of the fields with these names.
func (k Kind) fields(names ...string) (set Fields) {
	for i, name := range k.names {
		if slices.Contains(names, name) {
			set |= 1 << i
		}
	}
	return set
}

// Needs returns the fields that a new record must have.
func (k Kind) Needs() Fields { return k.needs }

// scanMissing scans the line, the id and the missing fields of a new record, and returns the error of its row.
func (k Kind) scanMissing(r Scanner) (RefusedRow, error) {
	var row RefusedRow
	var id string
	var lacks Fields
	err := r.Scan(&row.Line, &id, &lacks)
	var missing []string
	for i, name := range k.names {
		if (lacks & k.needs).Has(i) {
			missing = append(missing, name)
		}
	}
	row.Err = fmt.Errorf("there is no %s %q yet, and a new one needs %s", k.name, id, strings.Join(missing, ", "))
	return row, err
}

// partialKind describes how to complete the partial records of a kind.
type partialKind[R any] struct {
	kind    Kind
	columns []Column
	values  func(R) []any
	table   string // where the kind's records are
	missing string // SQL: which fields of absent have no value at all
	known   string // SQL: of each partial record, the columns that scan reads, then the same of the known record
	args    []any
	scan    func(Scanner) (R, error)
}

// fillPartials fills the absent fields of staged records from the known ones, which it locks. It fails with a
// *RowsRefused if a new record lacks a required field, or a completed one breaks a rule. It looks for new records last,
// because one that was deleted before the lock is new.
func fillPartials[R any](tx Tx, db Database, p partialKind[R], lock string) error {
	if lock != "" {
		lock += ` OF old`
	}
	var refused RowsRefused
	err := db.ReplaceStaged(tx, p.columns, func(put func(seq int64, values []any) error) error {
		var row Row
		var seq int64
		var known R
		staged := Each(tx, func(r Scanner) (R, error) {
			return p.scan(scanner(func(staged ...any) (err error) {
				known, err = p.scan(scanner(func(known ...any) error {
					return r.Scan(slices.Concat([]any{&seq, &row.Line, &row.Absent}, staged, known)...)
				}))
				return err
			}))
		}, `SELECT new.seq, new.line, new.absent, `+p.known+lock, p.args...)
		for record, err := range staged {
			if err != nil {
				return err
			}
			if err := p.kind.Fill(any(&record).(validator), &known, row.Absent); err != nil {
				refused.add(row.Line, err)
			} else if err := put(seq, p.values(record)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	missing := Each(tx, p.kind.scanMissing, `
		SELECT line, CAST(id AS text), lacks FROM (SELECT *, `+p.missing+` AS lacks FROM staged) AS new
		WHERE lacks & $1 <> 0 AND NOT EXISTS (SELECT 1 FROM `+p.table+` AS old WHERE old.id = new.id)
		ORDER BY seq`, int64(p.kind.needs))
	for row, err := range missing {
		if err != nil {
			return err
		}
		refused.add(row.Line, row.Err)
	}
	return refused.err()
}

type validator interface{ Validate() error }

// Fill copies the absent fields of a record from the known one; both are pointers. The error names the rules that the
// result breaks.
func (k Kind) Fill(record validator, known any, absent Fields) error {
	to, from := reflect.ValueOf(record).Elem(), reflect.ValueOf(known).Elem()
	for i, index := range k.index {
		if absent.Has(i) {
			to.FieldByIndex(index).Set(from.FieldByIndex(index))
		}
	}
	return record.Validate()
}

// maxRefused bounds the memory that the errors of a file with millions of bad rows take.
const maxRefused = 100

// RowsRefused is the error of an import whose rows are valid by themselves, but not together with the records in the
// database.
type RowsRefused struct {
	Rows  []RefusedRow // at most maxRefused of them
	Count int64        // of all
}

// RefusedRow is why one row was refused.
type RefusedRow struct {
	Line int
	Err  error
}

func (r *RowsRefused) add(line int, err error) {
	if r.Count++; len(r.Rows) < maxRefused {
		r.Rows = append(r.Rows, RefusedRow{line, err})
	}
}

// err returns r, in the order of the lines, if there are any such rows.
func (r *RowsRefused) err() error {
	if r.Count == 0 {
		return nil
	}
	slices.SortStableFunc(r.Rows, func(a, b RefusedRow) int { return cmp.Compare(a.Line, b.Line) })
	return r
}

func (r *RowsRefused) Error() string {
	first := r.Rows[0]
	return fmt.Sprintf("%d of the rows cannot be imported; the first is line %d: %s", r.Count, first.Line, first.Err)
}
