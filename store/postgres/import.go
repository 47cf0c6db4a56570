package postgres

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/perks/api"
	"example.com/perks/store"
)

// staging says how the records of one kind are brought in.
type staging[T any] struct {
	columns []column      // of the temporary table "staged", beside the place of the record; one is the id
	values  func(T) []any // in the order of columns
	merge   func(*session) (created, changed int64, err error)
	changes string // the tables that merge writes to
}

// importRecords collects the records in a file, and then brings all of them into the database in one transaction: a copy
// to a temporary table, which no one else sees or waits for, and a merge. A temporary table and one transaction, because
// behind a pooler the next transaction may have another session.
func importRecords[T any](ctx context.Context, db *DB, what store.Import, staging staging[T], records iter.Seq2[T, error]) (store.Imported, error) {
	doing := "import " + what.Records
	spool, err := collect(ctx, doing, staging, records)
	if err != nil {
		return store.Imported{}, err
	}
	defer spool.close() // what a caller who leaves has begun to copy, fails then
	var imported store.Imported
	err = db.write(ctx, doing, func(s *session) (err error) {
		if imported.Count, err = s.stage(spool); err != nil {
			return err
		}
		if imported.Created, imported.Changed, err = staging.merge(s); err != nil {
			return err
		}
		imported.Unchanged = imported.Count - imported.Created - imported.Changed
		return what.Audit(s, imported)
	})
	if err != nil {
		return store.Imported{}, err
	}
	if imported.Created+imported.Changed >= manyRecords {
		db.tidy(ctx, staging.changes)
	}
	return imported, nil
}

