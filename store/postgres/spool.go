package postgres

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
)

// spool keeps the records of an import in a file until the last has come, in the form in which COPY takes them. So no
// connection and no transaction waits for records that are slow to come: an open transaction would keep the database from
// clearing away old versions of rows, and those of a perk that many redeem are read again with each redemption. What
// fails and may be tried again is read from here, too.
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
