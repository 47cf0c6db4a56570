package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"example.com/perks/store"
)

// One transaction of a large import would keep others from writing for longer than they wait. So the catalog as it will
// be is built in tables that nobody reads, in many transactions, between which others write. The last transaction
// renames these tables and those that they replace. finishImports drops what an import leaves.

const (
	// largeImport is how many changed perks are too many to be written in one transaction.
	largeImport = 10_000
	// sliceRows is how many rows one transaction of many writes.
	sliceRows = 50_000
	// maxGap is longer than SQLite's busy handler sleeps between two tries, so that a write that waits comes next.
	maxGap = 110 * time.Millisecond
	// patience is for how many milliseconds an import waits for the lock, which a busy server rarely leaves.
	patience = `60000`

	// The names of tables begin with these and a token of the import.
	beingBuilt = "next_"    // nobody reads it
	replaced   = "was_"     // nobody reads it any more
	unlogged   = "pending_" // entries that belong to the audit log

	// secondName ends the names of indexes in every other catalog, because SQLite does not rename indexes.
	secondName = "_2"
)

// entryColumns are those of a table of entries that belong to the audit log.
const entryColumns = ` (
	row INTEGER PRIMARY KEY, at INTEGER, actor TEXT, action TEXT, subject TEXT, before TEXT, after TEXT)`

// replacedTables are those that a large import replaces.
var replacedTables = []string{"perks", "perk_stock", "perk_words"}

// errOvertaken says that what an import has built no longer follows from the catalog.
var errOvertaken = errors.New("another import, a reset or a migration came in between, so this import changed " +
	"nothing; run it again")

// rehearsal is a session in which a merge of perks changes nothing that others see: temporary tables hide those that it
// would change, and only the targets are computed. What it reads is true until the version of the catalog rises.
type rehearsal struct{ *session }

// sessionOf returns the session of a transaction.
func sessionOf(tx store.Tx) (s *session, isRehearsal bool) {
	if r, isRehearsal := tx.(rehearsal); isRehearsal {
		return r.session, true
	}
	return tx.(*session), false
}

// large is an import of many perks between its rehearsal and its last transaction.
type large struct {
	db       *DB
	s        *session
	at       time.Time
	imported store.Imported
	token    string
	isBuilt  bool // otherwise there is little to write, and the last transaction does
	queued   bool // the entries of the audit log are in a table too
}

// rehearse merges the staged records but for the writing, and builds the tables. It returns what finishImports ends,
// if it fails too.
func (db *DB) rehearse(ctx context.Context, s *session, i store.Import) (*large, error) {
	staged, err := store.One(s, store.ScanValue[int64], `SELECT count(*) FROM staged`)
	if err != nil {
		return nil, err
	}
	l := &large{db: db, s: s, at: i.At, token: strings.ToLower(rand.Text()[:8]) + "_"}
	if err := s.script(`PRAGMA busy_timeout = ` + patience); err != nil {
		return nil, err
	}
	// From here on nobody changes a single perk, so that the import is not overtaken by that.
	if err := db.slice(ctx, s, l.claim); err != nil {
		return l, err
	}
	if err := s.script(`
		PRAGMA foreign_keys = OFF; -- with these two, a table that is renamed takes no references along
		PRAGMA legacy_alter_table = ON;
		PRAGMA cache_size = -64000; -- KiB. Pages take twice that in memory, and indexes are sorted in as much again
		BEGIN;
		CREATE TEMP TABLE catalog AS SELECT * FROM main.catalog;
		CREATE TEMP TABLE categories AS SELECT * FROM main.categories;
		CREATE TEMP TABLE audit` + entryColumns + `;
		CREATE TEMP TABLE rehearsed AS SELECT max(version) AS migration FROM main.migrations`); err != nil {
		return l, err
	}
	if l.imported, err = i.Merge(rehearsal{s}, staged); err != nil {
		return l, err
	}
	if err := s.script(`COMMIT; CREATE INDEX temp.targets_by_perk ON targets (perk)`); err != nil {
		return l, err
	}
	if l.imported.Created+l.imported.Changed <= db.largeImport {
		return l, nil
	}
	l.isBuilt = true
	if err = l.build(ctx); resultCode(err) == codes.SQLITE_FULL {
		err = fmt.Errorf("a large import needs as much space again as the perks take: %w", err)
	}
	return l, err
}