// collect puts the records into a file. Their own errors are returned as they are.
func collect[T any](ctx context.Context, doing string, staging staging[T], records iter.Seq2[T, error]) (*spool, error) {
	spool, err := newSpool(staging.columns)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	for record, err := range records {
		if err != nil {
			spool.close()
			return nil, err
		}
		if err := cmp.Or(ctx.Err(), spool.add(spool.count, staging.values(record))); err != nil {
			spool.close()
			return nil, fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := spool.finish(); err != nil {
		spool.close()
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return spool, nil
}

// stage makes the temporary table of what is in the spool, with the last record of each id, and returns how many it has.
func (s *session) stage(spool *spool) (int64, error) {
	var definitions []string
	for _, c := range spool.columns {
		definitions = append(definitions, c.name+" "+c.definition)
	}
	if err := s.exec(`CREATE TEMP TABLE staged (` + strings.Join(definitions, ", ") + `) ON COMMIT DROP`); err != nil {
		return 0, err
	}
	if err := s.copyToStaged(spool); err != nil {
		return 0, err
	}
	replaced, err := s.execCount(`
		DELETE FROM staged AS s
		USING (SELECT id, max(place) AS place FROM staged GROUP BY id HAVING count(*) > 1) AS last
		WHERE s.id = last.id AND s.place < last.place`)
	if err != nil {
		return 0, err
	}
	return spool.count - replaced, s.exec(`ANALYZE staged`)
}

func (s *session) copyToStaged(spool *spool) error {
	var names []string
	for _, c := range spool.columns {
		names = append(names, c.name)
	}
	text := `COPY staged (` + strings.Join(names, ", ") + `) FROM STDIN (FORMAT binary)`
	_, err := s.tx.Conn().PgConn().CopyFrom(s.ctx, spool.reader(), text)
	return err
}

// rowColumns are those of a record's store.Row, for kinds whose records need not be whole.
var rowColumns = []column{integerColumn("line"), integerColumn("absent")}

// partials says how staged records of a kind are made whole.
type partials[T store.Overlay[T]] struct {
	kind    store.Kind
	columns []column
	values  func(T) []any
	scan    func(row) (T, error)
	known   string // selects what store.ScanPartial reads, of the staged records that are not whole
	table   string // where the kind's records are
	lacks   string // of absent, what a new record cannot do without
}

// makeWhole gives the staged records of known ids the fields that their rows leave open. The caller, or the query, sees to
// it that no one else changes those fields before the commit. Rows that cannot be made whole are refused.
func makeWhole[T store.Overlay[T]](s *session, p partials[T]) error {
	whole, err := newSpool(p.columns)
	if err != nil {
		return err
	}
	defer whole.close()
	missing := store.Each(s, p.kind.ScanMissing, `
		SELECT line, id::text, lacks FROM (SELECT *, `+p.lacks+` AS lacks FROM staged) AS new
		WHERE lacks & $1 <> 0 AND NOT EXISTS (SELECT 1 FROM `+p.table+` AS old WHERE old.id = new.id) ORDER BY place`, int64(p.kind.Needs()))
	err = store.MakeWhole(store.Each(s, store.ScanPartial(p.scan), p.known), missing, func(place int64, record T) error {
		return whole.add(place, p.values(record))
	})
	if err != nil || whole.count == 0 {
		return err
	}
	if err := whole.finish(); err != nil {
		return err
	}
	if err := s.exec(`DELETE FROM staged AS new USING ` + p.table + ` AS old WHERE new.absent <> 0 AND old.id = new.id`); err != nil {
		return err
	}
	if err := s.copyToStaged(whole); err != nil {
		return err
	}
	return s.exec(`ANALYZE staged`)
}

func (db *DB) ImportUsers(ctx context.Context, rows iter.Seq2[store.User, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "users", By: by, At: at}, staging[store.User]{
		columns: []column{textColumn("id")},
		values:  func(user store.User) []any { return []any{user.ID} },
		merge: func(s *session) (created, changed int64, err error) {
			created, err = s.execCount(`INSERT INTO users (id) SELECT id FROM staged ORDER BY id ON CONFLICT (id) DO NOTHING`)
			return created, 0, err
		},
		changes: `users`,
	}, rows)
}

func (db *DB) ImportCategories(ctx context.Context, rows iter.Seq2[api.Category, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "categories", By: by, At: at}, staging[api.Category]{
		columns: []column{textColumn("id"), textColumn("name"), textColumn("name_fold")},
		values: func(category api.Category) []any {
			return []any{category.ID, category.Name, store.Fold(category.Name)}
		},
		merge:   mergeCategories,
		changes: `categories, perks`,
	}, rows)
}

// mergeCategories lets perks follow their category to its new name. Of several categories of one name, perks belong to
// the one with the lowest id.
func mergeCategories(s *session) (created, changed int64, err error) {
	err = store.Run(s.execCount,
		store.Step{Text: raiseVersion},
		store.Step{Text: `
			CREATE TEMP TABLE renamed ON COMMIT DROP AS
				SELECT old.name_fold AS old_fold, new.name, new.name_fold
				FROM categories AS old JOIN staged AS new ON new.id = old.id
				WHERE new.name <> old.name AND old.id = (SELECT min(id) FROM categories WHERE name_fold = old.name_fold)`},
		store.Step{Count: &changed, Text: `
			UPDATE categories AS old SET name = new.name, name_fold = new.name_fold
			FROM staged AS new WHERE old.id = new.id AND old.name <> new.name`},
		store.Step{Count: &created, Text: `
			INSERT INTO categories (id, name, name_fold)
			SELECT id, name, name_fold FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM categories AS old WHERE old.id = new.id)`},
		store.Step{Text: `
			UPDATE perks SET category = renamed.name, category_fold = renamed.name_fold
			FROM renamed WHERE perks.category_fold = renamed.old_fold`},
	)
	return created, changed, err
}

// raiseVersion begins every change of perks or categories. The version's row stays locked until the transaction ends, so one such change
// goes on at a time: the ids of new categories are free to take, and no two imports wait for each other's rows in a circle.
const raiseVersion = `UPDATE catalog SET version = version + 1`

func (db *DB) ImportProperties(ctx context.Context, rows iter.Seq2[store.PropertyRecord, error], by store.Actor, at time.Time) (store.Imported, error) {
	return importRecords(ctx, db, store.Import{Records: "properties", By: by, At: at}, staging[store.PropertyRecord]{
		columns: stagedProperties,
		values:  stagedPropertyValues,
		merge:   mergeProperties,
		changes: `properties`,
	}, rows)
}

var stagedProperties = slices.Concat(rowColumns, []column{
	integerColumn("id"), textColumn("owner"), textColumn("title"), textColumn("description"), textColumn("address"),
	textColumn("city"), textColumn("postcode"), textsColumn("images"), textColumn("price_pw"), integerColumn("bedrooms"),
	integerColumn("bathrooms"), numberColumn("lat"), numberColumn("lng"), numberColumn("deposit"),
})

func stagedPropertyValues(p store.PropertyRecord) []any {
	return slices.Concat([]any{p.Row.Line, int64(p.Row.Absent)}, propertyValues(p))
}

var propertyFields = strings.Split(strings.Join(strings.Fields(propertyColumns), ""), ",")

// partialProperties locks what it reads, so that a listing does not change while its record is made whole.
var partialProperties = partials[store.PropertyRecord]{
	kind: store.PropertyKind, columns: stagedProperties, values: stagedPropertyValues, scan: scanProperty, table: `properties`,
	lacks: fmt.Sprintf(`CASE WHEN owner = '' THEN absent ELSE absent & ~%d END`, store.OwnerField),
	known: `
		SELECT new.place, new.line, new.absent, ` + of("new", propertyFields) + `, ` + of("old", propertyFields) + `
		FROM staged AS new JOIN properties AS old ON old.id = new.id WHERE new.absent <> 0 FOR UPDATE OF old`,
}

func mergeProperties(s *session) (created, changed int64, err error) {
	if err := s.exec(lockNewProperties); err != nil {
		return 0, 0, err
	}
	if err := makeWhole(s, partialProperties); err != nil {
		return 0, 0, err
	}
	if err := store.NoStranger(s, `SELECT owner FROM staged WHERE owner NOT IN (SELECT id FROM clients) ORDER BY id LIMIT 1`); err != nil {
		return 0, 0, err
	}
	err = store.Run(s.execCount,
		store.Step{Count: &changed, Text: `
			UPDATE properties AS old SET (` + propertyColumns + `) = ROW (` + of("new", propertyFields) + `)
			FROM staged AS new WHERE old.id = new.id AND (` + of("old", propertyFields) + `) IS DISTINCT FROM (` + of("new", propertyFields) + `)`},
		store.Step{Count: &created, Text: `
			INSERT INTO properties (` + propertyColumns + `)
			SELECT ` + propertyColumns + ` FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM properties AS old WHERE old.id = new.id)`},
	)
	return created, changed, err
}

// manyRecords is how many are worth the time to tidy up after.
const manyRecords = 10_000

// tidy lets the server count what is in the tables now, and mark the pages that everyone can see, without which lists
// read more than an index. The import is done by then, and autovacuum would do this too, only later.
func (db *DB) tidy(ctx context.Context, tables string) {
	if _, err := db.writes.Exec(ctx, `VACUUM (ANALYZE) `+tables); err != nil {
		db.log.Warn("the tables of an import were not tidied up; autovacuum will", "tables", tables, "error", err)
	}
}

// spool keeps the records of an import in a file until the last has come, in the form in which COPY takes them. So no connection and no
// transaction waits for records that are slow to come: an open transaction would keep the database from clearing away old versions of rows,
// and those of a perk that many redeem are read again with each redemption. What fails and may be tried again is read from here, too.
type spool struct {
	file    *os.File
	out     *bufio.Writer
	columns []column
	types   *pgtype.Map
	row     []byte
	count   int64
}

// column is a column of a table that records are copied to.
type column struct {
	name       string
	definition string // its type, as CREATE TABLE takes it
	oid        uint32 // the same type, as the protocol names it
}

// placeColumn is the first of every spool, and holds which record it is.
var placeColumn = integerColumn("place")

// Text is compared as the tables compare it.
func textColumn(name string) column    { return column{name, `text COLLATE "C"`, pgtype.TextOID} }
func textsColumn(name string) column   { return column{name, `text[]`, pgtype.TextArrayOID} }
func instantColumn(name string) column { return column{name, `timestamptz`, pgtype.TimestamptzOID} }
func integerColumn(name string) column { return column{name, `bigint`, pgtype.Int8OID} }
func numberColumn(name string) column  { return column{name, `double precision`, pgtype.Float8OID} }

// copyHeader is the signature of COPY's binary form, and two empty fields; copyTrailer stands where a row would begin.
const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	copyTrailer = "\xff\xff"
)

