package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/perks/store"
)

// importRows collects the records in a temporary table, which locks nothing however slowly they arrive, and merges them in one transaction.
func (db *DB) importRows(ctx context.Context, i store.Import) (imported store.Imported, err error) {
	stage := func(s *session) error {
		if err := s.script(stagingTable("staged", i.Columns) + `; BEGIN`); err != nil {
			return err
		}
		count := 0
		for values, err := range i.Rows {
			if err := cmp.Or(err, ctx.Err()); err != nil {
				return err
			}
			count++
			if err := s.put("staged", nil, values); err != nil {
				return fmt.Errorf("take record %d: %w", count, err)
			}
		}
		return s.script(`
			CREATE INDEX temp.staged_by_id ON staged (id);
			DELETE FROM staged AS s WHERE EXISTS (SELECT 1 FROM staged AS later WHERE later.id = s.id AND later.seq > s.seq);
			COMMIT`)
	}
	err = db.writeExclusive(ctx, "import "+i.Records, "an import", stage, func(s *session) error {
		count, err := store.One(s, store.ScanValue[int64], `SELECT count(*) FROM staged`)
		if err == nil {
			imported, err = i.Merge(s, count)
		}
		return err
	})
	if err != nil {
		return store.Imported{}, err
	}
	return imported, nil
}

// stagingTable is the definition of a temporary table for records. Columns have the types that driverValues converts to.
func stagingTable(name string, columns []store.Column) string {
	types := [...]string{store.Text: `TEXT`, store.Texts: `TEXT`, store.Instant: `INTEGER`, store.Integer: `INTEGER`, store.Number: `REAL`}
	text := `CREATE TEMP TABLE ` + name + ` (seq INTEGER PRIMARY KEY`
	for _, c := range columns {
		text += `, ` + c.Name + ` ` + types[c.Type]
	}
	return text + `)`
}

// put inserts a record. seq is nil at the end of the table.
func (s *session) put(table string, seq any, values []any) error {
	return s.exec(`INSERT INTO `+table+` VALUES (?`+strings.Repeat(`, ?`, len(values))+`)`, append([]any{seq}, values...)...)
}

// replaceStaged collects the records in another table first, because write reads the staged ones meanwhile.
func replaceStaged(tx store.Tx, columns []store.Column, write func(put func(seq int64, values []any) error) error) error {
	s := tx.(*session)
	if err := s.script(stagingTable("whole", columns)); err != nil {
		return err
	}
	if err := write(func(seq int64, values []any) error { return s.put("whole", seq, values) }); err != nil {
		return err
	}
	return s.script(`INSERT OR REPLACE INTO staged SELECT * FROM whole; DROP TABLE whole`)
}

// mergePerks first deletes unchanged records from the staging table. The table "targets" maps the others to rows of perks.
func mergePerks(tx store.Tx, by store.Actor, at time.Time) (created, changed int64, err error) {
	s := tx.(*session)
	var all int64
	err = store.Run(s.Exec,
		store.Step{Text: dropUnchangedPerks},
		store.Step{Text: auditPerks, Args: []any{at, string(by), store.ActionUpdatePerk, store.PerkSubjectPrefix}},
		store.Step{Text: `CREATE TEMP TABLE targets (staged INTEGER PRIMARY KEY, perk INTEGER, known INTEGER, created_at INTEGER, stock INTEGER)`},
		store.Step{Count: &all, Text: `
			INSERT INTO targets
				SELECT s.seq, ifnull(p.row, (SELECT ifnull(max(row), 0) FROM perks) + s.seq), p.row IS NOT NULL, p.created_at, s.stock
				FROM staged AS s LEFT JOIN perks AS p ON p.id = s.id`},
		store.Step{Count: &changed, Text: `DELETE FROM perk_words WHERE rowid IN (SELECT perk FROM targets WHERE known)`},
	)
	if err != nil {
		return 0, 0, err
	}
	// Rebuild the indexes if most entries change: sorting entries is several times faster than inserting each.
	put := func() error { return s.exec(putPerks, at) }
	rebuild, err := store.One(s, store.ScanValue[bool], `SELECT 4 * (SELECT count(*) FROM staged) > (SELECT ifnull(max(row), 0) FROM perks) + 10000`)
	if err != nil {
		return 0, 0, err
	}
	if rebuild {
		err = s.withDropped(put, `type = 'index' AND tbl_name = 'perks' AND sql IS NOT NULL`)
	} else {
		err = put()
	}
	if err != nil {
		return 0, 0, err
	}
	return all - changed, changed, store.Run(s.Exec,
		store.Step{Text: `
			INSERT INTO perk_stock (perk, stock) SELECT perk, stock FROM targets WHERE true
			ON CONFLICT (perk) DO UPDATE SET stock = excluded.stock`},
		// The words are a JSON list. To the tokenizer its punctuation only separates words.
		store.Step{Text: `INSERT INTO perk_words (rowid, words) SELECT targets.perk, s.words FROM staged AS s JOIN targets ON targets.staged = s.seq`},
	)
}

// auditPerks records changes of the fields that redemptions depend on and the API does not show.
const auditPerks = `
	INSERT INTO audit (at, actor, action, subject, before, after)
	SELECT $1, $2, $3, $4 || new.id, json_object('stock', stock.stock, 'approval', old.approval),
		json_object('stock', new.stock, 'approval', new.approval)
	FROM staged AS new CROSS JOIN perks AS old ON old.id = new.id CROSS JOIN perk_stock AS stock ON stock.perk = old.row
	WHERE (stock.stock, old.approval) IS NOT (new.stock, new.approval) ORDER BY new.seq`

var (
	dropUnchangedPerks = `
		DELETE FROM staged AS new WHERE EXISTS (
			SELECT 1 FROM perks AS old JOIN perk_stock AS stock ON stock.perk = old.row
			WHERE old.id = new.id AND (` + store.Of("old", store.ImportedPerkFields) + `, stock.stock) IS (` + store.Of("new", store.ImportedPerkFields) + `, new.stock)
				AND old.created_at = ifnull(new.created_at, old.created_at) AND old.updated_at = ifnull(new.updated_at, old.updated_at))`

	putPerks = `
		INSERT INTO perks (row, id, ` + replacedFields + `)
		SELECT targets.perk, id, coalesce(s.created_at, targets.created_at, $1), ifnull(s.updated_at, $1), ` + store.ImportedPerkFields + `
		FROM staged AS s JOIN targets ON targets.staged = s.seq WHERE true
		ON CONFLICT (row) DO UPDATE SET (` + replacedFields + `) = (` + store.Of("excluded", replacedFields) + `)`
	replacedFields = "created_at, updated_at, " + store.ImportedPerkFields
)