// build fills the tables. Indexes are made last: sorting entries is several times faster than inserting each.
func (l *large) build(ctx context.Context) error {
	if err := l.db.finishImports(ctx, ""); err != nil { // for the names of their indexes
		return err
	}
	for _, table := range replacedTables {
		if err := l.define(ctx, table); err != nil {
			return err
		}
	}
	for after := int64(0); ; {
		until, err := l.sliceEnd(after)
		if err != nil {
			return err
		}
		if until == nil {
			break
		}
		if err := l.slice(ctx, func() error { return l.buildRows(after, *until) }); err != nil {
			return err
		}
		after = *until
	}
	for _, table := range replacedTables {
		if err := l.index(ctx, table); err != nil {
			return err
		}
	}
	return l.queueEntries(ctx)
}

// slice runs work in a transaction, unless the import was overtaken, and lets others write after it.
func (l *large) slice(ctx context.Context, work func() error) error {
	return l.db.slice(ctx, l.s, func() error {
		if err := l.check(); err != nil {
			return err
		}
		return work()
	})
}

// slice runs work in a transaction of the session, and lets others write after it.
func (db *DB) slice(ctx context.Context, s *session, work func() error) error {
	begun := time.Now()
	if err := db.writer.doExclusive(ctx, func() error { return s.inTransaction(work) }); err != nil {
		return err
	}
	// Whoever has waited for a short time sleeps for no longer than that.
	select {
	case <-time.After(min(2*time.Since(begun), maxGap)):
		return nil
	case <-ctx.Done():
		return store.NotStarted(ctx.Err())
	}
}

// claim makes this the large import that may publish.
func (l *large) claim() error {
	return l.s.exec(`INSERT OR REPLACE INTO large_import VALUES (1, $1, $2)`, l.token, time.Now())
}

// check returns errOvertaken if the tables no longer follow from the catalog, or others may drop them.
func (l *large) check() error {
	valid, err := l.s.Exec(`
		UPDATE large_import SET written_at = $2 WHERE token = $1
			AND (SELECT version + 1 FROM main.catalog) = (SELECT version FROM temp.catalog)
			AND (SELECT max(version) FROM main.migrations) IS (SELECT migration FROM rehearsed)`, l.token, time.Now())
	if err == nil && valid == 0 {
		err = errOvertaken
	}
	return err
}

// define creates an empty table without indexes.
func (l *large) define(ctx context.Context, table string) error {
	definition, err := store.One(l.s, store.ScanValue[string], `SELECT sql FROM main.sqlite_schema WHERE name = $1`,
		table)
	if err != nil {
		return err
	}
	return l.slice(ctx, func() error {
		return l.s.script(strings.Replace(definition, table, l.next(table), 1))
	})
}

// index creates the indexes of a table that was built, each in a transaction.
func (l *large) index(ctx context.Context, table string) error {
	definitions, err := store.All(l.s, func(r row) (string, error) {
		var name, definition string
		err := r.Scan(&name, &definition)
		_, columns, _ := strings.Cut(definition, "(")
		return `CREATE INDEX ` + otherName(name) + ` ON ` + l.next(table) + ` (` + columns, err
	}, `SELECT name, sql FROM main.sqlite_schema WHERE type = 'index' AND tbl_name = $1 AND sql IS NOT NULL`, table)
	if err != nil {
		return err
	}
	for _, definition := range definitions {
		if err := l.slice(ctx, func() error { return l.s.script(definition) }); err != nil {
			return err
		}
	}
	return nil
}

// next is the name of the table that replaces another.
func (l *large) next(table string) string { return beingBuilt + l.token + table }

// otherName is the name of the index that replaces another.
func otherName(index string) string {
	if first, isSecond := strings.CutSuffix(index, secondName); isSecond {
		return first
	}
	return index + secondName
}

// sliceEnd is the last of the rows after one that are written in one transaction, or nil.
func (l *large) sliceEnd(after int64) (*int64, error) {
	return store.One(l.s, store.ScanValue[*int64], `
		SELECT min(last) FROM (
			SELECT max(row) AS last FROM (SELECT row FROM perks WHERE row > $1 ORDER BY row LIMIT $2)
			UNION ALL SELECT max(perk) FROM (SELECT perk FROM targets WHERE perk > $1 ORDER BY perk
				LIMIT $2))`, after, l.db.sliceRows)
}

