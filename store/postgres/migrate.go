package postgres

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

func knownMigrations() []store.Migration { return store.Migrations(migrationFiles) }

// Status returns the migrations, applied and pending, of the database at the address. It changes nothing.
func Status(ctx context.Context, address string) ([]store.Migration, error) {
	return readAt(ctx, "read the migrations", address, func(q store.Querier) ([]store.Migration, error) {
		return appliedMigrations(q, knownMigrations())
	})
}

// migrate applies those of the migrations that are pending. Of several processes one does so, and the others wait. A
// database without pending ones is only read, so it may be a standby. A new database gets all migrations in one
// transaction; an older one may be in use, and gets each by upgrade.
func migrate(
	ctx context.Context, pool *pgxpool.Pool, settings []string, known []store.Migration, log *slog.Logger,
) error {
	migrations, err := appliedMigrations(view{ctx, pool}, known)
	if err != nil || len(store.Pending(migrations)) == 0 {
		return err
	}
	held, err := lockMigrations(ctx, pool, log)
	if err != nil {
		return err
	}
	defer closeBriefly(held)
	if migrations, err = appliedMigrations(view{ctx, pool}, known); err != nil {
		return err
	}
	if len(store.Pending(migrations)) == len(migrations) {
		return inTransaction(ctx, pool, settings, func(tx pgx.Tx) error {
			for _, m := range migrations {
				if err := apply(ctx, tx, m); err != nil {
					return fmt.Errorf("apply migration %s: %w", m.Name, err)
				}
			}
			return nil
		})
	}
	for _, m := range store.Pending(migrations) {
		if err := upgrade(ctx, pool, settings, m, log); err != nil {
			return fmt.Errorf("apply migration %s: %w", m.Name, err)
		}
	}
	return nil
}

func inTransaction(ctx context.Context, pool *pgxpool.Pool, settings []string, work func(pgx.Tx) error) error {
	return pgx.BeginTxFunc(ctx, pool, writeOptions(settings), work)
}

// apply runs a migration in a new database.
func apply(ctx context.Context, tx pgx.Tx, m store.Migration) error {
	if err := run(ctx, tx.Conn(), strings.ReplaceAll(m.Script, madeConcurrently, "INDEX ")); err != nil {
		return err
	}
	return record(ctx, tx, m)
}