func newSpool(columns []column) (*spool, error) {
	file, err := os.CreateTemp("", "perksd-import-") // readable for its owner alone
	if err != nil {
		return nil, fmt.Errorf("make a temporary file for what is imported (TMPDIR says where): %w", err)
	}
	os.Remove(file.Name()) // it stays readable here, and a crash leaves nothing behind
	s := &spool{file: file, out: bufio.NewWriterSize(file, 1<<16), columns: slices.Concat([]column{placeColumn}, columns), types: pgtype.NewMap()}
	s.out.WriteString(copyHeader) // an error stays with the writer
	return s, nil
}

// add keeps one record: its place among them, and a value for each column that newSpool was given.
func (s *spool) add(place int64, values []any) error {
	values = slices.Concat([]any{place}, values)
	s.row = binary.BigEndian.AppendUint16(s.row[:0], uint16(len(s.columns))) // #nosec G115 -- a table has a few columns
	for i, column := range s.columns {
		if err := s.encode(column, values[i]); err != nil {
			return fmt.Errorf("write down the %s of record %d: %w", column.name, s.count+1, err)
		}
	}
	s.count++
	if _, err := s.out.Write(s.row); err != nil {
		return fmt.Errorf("keep what is imported in a temporary file: %w", err)
	}
	return nil
}