// buildRows writes the perks of some rows, those of the file and those that stay, with their stock and words.
func (l *large) buildRows(after, until int64) error {
	const (
		stay = ` FROM perks AS p WHERE p.row > $1 AND p.row <= $2 AND NOT EXISTS (SELECT 1 FROM targets
			WHERE targets.perk = p.row)`
		come = ` FROM targets CROSS JOIN staged AS s ON s.seq = targets.staged WHERE targets.perk > $1
			AND targets.perk <= $2 ORDER BY targets.perk`
	)
	perks, stock, words := l.next("perks"), l.next("perk_stock"), l.next("perk_words")
	return store.Run(l.s.Exec,
		store.Step{Args: []any{after, until}, Text: `INSERT INTO ` + perks + ` SELECT p.*` + stay},
		store.Step{Args: []any{after, until, l.at},
			Text: `INSERT INTO ` + perks + ` (row, id, ` + replacedFields + `) SELECT ` + targetValues(`$3`) + come},
		store.Step{Args: []any{after, until}, Text: `
			INSERT INTO ` + stock + ` (perk, stock, held)
			SELECT new.row, CASE WHEN targets.perk IS NULL THEN old.stock ELSE targets.stock END, ifnull(old.held, 0)
			FROM ` + perks + ` AS new
				LEFT JOIN perk_stock AS old ON old.perk = new.row LEFT JOIN targets ON targets.perk = new.row
			WHERE new.row > $1 AND new.row <= $2 ORDER BY new.row`},
		store.Step{Args: []any{after, until}, Text: `
			INSERT INTO ` + words + ` (rowid, words)
			SELECT p.row, words(p.title, p.description, p.merchant_name)` + stay},
		store.Step{Args: []any{after, until},
			Text: `INSERT INTO ` + words + ` (rowid, words) SELECT targets.perk, s.words` + come},
	)
}

func init() {
	// The words of a perk, which perk_words does not give back.
	sqlite.MustRegisterDeterministicScalarFunction("words", 3,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			var perk store.PerkRecord
			perk.Title, _ = args[0].(string)
			perk.Description, _ = args[1].(string)
			if merchant, ok := args[2].(string); ok {
				perk.MerchantName = &merchant
			}
			return asJSON(store.KeysOf(perk).Words), nil
		})
}

// queueEntries copies many entries of the audit log to a table, from which they are moved to the log after the last
// transaction.
func (l *large) queueEntries(ctx context.Context) error {
	entries, err := store.One(l.s, store.ScanValue[int64], `SELECT count(*) FROM temp.audit`)
	if err != nil || entries <= l.db.largeImport {
		return err
	}
	l.queued = true
	table := l.next("audit")
	err = l.slice(ctx, func() error { return l.s.script(`CREATE TABLE ` + table + entryColumns) })
	for after := int64(0); err == nil && after < entries; after += l.db.sliceRows {
		err = l.slice(ctx, func() error {
			return l.s.exec(`INSERT INTO `+table+` SELECT * FROM temp.audit WHERE row > $1 AND row <= $2 ORDER BY row`,
				after, after+l.db.sliceRows)
		})
	}
	return err
}

// publish makes the import visible, in the last transaction.
func (l *large) publish() error {
	if err := l.check(); err != nil {
		return err
	}
	err := store.Run(l.s.Exec,
		store.Step{Text: `UPDATE main.catalog SET version = version + 1`},
		store.Step{Text: `INSERT INTO main.categories SELECT * FROM temp.categories WHERE id NOT IN (SELECT id
			FROM main.categories)`},
	)
	if err == nil && !l.queued {
		err = l.s.exec(`INSERT INTO main.audit (at, actor, action, subject, before, after)
			SELECT at, actor, action, subject, before, after FROM temp.audit ORDER BY row`)
	}
	if err != nil {
		return err
	}
	if !l.isBuilt {
		return l.s.putPerks(l.at)
	}
	// Redemptions were made and rejected meanwhile.
	script := `UPDATE ` + l.next("perk_stock") +
		` AS new SET held = old.held FROM perk_stock AS old WHERE old.perk = new.perk AND old.held <> new.held`
	for _, table := range replacedTables {
		script += `; ALTER TABLE ` + table + ` RENAME TO ` + replaced + l.token + table + `; ALTER TABLE ` +
			l.next(table) + ` RENAME TO ` + table
	}
	if l.queued {
		script += `; ALTER TABLE ` + l.next("audit") + ` RENAME TO ` + unlogged + l.token + "audit"
	}
	return l.s.script(script)
}