func record(ctx context.Context, tx pgx.Tx, m store.Migration) error {
	if err := run(ctx, tx.Conn(), `CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY,
		name text NOT NULL, applied_at timestamptz NOT NULL)`); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO migrations VALUES ($1, $2, now())`, m.Version, m.Name)
	return err
}

func appliedMigrations(q store.Querier, known []store.Migration) ([]store.Migration, error) {
	// A scan of pg_class sees the latest commit. to_regclass may use a cache from before the wait for the lock.
	return store.Applied(q, known,
		`SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'migrations' AND pg_table_is_visible(oid))`)
}

// A migration must not block the servers that use the database. It waits for an exclusive lock only briefly and then
// retries, because every later request for the table queues behind a waiting one.
const (
	lockTimeout          = 250 * time.Millisecond
	minLockWait          = 20 * time.Millisecond // doubled after each try
	maxLockWait          = 5 * time.Second
	migrationLogInterval = 30 * time.Second // how often a wait is logged
)

// migrationLock is the advisory lock of migrations. The number is arbitrary.
const migrationLock = 0x7065726b73 // "perks"

// lockMigrations keeps other processes from migrating until the connection is closed. It polls for the lock: CREATE
// INDEX CONCURRENTLY waits for every running statement, so one that blocked on the lock would deadlock with it. For the
// same reason the connection does nothing else, and uses the simple protocol, which leaves no snapshot behind.
func lockMigrations(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	p := lockBackoff{log: log}
	for {
		lock := fmt.Sprintf(`SELECT pg_try_advisory_xact_lock(%d)`, migrationLock)
		statements := writeOptions(append(transactionSettings(conn.Config()), lock))
		results, err := conn.PgConn().Exec(ctx, statements.BeginQuery).ReadAll()
		if err == nil && string(results[len(results)-1].Rows[0][0]) == "t" {
			return conn, nil
		}
		if err == nil {
			_, err = conn.PgConn().Exec(ctx, `ROLLBACK`).ReadAll()
		}
		if err == nil {
			err = p.wait(ctx, "waiting for another process to finish migrating the database")
		}
		if err != nil {
			closeBriefly(conn)
			return nil, err
		}
	}
}

// closeBriefly closes a connection, even if the caller's context is done.
func closeBriefly(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = conn.Close(ctx)
}

// lockBackoff doubles the time between tries, and logs the reason from time to time.
type lockBackoff struct {
	log      *slog.Logger
	last     time.Duration
	loggedAt time.Time
}

func (p *lockBackoff) wait(ctx context.Context, message string, attributes ...any) error {
	if p.last >= minLockWait<<3 { // do not log short waits
		p.logSometimes(message, attributes...)
	}
	p.last = min(max(2*p.last, minLockWait), maxLockWait)
	select {
	case <-time.After(p.last):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *lockBackoff) logSometimes(message string, attributes ...any) {
	if time.Since(p.loggedAt) >= migrationLogInterval {
		p.loggedAt = time.Now()
		p.log.Warn(message, attributes...)
	}
}

const migrationWaits = "a migration waits for others to end their transactions; requests are answered meanwhile"

// upgrade applies a migration to a database that may be in use. If it is interrupted, the next process runs it again,
// so each statement skips what exists.
func upgrade(ctx context.Context, pool *pgxpool.Pool, settings []string, m store.Migration, log *slog.Logger) error {
	s := scriptOf(m)
	p := lockBackoff{log: log}
	for {
		err := inTransaction(ctx, pool, settings, func(tx pgx.Tx) error {
			return run(ctx, tx.Conn(), fmt.Sprintf(`SET LOCAL lock_timeout = %d`, lockTimeout.Milliseconds()), s.atOnce)
		})
		if err == nil {
			break
		}
		if !slices.Contains([]string{"55P03", "40P01"}, sqlState(err)) { // lock timeout, or deadlock
			return err
		}
		if err := p.wait(ctx, migrationWaits, "migration", m.Name, "for", whoLocks(ctx, pool)); err != nil {
			return err
		}
	}
	for _, index := range s.indexes {
		if err := makeIndex(ctx, pool, m, index, log); err != nil {
			return err
		}
	}
	return inTransaction(ctx, pool, settings, func(tx pgx.Tx) error { return record(ctx, tx, m) })
}

// makeIndex builds an index while others write to the table, and logs which transactions it waits for. It first drops
// the invalid index of an interrupted try.
func makeIndex(ctx context.Context, pool *pgxpool.Pool, m store.Migration, index index, log *slog.Logger) error {
	done := make(chan error, 1)
	go func() {
		done <- pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			broken, err := store.One(view{ctx, conn}, store.ScanValue[bool], `
				SELECT EXISTS (SELECT FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
					WHERE relname = $1 AND pg_table_is_visible(indexrelid) AND NOT indisvalid)`, index.name)
			if err != nil {
				return err
			}
			if broken {
				if err := run(ctx, conn.Conn(), `DROP INDEX CONCURRENTLY IF EXISTS `+index.name); err != nil {
					return err
				}
			}
			return run(ctx, conn.Conn(), index.concurrently())
		})
	}()
	p := lockBackoff{log: log}
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-ticker.C:
			if who := whoBlocks(ctx, pool, index); who != "" {
				p.logSometimes(migrationWaits, "migration", m.Name, "index", index.name, "for", who)
			}
		}
	}
}

// describeOthers describes the processes that the rest of the query selects, the oldest transaction first.
const describeOthers = `
	SELECT coalesce(string_agg(format('%s of %s, process %s, since %s',
		coalesce(nullif(application_name, ''), 'a program'), usename, pid,
		coalesce(to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'long')),
		'; ' ORDER BY xact_start), '')
	FROM (SELECT DISTINCT application_name, usename, pid, xact_start FROM pg_stat_activity `

// whoLocks describes who uses the tables of the database: the migration locks some of them.
func whoLocks(ctx context.Context, pool *pgxpool.Pool) string {
	return describe(ctx, pool, describeOthers+`JOIN pg_locks USING (pid)
		WHERE granted AND pid <> pg_backend_pid() AND relation IN (
			SELECT oid FROM pg_class WHERE relkind = 'r' AND pg_table_is_visible(oid) 
				AND NOT starts_with(relname, 'pg_'))) AS o`)
}

// whoBlocks describes which transactions the build of an index waits for.
func whoBlocks(ctx context.Context, pool *pgxpool.Pool, index index) string {
	return describe(ctx, pool, describeOthers+`
		WHERE pid IN (SELECT unnest(pg_blocking_pids(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND starts_with(query, $1))) AS o`, index.concurrently())
}

// describe returns "" if the query fails or takes too long: the result is only logged.
func describe(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) string {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	text, err := store.One(view{ctx, pool}, store.ScanValue[string], query, args...)
	if err != nil {
		return ""
	}
	return text
}

// script is the statements of a migration.
type script struct {
	atOnce  string // run in one transaction, which needs locks
	indexes []index
}

// index is built outside a transaction, while others write to its table.
type index struct{ create, name, definition string }

func (i index) concurrently() string {
	return i.create + madeConcurrently + `IF NOT EXISTS ` + i.name + ` ` + i.definition
}

// madeConcurrently is in the line of such an index, after CREATE or CREATE UNIQUE.
const madeConcurrently = "INDEX CONCURRENTLY "

func scriptOf(m store.Migration) (s script) {
	for line := range strings.Lines(m.Script) {
		create, rest, isIndex := strings.Cut(line, madeConcurrently)
		if !isIndex {
			s.atOnce += line
			continue
		}
		name, definition, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ";"), " ")
		s.indexes = append(s.indexes, index{create, name, definition})
	}
	return s
}

// run executes scripts in the simple protocol, which allows several statements and adds no transaction.
func run(ctx context.Context, conn *pgx.Conn, scripts ...string) error {
	for _, text := range scripts {
		if _, err := conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}
