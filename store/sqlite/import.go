package sqlite

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"example.com/perks/store"
)

// importRows collects the records in a temporary table, which locks nothing however slowly they arrive, and merges them
// in one transaction. Others wait for that transaction, so many perks are merged before it, out of sight.
func (db *DB) importRows(ctx context.Context, i store.Import) (imported store.Imported, err error) {
	var many *large
	isMerging := false
	prepare := func(s *session) error {
		count, err := s.stage(ctx, i)
		if err == nil {
			err = db.beginMerging(ctx)
		}
		if isMerging = err == nil; isMerging && i.Records == "perks" && count > db.largeImport {
			many, err = db.rehearse(ctx, s, i)
		}
		return err
	}
	err = db.writeExclusive(ctx, "import "+i.Records, "an import", prepare, func(s *session) error {
		if many != nil {
			imported = many.imported
			return many.publish()
		}
		count, err := store.One(s, store.ScanValue[int64], `SELECT count(*) FROM staged`)
		if err != nil {
			return err
		}
		merge := func() (err error) {
			imported, err = i.Merge(s, count)
			return err
		}
		if i.Records == "properties" {
			return s.withIndexesOf("properties",
				`SELECT count(*) FROM staged WHERE id NOT IN (SELECT id FROM properties)`, merge)
		}
		return merge()
	})
	if isMerging {
		defer db.endMerging()
	}
	if err != nil {
		imported = store.Imported{}
	}
	if many != nil {
		db.finishOrWarn(context.WithoutCancel(ctx), many.token)
	}
	return imported, err
}

// beginMerging waits for other imports and resets of this process. Those of other processes make one of both fail.
func (db *DB) beginMerging(ctx context.Context) error {
	select {
	case db.merging <- struct{}{}:
		return nil
	case <-ctx.Done():
		return store.NotStarted(ctx.Err())
	}
}

func (db *DB) endMerging() { <-db.merging }

// stage collects the records in the table "staged", of several with one id the last. It returns how many there were.
func (s *session) stage(ctx context.Context, i store.Import) (count int64, err error) {
	if err := s.script(stagingTable("staged", i.Columns) + `; BEGIN`); err != nil {
		return 0, err
	}
	for values, err := range i.Rows {
		if err := cmp.Or(err, ctx.Err()); err != nil {
			return count, err
		}
		count++
		if err := s.put("staged", nil, values); err != nil {
			return count, fmt.Errorf("take record %d: %w", count, err)
		}
	}
	return count, s.script(`
		CREATE INDEX temp.staged_by_id ON staged (id);
		DELETE FROM staged AS s WHERE EXISTS (SELECT 1 FROM staged AS later WHERE later.id = s.id
			AND later.seq > s.seq);
		COMMIT`)
}

// stagingTable is the definition of a temporary table for records. Columns have the types that driverValues converts
// to.
func stagingTable(name string, columns []store.Column) string {
	types := [...]string{store.Text: `TEXT`, store.Texts: `TEXT`, store.Instant: `INTEGER`, store.Integer: `INTEGER`,
		store.Number: `REAL`}
	text := `CREATE TEMP TABLE ` + name + ` (seq INTEGER PRIMARY KEY`
	for _, c := range columns {
		text += `, ` + c.Name + ` ` + types[c.Type]
	}
	return text + `)`
}

// put inserts a record. seq is nil at the end of the table.
func (s *session) put(table string, seq any, values []any) error {
	return s.exec(`INSERT INTO `+table+` VALUES (?`+strings.Repeat(`, ?`, len(values))+`)`,
		append([]any{seq}, values...)...)
}

// replaceStaged collects the records in another table first, because write reads the staged ones meanwhile.
func replaceStaged(
	tx store.Tx, columns []store.Column, write func(put func(seq int64, values []any) error) error,
) error {
	s, _ := sessionOf(tx)
	if err := s.script(stagingTable("whole", columns)); err != nil {
		return err
	}
	if err := write(func(seq int64, values []any) error { return s.put("whole", seq, values) }); err != nil {
		return err
	}
	return s.script(`INSERT OR REPLACE INTO staged SELECT * FROM whole; DROP TABLE whole`)
}

// mergePerks only plans in a rehearsal.
func mergePerks(tx store.Tx, by store.Actor, at time.Time) (created, changed int64, err error) {
	s, isRehearsal := sessionOf(tx)
	if created, changed, err = s.planPerks(by, at); err != nil || isRehearsal {
		return created, changed, err
	}
	return created, changed, s.putPerks(at)
}

