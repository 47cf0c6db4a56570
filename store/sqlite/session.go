package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"syscall"
	"time"

	driversqlite "modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"

	"example.com/perks/api"
	"example.com/perks/store"
)

// view reads committed data: a snapshot in a transaction, or the latest for each query.
type view struct {
	ctx  context.Context
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	}
}

// schemaTries is how often a query begins while a large import of another connection changes the schema. SQLite itself
// tries twice. While the schema changed all the time, some queries needed more than 20; the request's time ends it too.
const schemaTries = 1000

func (v view) Query(text string, args ...any) (store.Rows, error) {
	for tries := 1; ; tries++ {
		found, err := v.from.QueryContext(v.ctx, text, driverValues(args)...)
		if resultCode(err) != codes.SQLITE_SCHEMA || tries == schemaTries {
			return rows{found}, err
		}
	}
}

// snapshot runs work with a consistent view. It fails with store.ErrTimeLimit if a list takes longer than its context
// allows.
func (db *DB) snapshot(ctx context.Context, work func(store.Querier) error) error {
	if within, isLimited := store.ListTime(ctx); isLimited {
		return db.snapshotWithin(ctx, within, work)
	}
	return db.snapshotOf(ctx, work)
}

func (db *DB) snapshotOf(ctx context.Context, work func(store.Querier) error) error {
	tx, err := db.readers.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return work(view{ctx, tx})
}

// snapshotWithin fails with store.ErrTimeLimit when its own time is over, and not when the caller's is.
func (db *DB) snapshotWithin(ctx context.Context, within time.Duration, work func(store.Querier) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, within, store.ErrTimeLimit)
	defer cancel()
	err := db.snapshotOf(limited, work)
	if err != nil && context.Cause(limited) == store.ErrTimeLimit {
		return store.ErrTimeLimit
	}
	return err
}

// latest returns a view for a single query.
func (db *DB) latest(ctx context.Context) view { return view{ctx, db.readers} }

// write runs work in a transaction of the writer, and returns when it is durable.
func (db *DB) write(ctx context.Context, doing string, work func(*session) error) error {
	return db.writer.do(&job{ctx: ctx, work: func(s *session) error {
		clear(s.eligibility) // work may change the perks
		return fault(doing, work(s))
	}})
}

// writeExclusive runs prepare, which holds no lock, and then work in a transaction, during which this process writes
// nothing else. Both use a connection of their own.
func (db *DB) writeExclusive(ctx context.Context, doing, whose string, prepare, work func(*session) error) error {
	s, err := db.file.session(ctx)
	if err != nil {
		return fault(doing, err)
	}
	defer func() {
		if closeErr := s.close(); closeErr != nil {
			db.log.Warn("the connection of "+whose+" did not close", "error", closeErr)
		}
	}()
	if err := prepare(s); err != nil {
		return fault(doing, err)
	}
	return fault(doing, db.writer.doExclusive(ctx,
		func() error { return s.inTransaction(func() error { return work(s) }) }))
}

func (db *DB) Perk(ctx context.Context, id string) (api.Perk, error) {
	perk, err := store.OneOr(store.PerkNotFound(id), db.latest(ctx), store.ScanPerk,
		`SELECT `+store.PerkColumns+` FROM perks AS p WHERE p.id = $1`, id)
	return perk, db.fault("read a perk", err)
}

// row is one row of a result, to be scanned.
type row = store.Scanner

// driverValues converts arguments: times are stored as microseconds, and lists as JSON.
func driverValues(args []any) []any {
	converted := make([]any, 0, len(args))
	for _, arg := range args {
		if named, ok := arg.(store.Named); ok {
			for name, value := range named {
				converted = append(converted, sql.Named(name, driverValues([]any{value})[0]))
			}
			continue
		}
		switch v := arg.(type) {
		case time.Time:
			arg = v.UnixMicro()
		case *time.Time:
			if arg = nil; v != nil {
				arg = v.UnixMicro()
			}
		case []string:
			arg = asJSON(v)
		}
		converted = append(converted, arg)
	}
	return converted
}

func asJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers can always be written
	}
	return string(text)
}

// rows reverses driverValues.
type rows struct{ *sql.Rows }

func (r rows) Scan(into ...any) error {
	for i := range into {
		switch into[i].(type) {
		case *time.Time, **time.Time, *[]string:
			into[i] = stored{into[i]}
		}
	}
	return r.Rows.Scan(into...)
}

// stored scans a converted value.
type stored struct{ into any }

func (k stored) Scan(value any) error {
	switch into := k.into.(type) {
	case *[]string:
		text, _ := value.(string)
		return json.Unmarshal([]byte(text), into)
	case **time.Time:
		if *into = nil; value == nil {
			return nil
		}
		*into = new(time.Time)
		return stored{*into}.Scan(value)
	case *time.Time:
		micros, isTime := value.(int64)
		if !isTime {
			return fmt.Errorf("%v is not a time", value)
		}
		*into = time.UnixMicro(micros).UTC()
	}
	return nil
}

