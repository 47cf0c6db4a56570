package postgres

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"example.com/perks/store"
)

// importRows collects the records in a file, and then writes all of them in one transaction: a COPY to a temporary
// table, which blocks nobody, and a merge. Behind a pooler, a second transaction might not see the temporary table.
func (db *DB) importRows(ctx context.Context, i store.Import) (imported store.Imported, err error) {
	doing := "import " + i.Records
	spool, err := newSpool(i.Columns)
	if err != nil {
		return imported, fmt.Errorf("%s: %w", doing, err)
	}
	defer spool.close() // a COPY that outlives the caller fails then
	for values, err := range i.Rows {
		if err != nil {
			return imported, err
		}
		if err := cmp.Or(ctx.Err(), spool.add(spool.count, values)); err != nil {
			return imported, fmt.Errorf("%s: %w", doing, err)
		}
	}
	if err := spool.finish(); err != nil {
		return imported, fmt.Errorf("%s: %w", doing, err)
	}
	var result store.Imported // the write may still set it after an error
	err = db.write(ctx, doing, func(s *session) error {
		count, err := s.stage(spool)
		if err == nil {
			result, err = i.Merge(s, count)
		}
		return err
	})
	if err != nil {
		return imported, err
	}
	if result.Created+result.Changed >= manyRecords {
		db.vacuum(ctx, map[string]string{
			"users": `users`, "categories": `categories, perks`, "properties": `properties, imported_properties`,
			"perks": `perks, perk_folds, perk_stock`,
		}[i.Records])
	}
	return result, nil
}

// stage creates the temporary table from the spool, keeps the last record of each id, and returns their number.
func (s *session) stage(spool *spool) (int64, error) {
	var definitions []string
	for _, c := range spool.columns {
		definitions = append(definitions, c.Name+" "+types[c.Type].definition)
	}
	if err := s.exec(`CREATE TEMP TABLE staged (` + strings.Join(definitions, ", ") + `) ON COMMIT DROP`); err != nil {
		return 0, err
	}
	if err := s.copyToStaged(spool); err != nil {
		return 0, err
	}
	replaced, err := s.Exec(`
		DELETE FROM staged AS s
		USING (SELECT id, max(seq) AS seq FROM staged GROUP BY id HAVING count(*) > 1) AS last
		WHERE s.id = last.id AND s.seq < last.seq`)
	if err != nil {
		return 0, err
	}
	return spool.count - replaced, s.exec(`ANALYZE staged`)
}

func (s *session) copyToStaged(spool *spool) error {
	var names []string
	for _, c := range spool.columns {
		names = append(names, c.Name)
	}
	text := `COPY staged (` + strings.Join(names, ", ") + `) FROM STDIN (FORMAT binary)`
	_, err := s.tx.Conn().PgConn().CopyFrom(s.ctx, io.NewSectionReader(spool.file, 0, math.MaxInt64), text)
	return err
}

// replaceStaged collects the records in a spool first, because write reads the staged ones meanwhile.
func replaceStaged(
	tx store.Tx, columns []store.Column, write func(put func(seq int64, values []any) error) error,
) error {
	s := tx.(*session)
	whole, err := newSpool(columns)
	if err != nil {
		return err
	}
	defer whole.close()
	if err := write(whole.add); err != nil || whole.count == 0 {
		return err
	}
	if err := whole.finish(); err != nil {
		return err
	}
	if err := s.copyToStaged(whole); err != nil {
		return err
	}
	if err := s.exec(`DELETE FROM staged AS s USING staged AS whole WHERE s.absent <> 0 AND whole.absent = 0
		AND whole.seq = s.seq`); err != nil {
		return err
	}
	return s.exec(`ANALYZE staged`)
}

// manyRecords is how many changes are worth a VACUUM.
const manyRecords = 10_000

// vacuum updates the statistics and the visibility map, without which lists read more than an index. Autovacuum would
// do so later.
func (db *DB) vacuum(ctx context.Context, tables string) {
	if _, err := db.writes.Exec(ctx, `VACUUM (ANALYZE) `+tables); err != nil {
		db.log.Warn("VACUUM after an import failed; autovacuum will do it", "tables", tables, "error", err)
	}
}

// stagedFoldColumns are those of foldedTexts.
var stagedFoldColumns = []store.Column{{Name: "description_fold"}, {Name: "image_url_fold"},
	{Name: "discount_text_fold"}, {Name: "terms_fold"}}

// mergePerks changes the stock last: nobody can redeem a perk from the change of its stock to the commit. Unchanged
// rows are neither written nor locked.
func mergePerks(tx store.Tx, by store.Actor, at time.Time) (created, changed int64, err error) {
	err = store.Run(tx.Exec,
		dialect.AuditPerks(by, at),
		store.Step{Text: updatePerks, Args: []any{at}, Count: &changed},
		store.Step{Text: insertPerks, Args: []any{at}, Count: &created},
		store.Step{Text: deleteFolds},
		store.Step{Text: insertFolds},
		store.Step{Text: `
			INSERT INTO perk_stock (perk_id, stock)
			SELECT id, stock FROM staged AS new
			WHERE NOT EXISTS (SELECT 1 FROM perk_stock AS old WHERE old.perk_id = new.id)`},
		store.Step{Text: `
			UPDATE perk_stock AS old SET stock = new.stock
			FROM staged AS new WHERE old.perk_id = new.id AND old.stock IS DISTINCT FROM new.stock`},
	)
	return created, changed, err
}

