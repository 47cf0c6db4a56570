// Package sqlite keeps the service's data in one SQLite file.
//
// All writes of a process go through one goroutine, the writer, which commits the jobs of many callers in one
// transaction. Reads use views, and never wait for it. A list of perks is a search.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"
	codes "modernc.org/sqlite/lib"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Options are optional settings of a DB.
type Options struct {
	Logger *slog.Logger // nil discards
	// SliceRows is how many perks an import writes in one transaction. At 0 it is the usual number.
	SliceRows int64
}

// DB is an open SQLite file. store.Store documents its methods.
type DB struct {
	store.Operations
	file    file
	log     *slog.Logger
	readers *sql.DB
	writer  *writer
	lists   *store.PerkLists[rowIDs]

	largeImport, sliceRows int64
	merging                chan struct{} // holds a value while an import or a reset writes
	disk                   *disk

	close    sync.Once
	closeErr error
}

var _ store.Store = (*DB)(nil)

// Open opens the database at path, creates the file with mode 0600 if it is missing, and applies pending migrations. A
// database that is newer than the program is refused. The context bounds only the opening.
func Open(ctx context.Context, path string, options Options) (*DB, error) {
	log := options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	db, err := open(ctx, path, log)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, explainCode(err))
	}
	db.largeImport, db.sliceRows = cmp.Or(options.SliceRows, largeImport), cmp.Or(options.SliceRows, sliceRows)
	db.finishOrWarn(ctx, "")
	return db, nil
}

func open(ctx context.Context, path string, log *slog.Logger) (*DB, error) {
	file, err := newFile(path)
	if err != nil {
		return nil, err
	}
	if err := file.create(); err != nil {
		return nil, err
	}
	first, opened, err := file.openMigrated(ctx)
	if err != nil {
		return nil, err
	}
	db := &DB{file: file, log: log, readers: file.readers(opened), writer: startWriter(file, opened, first, log),
		lists:       store.NewPerkLists[rowIDs](100_000, 1_000_000),
		largeImport: largeImport, sliceRows: sliceRows, merging: make(chan struct{}, 1), disk: newDisk(file.path, log)}
	db.disk.watch()
	db.Operations = store.NewOperations(store.Database{
		Dialect: dialect,
		Write: func(ctx context.Context, doing string, work func(store.Tx) error) error {
			return db.write(ctx, doing, func(s *session) error { return work(s) })
		},
		Latest:          func(ctx context.Context) store.Querier { return db.latest(ctx) },
		Snapshot:        db.snapshot,
		SnapshotInOrder: db.snapshot,
		SnapshotWithin:  db.snapshotWithin,
		ListPerks: func(q store.Querier, query store.PerkQuery) (list store.List[api.Perk], err error) {
			s, err := newSearch(q.(view), query)
			if err != nil {
				return list, err
			}
			return db.lists.List(s.view.ctx, s)
		},
		AuditEnd:      auditEnd,
		AuditRange:    auditRange,
		AuditNewest:   auditNewest,
		AuditPlaceOf:  auditPlaceOf,
		Import:        db.importRows,
		ReplaceStaged: replaceStaged,
		LockSandbox:   func(tx store.Tx) error { return store.Run(tx.Exec, store.Step{Text: store.RaiseVersion}) },
		Unprotected:   unprotected,
		MergePerks:    mergePerks,
		PutPerk:       putPerk,
		PerkValues:    func(store.PerkRecord) []any { return nil },
		Retry:         func(error) bool { return false },
		Fault:         db.fault,
	})
	return db, nil
}

// Close refuses new writes, waits for the queued ones, and closes the file.
func (db *DB) Close() error {
	db.close.Do(func() {
		// The writer's connection is closed last, because only it can checkpoint the log.
		db.disk.close()
		db.writer.drain()
		db.writer.damage.close()
		db.closeErr = db.readers.Close()
		if db.writer.session != nil {
			db.closeErr = errors.Join(db.closeErr, db.writer.session.close())
		}
	})
	return db.closeErr
}

// Ready returns nil only if a write is committed before the context ends, and no recent write found the disk full.
func (db *DB) Ready(ctx context.Context) error {
	if db.writer.health.isFull() {
		return store.NotStarted(errFull)
	}
	return db.writer.do(&job{ctx: ctx, small: true, work: func(s *session) error {
		return fault("check that the database takes writes",
			s.exec(`INSERT INTO readiness VALUES (1, CAST(unixepoch('subsec') * 1000000 AS INTEGER))
			ON CONFLICT (one) DO UPDATE SET checked_at = excluded.checked_at`))
	}})
}

// The suffixes of the write-ahead log, and of its index, which processes share.
const (
	logSuffix    = "-wal"
	memorySuffix = "-shm"
)

// file is the absolute path of a database. If given is a symbolic link, path is its target: SQLite puts the other files
// there.
type file struct{ path, given string }

func newFile(path string) (file, error) {
	given, err := filepath.Abs(path)
	if err != nil {
		return file{}, err
	}
	target, err := filepath.EvalSymlinks(given)
	if errors.Is(err, fs.ErrNotExist) { // it will be created
		return file{given, given}, nil
	}
	return file{target, given}, err
}

// creating serializes create within the process: closing any handle of a file drops all POSIX locks that the process
// has on it, SQLite's too.
var creating sync.Mutex