// session is one connection that writes. It caches prepared statements by text, so the texts must be constants. Its
// statements take no context, because a write that has begun is finished.
type session struct {
	pool        *sql.DB // of this connection alone
	conn        *sql.Conn
	prepared    map[string]*sql.Stmt
	eligibility map[string]*eligibility // perks as the redemptions of the transaction leave them, by id; see redeem
}

func (s *session) statement(text string) (*sql.Stmt, error) {
	if statement, ok := s.prepared[text]; ok {
		return statement, nil
	}
	statement, err := s.conn.PrepareContext(context.Background(), text)
	if err == nil {
		s.prepared[text] = statement
	}
	return statement, err
}

func (s *session) run(text string, args []any) (sql.Result, error) {
	statement, err := s.statement(text)
	if err != nil {
		return nil, err
	}
	return statement.Exec(driverValues(args)...)
}

func (s *session) exec(text string, args ...any) error {
	_, err := s.run(text, args)
	return err
}

func (s *session) Exec(text string, args ...any) (int64, error) {
	result, err := s.run(text, args)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// insert returns the row id of the inserted row.
func (s *session) insert(text string, args ...any) (int64, error) {
	result, err := s.run(text, args)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// script runs statements without caching them.
func (s *session) script(text string) error {
	_, err := s.conn.ExecContext(context.Background(), text)
	return err
}

func (s *session) Query(text string, args ...any) (store.Rows, error) {
	statement, err := s.statement(text)
	if err != nil {
		return nil, err
	}
	found, err := statement.Query(driverValues(args)...)
	return rows{found}, err
}

// inTransaction runs work in a transaction that takes the write lock first, and commits it unless work fails. After an
// error the session must be closed, which rolls back.
func (s *session) inTransaction(work func() error) error {
	if err := s.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	return s.commit()
}

// commit returns a store.OutcomeUnknownError if it fails without a certain rollback.
func (s *session) commit() error {
	err := s.exec("COMMIT")
	if err != nil && !isRolledBack(err) {
		return &store.OutcomeUnknownError{Cause: err}
	}
	return err
}

// withDropped drops the indexes or triggers that match a condition, runs work, and creates them again, in the open
// transaction.
func (s *session) withDropped(work func() error, which string) error {
	type part struct{ drop, definition string }
	parts, err := store.All(s, func(r row) (p part, err error) {
		return p, r.Scan(&p.drop, &p.definition)
	}, `SELECT 'DROP ' || type || ' ' || name, sql FROM main.sqlite_schema WHERE `+which)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.script(part.drop); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	for _, part := range parts {
		if err := s.script(part.definition); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) close() error {
	var err error
	for _, statement := range s.prepared {
		err = errors.Join(err, statement.Close())
	}
	return errors.Join(err, s.conn.Close(), s.pool.Close())
}

// errFull is why Ready fails although its small write might fit.
var errFull = errors.New("the disk of the database was full a moment ago")

func fault(doing string, err error) error {
	return store.Fault(doing, explainCode(err), isTransient(err), resultCode(err) != 0)
}

// fault is the function fault for reads: it also looks for damage. The writer does that for writes.
func (db *DB) fault(doing string, err error) error {
	db.writer.damage.suspect(err)
	return fault(doing, err)
}

// explainCode explains SQLite's errors about the disk and the file.
func explainCode(err error) error {
	switch resultCode(err) {
	case codes.SQLITE_FULL:
		return fmt.Errorf("the disk is full: %w", err)
	case codes.SQLITE_IOERR:
		return fmt.Errorf("the disk cannot be read or written: %w", err)
	case codes.SQLITE_CORRUPT:
		return fmt.Errorf("the disk failed, or the database is damaged; check the disk before you restore a backup "+
			"with "+
			"'perksd restore': %w", err)
	case codes.SQLITE_NOTADB:
		return fmt.Errorf("it is not a SQLite database, or it is damaged: %w", err)
	case codes.SQLITE_READONLY, codes.SQLITE_CANTOPEN:
		return fmt.Errorf("this user cannot open and write the file or its directory: %w", err)
	}
	if errors.Is(err, syscall.ENOTDIR) {
		return errors.New("a part of this path is a file, not a directory")
	}
	return err
}

// resultCode is SQLite's primary result code, or 0 if the error is not SQLite's. Of joined errors the first counts.
func resultCode(err error) int {
	var failure *driversqlite.Error
	if !errors.As(err, &failure) {
		return 0
	}
	return failure.Code() & 0xff
}

func isTransient(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED, codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_READONLY,
		codes.SQLITE_CANTOPEN, codes.SQLITE_NOMEM, codes.SQLITE_PROTOCOL, codes.SQLITE_INTERRUPT, codes.SQLITE_SCHEMA,
		codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB: // perhaps only the disk fails; see damage
		return true
	}
	return errors.Is(err, errReplaced) || errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone)
}

// isRolledBack tells whether a COMMIT that failed with the error has certainly written nothing: a constraint was
// violated, a lock timed out, or the disk was full. After other failures, such as one of fsync, the write may survive a
// crash.
func isRolledBack(err error) bool {
	switch resultCode(err) {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_BUSY, codes.SQLITE_FULL:
		return true
	}
	return false
}
