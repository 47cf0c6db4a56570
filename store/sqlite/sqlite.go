// Package sqlite keeps the service's data in one SQLite file.
//
// It knows SQL and SQLite's ways (one writer, WAL, busy files) and keeps them to itself: what leaves it is store's
// records and errors. It knows nothing of HTTP.
//
// Writes go through the writer, one goroutine that commits what many callers wait for; reads go through views, which never wait for it. A
// list of perks is a search.
package sqlite

import (
	"context"
	"database/sql"
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

	"example.com/perks/store"
)

// Options is what a DB can be told beside its path.
type Options struct {
	Logger *slog.Logger // nil discards
}

// DB is one SQLite file, open. All writes of the process go through one goroutine, which commits what is queued in one
// transaction; reads have connections of their own and see the last commit. What its methods promise is said at store.Store.
type DB struct {
	store.Operations
	file    file
	log     *slog.Logger
	readers *sql.DB
	writer  *writer
	totals  *store.Totals

	close    sync.Once
	closeErr error
}

var _ store.Store = (*DB)(nil)

// Open opens the database in the file at path. A missing file is made, readable for its owner alone, and migrations that
// are pending are applied. A database that is newer than the program is refused. The context bounds the opening only.
func Open(ctx context.Context, path string, options Options) (*DB, error) {
	log := options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	db, err := open(ctx, path, log)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", path, inWords(err))
	}
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
	first, opened, err := file.migrated(ctx)
	if err != nil {
		return nil, err
	}
	readers, err := file.readers()
	if err != nil {
		return nil, errors.Join(err, first.close())
	}
	db := &DB{file: file, log: log, readers: readers, writer: startWriter(file, opened, first, log), totals: store.NewTotals()}
	db.Operations = store.NewOperations(store.Database{
		Dialect: dialect,
		Write: func(ctx context.Context, doing string, work func(store.Tx) error) error {
			return db.write(ctx, doing, func(s *session) error { return work(s) })
		},
		Latest: func(ctx context.Context) store.Querier { return db.latest(ctx) },
		Snapshot: func(ctx context.Context, work func(store.Querier) error) error {
			return db.snapshot(ctx, func(v view) error { return work(v) })
		},
		AuditNews:  auditNews,
		Import:     db.importRows,
		Restage:    restage,
		MergePerks: mergePerks,
		PerkValues: func(store.PerkRecord) []any { return nil },
		Retry:      func(error) bool { return false },
		Fault:      fault,
	})
	return db, nil
}

// Close waits for the writes that are queued and under way, refuses new ones, and releases the file.
func (db *DB) Close() error {
	db.close.Do(func() {
		// The writer's connection goes last: only it can fold the log back into the file.
		db.writer.drain()
		db.closeErr = db.readers.Close()
		if db.writer.session != nil {
			db.closeErr = errors.Join(db.closeErr, db.writer.session.close())
		}
	})
	return db.closeErr
}

// Ready returns nil only if a write is committed before the context ends, and none has just found the disk full.
func (db *DB) Ready(ctx context.Context) error {
	if db.writer.trouble.isFull() {
		return store.NotBegun(errFull)
	}
	return db.writer.do(&job{ctx: ctx, small: true, work: func(s *session) error {
		return fault("check that the database takes writes", s.exec(`INSERT INTO readiness VALUES (1, CAST(unixepoch('subsec') * 1000000 AS INTEGER))
			ON CONFLICT (one) DO UPDATE SET checked_at = excluded.checked_at`))
	}})
}

// logSuffix makes the name of the database's write-ahead log, memorySuffix that of the index of it, which processes share.
const (
	logSuffix    = "-wal"
	memorySuffix = "-shm"
)

// file is a database file by its absolute path. Where the name that was given is a link, path is what it leads to: there
// SQLite puts the other files.
type file struct{ path, given string }

func newFile(path string) (file, error) {
	given, err := filepath.Abs(path)
	if err != nil {
		return file{}, err
	}
	target, err := filepath.EvalSymlinks(given)
	if errors.Is(err, fs.ErrNotExist) { // it is to be made
		return file{given, given}, nil
	}
	return file{target, given}, err
}

// creating keeps others in this process away while the new file is open: closing any handle of a file drops all of the
// process's POSIX locks on it, SQLite's among them.
var creating sync.Mutex

// create makes the file if it is missing. SQLite gives the mode on to the files that it puts beside it.
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

// busyTime is how long another process's write is waited for.
const busyTime = 5 * time.Second