// encode appends a value after its length, which is -1 for null.
func (s *spool) encode(column column, value any) error {
	start := len(s.row)
	s.row = append(s.row, 0xff, 0xff, 0xff, 0xff)
	encoded, err := s.types.Encode(column.oid, pgx.BinaryFormatCode, value, s.row)
	if err != nil || encoded == nil {
		return err
	}
	s.row = encoded
	binary.BigEndian.PutUint32(s.row[start:], uint32(len(s.row)-start-4)) // #nosec G115 -- a value is at most as long as a row of an import
	return nil
}

// finish makes the spool ready to be read.
func (s *spool) finish() error {
	s.out.WriteString(copyTrailer)
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("keep what is imported in a temporary file: %w", err)
	}
	return nil
}

// reader reads the whole spool, each time anew.
func (s *spool) reader() io.Reader { return io.NewSectionReader(s.file, 0, math.MaxInt64) }

func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name()) // again, because it could not be removed while it was open everywhere
}

// Each export is one query, and one query sees one moment.

func (db *DB) ExportPerks(ctx context.Context) iter.Seq2[store.PerkRecord, error] {
	return stream(ctx, db, "export perks", scanPerkRecord, `
		SELECT `+perkColumns+`, p.lat, p.lng, s.stock, p.approval
		FROM perks AS p JOIN perk_stock AS s ON s.perk_id = p.id ORDER BY p.id`)
}

func scanPerkRecord(r row) (record store.PerkRecord, err error) {
	record.Perk, err = scanPerk(rowBefore{r, []any{&record.Lat, &record.Lng, &record.Stock, &record.Approval}})
	return record, err
}

func (db *DB) ExportCategories(ctx context.Context) iter.Seq2[api.Category, error] {
	return stream(ctx, db, "export categories", scanCategory, `SELECT id, name FROM categories ORDER BY id`)
}

func (db *DB) ExportUsers(ctx context.Context) iter.Seq2[store.User, error] {
	return stream(ctx, db, "export users", func(r row) (u store.User, err error) {
		return u, r.Scan(&u.ID)
	}, `SELECT id FROM users ORDER BY id`)
}

func (db *DB) ExportProperties(ctx context.Context) iter.Seq2[store.PropertyRecord, error] {
	return stream(ctx, db, "export properties", scanProperty, `SELECT `+propertyColumns+` FROM properties ORDER BY id`)
}

const exportRedemptions = `SELECT ` + redemptionColumns + `, r.client_id FROM redemptions AS r`

func (db *DB) ExportRedemptions(ctx context.Context, status api.RedemptionStatus) iter.Seq2[store.RedemptionRecord, error] {
	const doing = "export redemptions"
	if status == "" {
		return stream(ctx, db, doing, scanRedemptionRecord, exportRedemptions+` ORDER BY r.id`)
	}
	return stream(ctx, db, doing, scanRedemptionRecord, exportRedemptions+` WHERE r.status = $1 ORDER BY r.id`, string(status))
}

func scanRedemptionRecord(r row) (record store.RedemptionRecord, err error) {
	record.Redemption, err = scanRedemption(rowBefore{r, []any{&record.ClientID}})
	return record, err
}