// create creates the file if it is missing. SQLite uses its mode for the other files too.
func (f file) create() error {
	creating.Lock()
	defer creating.Unlock()
	handle, err := os.OpenFile(f.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return handle.Close()
}

// busyTime is how long to wait for a write of another process. It leaves time to answer within the deadline of a
// request.
const busyTime = 10 * time.Second

var busyTimeout = fmt.Sprint(busyTime.Milliseconds())

// maxReaders bounds concurrent reads. An export is one of them until it ends.
const maxReaders = 16

func (f file) dsn(query url.Values) string {
	address := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(f.path), RawQuery: query.Encode()}
	return address.String()
}

// readers opens connections that only read, each when it is first needed. If opened is given, they read that file, or
// fail with errReplaced.
func (f file) readers(opened os.FileInfo) *sql.DB {
	db := sql.OpenDB(readConnector{f.path, opened, f.dsn(url.Values{
		"mode":          {"ro"},
		"_query_only":   {"1"},
		"_pragma":       {"cache_size(-1000)"},
		"_busy_timeout": {busyTimeout},
		"_dqs":          {"0"},
	})})
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db
}

// readConnector opens one of the readers.
type readConnector struct {
	path   string
	opened os.FileInfo
	dsn    string
}

func (c readConnector) Connect(context.Context) (driver.Conn, error) {
	if err := checkSameFile(c.path, c.opened); err != nil { // SQLite would blame the rights of a missing file
		return nil, err
	}
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	if err := checkSameFile(c.path, c.opened); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (readConnector) Driver() driver.Driver { return registered }

// registered is the driver that has this package's functions.
var registered = func() driver.Driver {
	db, err := sql.Open("sqlite", "")
	if err != nil {
		panic(err) // it is imported
	}
	defer db.Close()
	return db.Driver()
}()

// openMigrated opens a connection that writes, and migrates the schema. It retries where SQLite does not wait: while
// another process creates or deletes the log, or a restore replaces the file. It also returns the file's identity.
func (f file) openMigrated(ctx context.Context) (*session, os.FileInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	again := time.NewTicker(busyTime / 500)
	defer again.Stop()
	for {
		session, opened, err := f.openMigratedOnce(ctx)
		if resultCode(err) != codes.SQLITE_BUSY && !errors.Is(err, errReplaced) && !errors.Is(err, errHalfRestored) {
			return session, opened, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

func (f file) openMigratedOnce(ctx context.Context) (*session, os.FileInfo, error) {
	opened, err := os.Stat(f.path)
	if err = errors.Join(err, f.checkNotHalfRestored()); err != nil { // before SQLite creates a new log
		return nil, nil, err
	}
	session, err := f.session(ctx) // keeps restores out from here on
	if err != nil {
		return nil, nil, err
	}
	if err = errors.Join(checkSameFile(f.path, opened), f.checkNotHalfRestored()); err == nil {
		err = session.migrate(knownMigrations())
	}
	if err != nil {
		return nil, nil, errors.Join(err, session.close())
	}
	return session, opened, nil
}

// checkNotHalfRestored returns errHalfRestored if a restore was interrupted. No restore can start while the file is
// open.
func (f file) checkNotHalfRestored() error {
	if _, err := os.Lstat(f.replacing()); err == nil {
		return errHalfRestored
	}
	return nil
}

// session opens a connection that writes. A commit returns when it is on disk.
func (f file) session(ctx context.Context) (*session, error) {
	pool, err := sql.Open("sqlite", f.dsn(url.Values{
		"mode":          {"rw"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		"_busy_timeout": {busyTimeout},
		"_dqs":          {"0"},
		"_pragma":       {"cache_size(-16000)", "journal_size_limit(67108864)", "secure_delete(fast)"},
	}))
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	return &session{pool: pool, conn: conn, prepared: map[string]*sql.Stmt{}}, nil
}

// Position is "", because a file has no standbys.
func (db *DB) Position(context.Context) (store.Position, error) { return "", nil }

func (db *DB) Stats() store.Stats {
	readers := db.readers.Stats()
	return store.Stats{
		Pools: []store.PoolStats{{
			Name:  "reads",
			InUse: readers.InUse, Idle: readers.Idle, Max: readers.MaxOpenConnections,
			Waits: readers.WaitCount, Waited: readers.WaitDuration,
		}},
		Commits:  db.writer.commits.Stats(),
		LogBytes: logSize(db.file),
		Disk:     db.disk.stats(),
		Queue: store.QueueStats{
			Waiting: int(db.writer.waiting.Load()), Capacity: maxQueue, Batches: db.writer.batches.Stats(),
		},
	}
}

// fileIdentity is which files the writing connection has open. Writes to a file that was deleted or replaced are lost
// when the process ends, although every commit succeeds. Only the writer's goroutine uses it.
type fileIdentity struct {
	path      string
	given     string      // path, or a symbolic link to it
	main, log os.FileInfo // log is nil until the connection has written
}

// errReplaced says that the path no longer leads to the open file.
var errReplaced = errors.New("the file was deleted or replaced while the server was using it")

// noteLog remembers the log that the connection has just created.
func (f *fileIdentity) noteLog() (err error) {
	if f.log == nil {
		f.log, err = os.Stat(f.path + logSuffix)
	}
	return err
}

// check returns errReplaced unless the paths still lead to the open files.
func (f *fileIdentity) check() error {
	for _, path := range []string{f.given, f.path} {
		if err := checkSameFile(path, f.main); err != nil {
			return err
		}
	}
	return checkSameFile(f.path+logSuffix, f.log)
}

// checkSameFile compares the file at the path with an earlier one, if that is known.
func checkSameFile(path string, was os.FileInfo) error {
	if was == nil {
		return nil
	}
	is, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, was) {
		return fmt.Errorf("%s: %w", path, errReplaced)
	}
	return err
}
