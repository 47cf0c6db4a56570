package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

// Options is what a DB can be told beside its address.
type Options struct {
	Logger *slog.Logger // nil discards
}

// DB is one PostgreSQL database, open. Reads and writes have connections of their own: a write may wait for a standby for
// as long as that is gone, and reads must not wait with it.
type DB struct {
	log        *slog.Logger
	reads      *pgxpool.Pool
	writes     *pgxpool.Pool
	redeemer   *redeemer
	perkReader *perkReader
	totals     *store.Totals

	readiness readiness
	room      room

	closing  sync.RWMutex // held for reading while a write joins underway
	closed   bool
	underway sync.WaitGroup
	life     context.Context // of writes, whose callers may be gone
	end      context.CancelFunc
}

var _ store.Store = (*DB)(nil)

// Open connects to the database at the address, a URL or a list of keywords and values as libpq reads them, and applies
// migrations that are pending. Beyond libpq's, the address may hold pgx's own parameters: pool_max_conns (of each of two
// pools) and default_query_exec_mode, which is simple_protocol behind a pooler of transactions. A database that is newer
// than the program is refused. The context bounds the opening only.
func Open(ctx context.Context, address string, options Options) (*DB, error) {
	log := options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	config, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	db, err := open(ctx, config, log)
	if err != nil {
		return nil, fmt.Errorf("open the database %s: %w", name(config), err)
	}
	return db, nil
}

func open(ctx context.Context, config *pgxpool.Config, log *slog.Logger) (*DB, error) {
	writes, err := openPool(ctx, config)
	if err != nil {
		return nil, err
	}
	if err := migrate(ctx, writes, log); err != nil {
		writes.Close()
		return nil, err
	}
	reads, err := openPool(ctx, config.Copy())
	if err != nil {
		writes.Close()
		return nil, err
	}
	db := &DB{log: log, reads: reads, writes: writes, totals: store.NewTotals(), room: room{log: log}}
	db.life, db.end = context.WithCancel(context.Background())
	db.redeemer, db.perkReader = newRedeemer(db), &perkReader{db: db}
	return db, nil
}

// errAddress says nothing of the address itself: what cannot be read may hold a password anywhere.
var errAddress = errors.New("the address of the database cannot be read; it must be of the form postgres://USER@HOST:PORT/DATABASE")

// name is how the database is called in errors: its name and host, without who connects and how.
func name(config *pgxpool.Config) string {
	return fmt.Sprintf("%q at %s", config.ConnConfig.Database, config.ConnConfig.Host)
}

// closeTime is how long Close waits. Writes need longer only while the server waits for its standby; their callers then
// know no more than that the outcome is unknown.
const closeTime = 5 * time.Second

// Close waits for the writes under way, refuses new ones, and closes the connections.
func (db *DB) Close() error {
	db.closing.Lock()
	db.closed = true
	db.closing.Unlock()
	giveUp := time.AfterFunc(closeTime, db.end)
	defer giveUp.Stop()
	db.underway.Wait()
	db.end()
	db.writes.Close()
	db.reads.Close()
	return nil
}

// join counts a write as under way until leave, or refuses it because the database is closed.
func (db *DB) join() (leave func(), err error) {
	db.closing.RLock()
	defer db.closing.RUnlock()
	if db.closed {
		return nil, store.NotBegun(errClosed)
	}
	db.underway.Add(1)
	return db.underway.Done, nil
}
