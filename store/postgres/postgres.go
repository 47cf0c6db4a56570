// Package postgres keeps the service's data in a PostgreSQL database, which any number of processes may share. All
// shared state is in the database; what is cached in memory carries a version. It works with and without prepared
// statements, and so behind a pooler.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"example.com/perks/api"
	"example.com/perks/store"
)

// Options are optional settings of a DB.
type Options struct {
	Logger *slog.Logger // nil discards
	// Standbys is an address whose hosts are standbys to read from, or servers that may become standbys; "" is none.
	Standbys string
}

// DB is an open PostgreSQL database. Reads and writes have separate pools, because writes may wait for a standby that
// is down, and reads must not wait with them. store.Store documents its methods.
type DB struct {
	store.Operations
	database   store.Database
	log        *slog.Logger
	reads      *readPool
	writes     *pgxpool.Pool
	settings   []string  // of each transaction, see own
	standbys   *standbys // nil if there are none
	redeemer   *redeemer
	perkReader *perkReader
	lists      *store.PerkLists[perkIDs]

	readiness  singleflight.Group // one check at a time
	diskSpace  diskSpace
	reconnects *reconnects

	readStatements, writeStatements *statements
	waits                           *waits

	closing  sync.RWMutex // held for reading while a write is added to running
	closed   bool
	running  sync.WaitGroup
	lifetime context.Context // of writes that outlive their callers' contexts
	cancel   context.CancelFunc
}

var _ store.Store = (*DB)(nil)

// Open connects to the database at the address, a URL or a libpq connection string, and applies pending migrations. The
// address may also have pgx's parameters pool_max_conns (for each of two pools) and default_query_exec_mode, which is
// simple_protocol behind a pooler of transactions. A database that is newer than the program is refused. The context
// bounds only the opening.
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
	if options.Standbys == "" {
		return db, nil
	}
	identity, err := identityIn(view{ctx, db.reads})
	if err == nil {
		db.standbys, err = openStandbys(options.Standbys, config, identity, db)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read from standbys: %w", err), db.Close())
	}
	return db, nil
}