var (
	updated  = store.ImportedPerkFields + ", created_at, updated_at, words"
	existing = store.Of("old", store.ImportedPerkFields) + ", old.created_at, old.words"
	incoming = store.Of("new", store.ImportedPerkFields) +
		", coalesce(new.created_at, old.created_at), array_to_tsvector(new.words)"

	updatePerks = `
		UPDATE perks AS old SET (` + updated + `) = ROW (` + store.Of("new", store.ImportedPerkFields) + `,
			coalesce(new.created_at, old.created_at), coalesce(new.updated_at, $1), array_to_tsvector(new.words))
		FROM staged AS new JOIN perk_stock AS stock ON stock.perk_id = new.id
		WHERE old.id = new.id AND (` + existing + `, old.updated_at, stock.stock)
			IS DISTINCT FROM (` + incoming + `, coalesce(new.updated_at, old.updated_at), new.stock)`

	insertPerks = `
		INSERT INTO perks (id, ` + updated + `)
		SELECT new.id, ` + store.Of("new", store.ImportedPerkFields) + `,
			coalesce(new.created_at, $1), coalesce(new.updated_at, $1), array_to_tsvector(new.words)
		FROM staged AS new WHERE NOT EXISTS (SELECT 1 FROM perks AS old WHERE old.id = new.id)`
)

// spool collects the records of an import in a file, in the format of COPY, so that no transaction is open while they
// arrive: that would keep PostgreSQL from removing dead rows, which slows down redeeming. Retries read it again.
type spool struct {
	file    *os.File
	out     *bufio.Writer
	columns []store.Column
	types   *pgtype.Map
	row     []byte
	count   int64
}

// types are those of columns, for CREATE TABLE and for the protocol. Text has the collation of the tables.
var types = [...]struct {
	definition string
	oid        uint32
}{
	store.Text:    {`text COLLATE "C"`, pgtype.TextOID},
	store.Texts:   {`text[]`, pgtype.TextArrayOID},
	store.Instant: {`timestamptz`, pgtype.TimestamptzOID},
	store.Integer: {`bigint`, pgtype.Int8OID},
	store.Number:  {`double precision`, pgtype.Float8OID},
}

// copyHeader and copyTrailer frame the rows of a binary COPY.
const (
	copyHeader  = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	copyTrailer = "\xff\xff"
)

func newSpool(columns []store.Column) (*spool, error) {
	file, err := os.CreateTemp("", "perksd-import-") // mode 0600
	if err != nil {
		return nil, fmt.Errorf("create a temporary file for the import (TMPDIR says where): %w", err)
	}
	os.Remove(file.Name()) // the handle stays open, and a crash leaves no file
	columns = slices.Concat([]store.Column{{Name: "seq", Type: store.Integer}}, columns)
	s := &spool{file: file, out: bufio.NewWriterSize(file, 1<<16), columns: columns, types: pgtype.NewMap()}
	s.out.WriteString(copyHeader) // Flush returns the error
	return s, nil
}

// add appends a record: its number, and a value for each column.
func (s *spool) add(seq int64, values []any) error {
	values = slices.Concat([]any{seq}, values)
	s.row = binary.BigEndian.AppendUint16(s.row[:0], uint16(len(s.columns))) // #nosec G115 -- a table has a few columns
	for i, column := range s.columns {
		if err := s.encode(column, values[i]); err != nil {
			return fmt.Errorf("encode the %s of record %d: %w", column.Name, s.count+1, err)
		}
	}
	s.count++
	if _, err := s.out.Write(s.row); err != nil {
		return fmt.Errorf("write the import to a temporary file: %w", err)
	}
	return nil
}

// encode appends a value after its length, which is -1 for null.
func (s *spool) encode(column store.Column, value any) error {
	start := len(s.row)
	s.row = append(s.row, 0xff, 0xff, 0xff, 0xff)
	encoded, err := s.types.Encode(types[column.Type].oid, pgx.BinaryFormatCode, value, s.row)
	if err != nil || encoded == nil {
		return err
	}
	s.row = encoded
	binary.BigEndian.PutUint32(s.row[start:],
		uint32(len(s.row)-start-4)) // #nosec G115 -- a value is at most as long as a row of an import
	return nil
}

// finish completes the file for reading.
func (s *spool) finish() error {
	s.out.WriteString(copyTrailer)
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write the import to a temporary file: %w", err)
	}
	return nil
}

func (s *spool) close() {
	s.file.Close()
	os.Remove(s.file.Name()) // again, because some systems cannot remove open files
}