// planPerks deletes unchanged records from the staging table. The table "targets" maps the others to rows of perks.
func (s *session) planPerks(by store.Actor, at time.Time) (created, changed int64, err error) {
	var all int64
	err = store.Run(s.Exec,
		store.Step{Text: dropUnchangedPerks},
		dialect.AuditPerks(by, at),
		store.Step{Text: `CREATE TEMP TABLE targets (staged INTEGER PRIMARY KEY, perk INTEGER, known INTEGER,
			created_at INTEGER, stock INTEGER)`},
		store.Step{Count: &all, Text: `
			INSERT INTO targets
				SELECT s.seq, ifnull(p.row, (SELECT ifnull(max(row), 0) FROM perks) + s.seq), p.row IS NOT NULL,
					p.created_at, s.stock
				FROM staged AS s LEFT JOIN perks AS p ON p.id = s.id`},
	)
	if err == nil {
		changed, err = store.One(s, store.ScanValue[int64], `SELECT count(*) FROM targets WHERE known`)
	}
	return all - changed, changed, err
}

// putPerks writes the planned records.
func (s *session) putPerks(at time.Time) error {
	if err := s.exec(`DELETE FROM perk_words WHERE rowid IN (SELECT perk FROM targets WHERE known)`); err != nil {
		return err
	}
	if err := s.withIndexesOf("perks", `SELECT count(*) FROM staged`,
		func() error { return s.exec(putPerks, at) }); err != nil {
		return err
	}
	return store.Run(s.Exec,
		store.Step{Text: putStock},
		// The words are a JSON list. To the tokenizer its punctuation only separates words.
		store.Step{Text: `INSERT INTO perk_words (rowid, words) SELECT targets.perk, s.words FROM staged AS s
			JOIN targets ON targets.staged = s.seq`},
	)
}

// putPerk is putPerks for one perk. The words are as putPerks writes them.
func putPerk(tx store.Tx, perk store.PerkRecord) error {
	const row = `(SELECT row FROM perks WHERE id = $1)`
	return store.Run(tx.Exec,
		store.Step{Text: putOnePerk, Args: store.StoredPerkValues(perk)},
		store.Step{Text: `DELETE FROM perk_words WHERE rowid = ` + row, Args: []any{perk.ID}},
		store.Step{Text: `INSERT INTO perk_words (rowid, words) VALUES (` + row + `, $2)`,
			Args: []any{perk.ID, store.KeysOf(perk).Words}},
	)
}

// withIndexesOf runs work, which writes as many records to the table as the query counts. It builds the indexes again
// if most of their entries change: sorting entries is several times faster than inserting each.
func (s *session) withIndexesOf(table, written string, work func() error) error {
	rebuild, err := store.One(s, store.ScanValue[bool],
		`SELECT 4 * (`+written+`) > (SELECT count(*) FROM `+table+`) + 10000`)
	if err != nil {
		return err
	}
	if !rebuild {
		return work()
	}
	return s.withDropped(work, `type = 'index' AND tbl_name = '`+table+`' AND sql IS NOT NULL`)
}

const putStock = `
	INSERT INTO perk_stock (perk, stock) SELECT perk, stock FROM targets WHERE true
	ON CONFLICT (perk) DO UPDATE SET stock = excluded.stock`

var (
	dropUnchangedPerks = `
		DELETE FROM staged AS new WHERE EXISTS (
			SELECT 1 FROM perks AS old JOIN perk_stock AS stock ON stock.perk = old.row
			WHERE old.id = new.id
				AND (` + store.Of("old", store.ImportedPerkFields) + `, stock.stock)
					IS (` + store.Of("new", store.ImportedPerkFields) + `, new.stock)
				AND old.created_at = ifnull(new.created_at, old.created_at)
				AND old.updated_at = ifnull(new.updated_at, old.updated_at))`

	putPerks = `
		INSERT INTO perks (row, id, ` + replacedFields + `)
		SELECT ` + targetValues(`$1`) + `
		FROM staged AS s JOIN targets ON targets.staged = s.seq WHERE true
		ON CONFLICT (row) DO UPDATE SET (` + replacedFields + `) = (` + store.Of("excluded", replacedFields) + `)`

	putOnePerk = `
		INSERT INTO perks (` + store.StoredPerkFields + `)
		VALUES (?` + strings.Repeat(`, ?`, strings.Count(store.StoredPerkFields, ",")) + `)
		ON CONFLICT (id) DO UPDATE SET (` + replacedFields + `) = (` + store.Of("excluded", replacedFields) + `)`
	replacedFields = "created_at, updated_at, " + store.ImportedPerkFields
)

// targetValues are those of row, id and replacedFields.
func targetValues(now string) string {
	return "targets.perk, id, coalesce(s.created_at, targets.created_at, " + now + "), ifnull(s.updated_at, " + now +
		"), " + store.ImportedPerkFields
}