func open(ctx context.Context, config *pgxpool.Config, log *slog.Logger) (*DB, error) {
	settings, err := own(ctx, config.ConnConfig)
	if err != nil {
		return nil, err
	}
	readStatements, writeStatements := newStatements(), newStatements()
	writes, err := openPool(ctx, traced(config, writeStatements))
	if err != nil {
		return nil, err
	}
	err = checkVersion(view{ctx, writes}, log)
	if err == nil {
		err = migrate(ctx, writes, settings, knownMigrations(), log)
	}
	if err != nil {
		writes.Close()
		return nil, err
	}
	reads, err := openPool(ctx, traced(config, readStatements))
	if err != nil {
		writes.Close()
		return nil, err
	}
	db := &DB{
		log: log, reads: newReadPool(reads), writes: writes, settings: settings,
		lists: store.NewPerkLists[perkIDs](100_000, 1_000_000), diskSpace: diskSpace{log: log},
		reconnects:     newReconnects(log),
		readStatements: readStatements, writeStatements: writeStatements,
	}
	db.waits = &waits{statements: []*statements{readStatements, writeStatements}, log: log,
		connect: func(ctx context.Context) (*pgx.Conn, error) { return pgx.ConnectConfig(ctx, config.ConnConfig) }}
	db.database = store.Database{
		Dialect: dialect,
		Write: func(ctx context.Context, doing string, work func(store.Tx) error) error {
			return db.write(ctx, doing, func(s *session) error { return work(s) })
		},
		Latest: func(ctx context.Context) store.Querier { return view{ctx, db.reads} },
		Snapshot: func(ctx context.Context, work func(store.Querier) error) error {
			return db.snapshot(ctx, "", func(v view) error { return work(customPlanView{v}) })
		},
		SnapshotInOrder: func(ctx context.Context, work func(store.Querier) error) error {
			return db.snapshot(ctx, inOrder, func(v view) error { return work(customPlanView{v}) })
		},
		SnapshotWithin: db.snapshotWithin,
		ListPerks: func(q store.Querier, query store.PerkQuery) (list store.List[api.Perk], err error) {
			s, err := newSearch(q.(customPlanView).view, query)
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
		LockSandbox:   lockSandbox,
		Unprotected:   unprotected,
		MergePerks:    mergePerks,
		PutPerk:       putPerk,
		PerkColumns:   stagedFoldColumns,
		PerkValues:    func(p store.PerkRecord) []any { return folds(p.Perk) },
		Retry:         db.resetIfBroken,
		Fault:         func(doing string, err error) error { return fault(doing, db.waits.explain(err)) },
	}
	db.Operations = store.NewOperations(db.database)
	db.lifetime, db.cancel = context.WithCancel(context.Background())
	db.redeemer = newRedeemer(db)
	db.perkReader = &perkReader{db: db}
	go db.waits.watch(db.lifetime)
	return db, nil
}

// errUnreadableAddress does not quote the address, which may contain a password anywhere.
var errUnreadableAddress = errors.New("the address of the database cannot be read; it must be of the form " +
	"postgres://USER@HOST:PORT/DATABASE")

// name is the database's name and host for errors, without the user and other parameters.
func name(config *pgxpool.Config) string {
	return fmt.Sprintf("%q at %s", config.ConnConfig.Database, config.ConnConfig.Host)
}

// closeTime bounds Close. Writes take longer only while the server waits for its standby. Their outcome is then
// unknown.
const closeTime = 5 * time.Second

// Close refuses new writes, waits for the running ones, and closes the connections.
func (db *DB) Close() error {
	db.closing.Lock()
	db.closed = true
	db.closing.Unlock()
	giveUp := time.AfterFunc(closeTime, db.cancel)
	defer giveUp.Stop()
	db.running.Wait()
	db.cancel()
	db.standbys.close()
	db.writes.Close()
	db.reads.Close()
	return nil
}

// join counts a write as running until leave is called, or refuses it because the database is closed.
func (db *DB) join() (leave func(), err error) {
	db.closing.RLock()
	defer db.closing.RUnlock()
	if db.closed {
		return nil, store.NotStarted(store.ErrClosed)
	}
	db.running.Add(1)
	return db.running.Done, nil
}

func (db *DB) Stats() store.Stats {
	reads, writes := poolStats("reads", db.reads.Pool), poolStats("writes", db.writes)
	reads.Statements, writes.Statements = db.readStatements.times.Stats(), db.writeStatements.times.Stats()
	stats := store.Stats{
		Pools:   []store.PoolStats{reads, writes},
		Commits: db.writeStatements.commits.Stats(),
		Waiting: db.waits.current.Load(),
		Queue: store.QueueStats{
			Waiting: len(db.redeemer.slots), Capacity: maxWaiting, Batches: db.redeemer.batches.Stats(),
		},
	}
	if db.standbys != nil {
		for _, one := range db.standbys.all {
			stats.Pools = append(stats.Pools, poolStats("standby "+one.name, one.reads.Pool))
			stats.Standbys = append(stats.Standbys, one.stats(time.Now()))
		}
	}
	return stats
}

// traced returns a copy of the configuration whose connections tell statements what they run.
func traced(config *pgxpool.Config, by *statements) *pgxpool.Config {
	config = config.Copy()
	config.ConnConfig.Tracer = by
	return config
}

func poolStats(name string, pool *pgxpool.Pool) store.PoolStats {
	s := pool.Stat()
	return store.PoolStats{
		Name:  name,
		InUse: int(s.AcquiredConns()), Idle: int(s.IdleConns()), Max: int(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

// readAt runs work with a view of the database at the address.
func readAt[T any](
	ctx context.Context, doing, address string, work func(store.Querier) (T, error),
) (result T, err error) {
	config, err := parseAddress(address)
	if err != nil {
		return result, err
	}
	return withConnection(ctx, doing, config, func(conn *pgxpool.Conn) (T, error) { return work(view{ctx, conn}) })
}

// withConnection runs work with a connection to the database.
func withConnection[T any](
	ctx context.Context, doing string, config *pgxpool.Config, work func(*pgxpool.Conn) (T, error),
) (result T, err error) {
	pool, err := openPool(ctx, config)
	if err == nil {
		defer pool.Close()
		err = pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) (err error) {
			result, err = work(conn)
			return err
		})
	}
	if err != nil {
		return result, fmt.Errorf("%s of %s: %w", doing, name(config), err)
	}
	return result, nil
}

// Ready returns nil only if a write is committed, also on a synchronous standby, before the context ends. After a write
// that found the disk full this one is large. It fails too while statements wait for a locked table.
func (db *DB) Ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return store.NotStarted(err)
	}
	if err := db.waits.lockedTable(); err != nil {
		return err
	}
	// While a standby is down the check does not end. Concurrent checks would each leave a connection waiting at the
	// server.
	check := db.readiness.DoChan("", func() (any, error) {
		wasShort := db.diskSpace.isFull()
		err := db.write(db.lifetime, "check that the database takes writes", func(s *session) error {
			if wasShort {
				if err := db.diskSpace.probe(s); err != nil {
					return err
				}
			}
			return s.exec(`INSERT INTO readiness VALUES (1, now()) ON CONFLICT (one) DO UPDATE
				SET checked_at = excluded.checked_at`)
		})
		if wasShort && err == nil {
			db.diskSpace.recovered()
		}
		return nil, err
	})
	select {
	case result := <-check:
		return result.Err
	case <-ctx.Done():
		return store.Unavailable(db.waits.explain(ctx.Err()))
	}
}