var busyTimeout = fmt.Sprint(busyTime.Milliseconds())

// maxReaders bounds the reads that run at once. An export holds one for as long as it lasts.
const maxReaders = 16

func (f file) dsn(query url.Values) string {
	address := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(f.path), RawQuery: query.Encode()}
	return address.String()
}

func (f file) readers() (*sql.DB, error) {
	db, err := sql.Open("sqlite", f.dsn(url.Values{
		"mode":          {"ro"},
		"_query_only":   {"1"},
		"_busy_timeout": {busyTimeout},
		"_dqs":          {"0"},
	}))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(maxReaders)
	db.SetMaxIdleConns(maxReaders)
	return db, nil
}

// migrated opens a connection that writes, and brings the schema up to date. SQLite waits for another process's write, but
// not while one makes the log of a new file, or clears it away as the last to close it: that is tried again here. So is a file
// that a restore replaced while its lock was waited for. It returns which file it is, too.
func (f file) migrated(ctx context.Context) (*session, os.FileInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, busyTime)
	defer cancel()
	again := time.NewTicker(busyTime / 500)
	defer again.Stop()
	for {
		session, opened, err := f.migratedOnce(ctx)
		if resultCode(err) != codes.SQLITE_BUSY && !errors.Is(err, errMoved) && !errors.Is(err, errHalfRestored) {
			return session, opened, err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, nil, err
		}
	}
}

func (f file) migratedOnce(ctx context.Context) (*session, os.FileInfo, error) {
	opened, err := os.Stat(f.path)
	if err = errors.Join(err, f.isWhole()); err != nil { // before a new log is begun beside it
		return nil, nil, err
	}
	session, err := f.session(ctx) // which no restore gets past from here on
	if err != nil {
		return nil, nil, err
	}
	if err = errors.Join(isStill(f.path, opened), f.isWhole()); err == nil {
		err = session.migrate()
	}
	if err != nil {
		return nil, nil, errors.Join(err, session.close())
	}
	return session, opened, nil
}

// isWhole returns errHalfRestored for a file whose log a restore has set aside. Whoever has the file open keeps restores away.
func (f file) isWhole() error {
	if _, err := os.Lstat(f.replacing()); err == nil {
		return errHalfRestored
	}
	return nil
}

// session opens a connection that writes. Every commit is on the disk when it returns.
func (f file) session(ctx context.Context) (*session, error) {
	pool, err := sql.Open("sqlite", f.dsn(url.Values{
		"mode":          {"rw"},
		"_journal_mode": {"WAL"},
		"_synchronous":  {"FULL"},
		"_foreign_keys": {"1"},
		"_busy_timeout": {busyTimeout},
		"_dqs":          {"0"},
		"_pragma":       {"cache_size(-32000)", "journal_size_limit(67108864)", "secure_delete(fast)"},
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

func (db *DB) Stats() store.Stats {
	readers := db.readers.Stats()
	return store.Stats{
		Pools: []store.PoolStats{{
			Name:  "reads",
			InUse: readers.InUse, Idle: readers.Idle, Max: readers.MaxOpenConnections,
			Waits: readers.WaitCount, Waited: readers.WaitDuration,
		}},
		Queue: store.QueueStats{Waiting: int(db.writer.waiting.Load()), Capacity: maxQueue, Batches: db.writer.batches.Stats()},
	}
}

// place remembers which files the writing connection works on. What is written to a file that was removed, or replaced by
// another one, is gone when the process ends, although every commit succeeds. The writer's goroutine alone uses it.
type place struct {
	path      string
	given     string      // another name of it, or the same
	main, log os.FileInfo // log is nil until the connection has written
}

// errMoved says that the database is not where it was opened.
var errMoved = errors.New("the file was removed or replaced while the server uses it")

// settle takes the log that the connection has just written to for the right one.
func (p *place) settle() (err error) {
	if p.log == nil {
		p.log, err = os.Stat(p.path + logSuffix)
	}
	return err
}

// check returns errMoved unless others who open the database now open the files that this process works on.
func (p *place) check() error {
	for _, path := range []string{p.given, p.path} {
		if err := isStill(path, p.main); err != nil {
			return err
		}
	}
	return isStill(p.path+logSuffix, p.log)
}

// isStill compares what is at the path with what was there, if that is known.
func isStill(path string, was os.FileInfo) error {
	if was == nil {
		return nil
	}
	is, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !os.SameFile(is, was) {
		return fmt.Errorf("%s: %w", path, errMoved)
	}
	return err
}
