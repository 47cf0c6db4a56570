package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// A migration of a database that servers work on never makes them wait: a lock that nobody else may have is asked for
// briefly and again later, because whoever comes after a waiting request waits with it.
const (
	lockPatience  = 250 * time.Millisecond
	firstPause    = 20 * time.Millisecond // before a lock is asked for again; doubled each time
	longestPause  = 5 * time.Second
	reminderEvery = 30 * time.Second // of what is waited for
)

// migrationLock is the advisory lock that whoever migrates holds. Only its being the same everywhere matters.
const migrationLock = 0x7065726b73 // "perks"

// holdMigrations keeps other processes from migrating until the connection is closed. It asks again and again instead of
// waiting at the server: CREATE INDEX CONCURRENTLY waits for every statement that is under way, and one that waits for the
// lock would wait for it in turn. For the same reason the connection is used for nothing else, and in the simple protocol,
// after which no snapshot is left.
func holdMigrations(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	p := pauses{log: log}
	for {
		results, err := conn.PgConn().Exec(ctx, fmt.Sprintf(`BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL idle_in_transaction_session_timeout = 0;
			SELECT pg_try_advisory_xact_lock(%d)`, migrationLock)).ReadAll()
		if err == nil && string(results[2].Rows[0][0]) == "t" {
			return conn, nil
		}
		if err == nil {
			_, err = conn.PgConn().Exec(ctx, `ROLLBACK`).ReadAll()
		}
		if err == nil {
			err = p.pause(ctx, "the database is being migrated by another process, which is waited for")
		}
		if err != nil {
			closeBriefly(conn)
			return nil, err
		}
	}
}

// closeBriefly ends a connection and what it holds, whether or not the caller's context has ended.
func closeBriefly(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = conn.Close(ctx)
}

// pauses is the time between attempts, and what is said of them.
type pauses struct {
	log  *slog.Logger
	last time.Duration
	said time.Time
}

func (p *pauses) pause(ctx context.Context, message string, attributes ...any) error {
	if p.last >= firstPause<<3 { // what is over in an instant is not worth a word
		p.say(message, attributes...)
	}
	p.last = min(max(2*p.last, firstPause), longestPause)
	select {
	case <-time.After(p.last):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *pauses) say(message string, attributes ...any) {
	if time.Since(p.said) >= reminderEvery {
		p.said = time.Now()
		p.log.Warn(message, attributes...)
	}
}

const waits = "a migration waits for others to end their transactions; requests are answered meanwhile"

// upgrade applies a migration to a database that may be at work. When it is interrupted, whoever opens the database next
// begins it again: each of its statements passes over what is there.
func upgrade(ctx context.Context, pool *pgxpool.Pool, m Migration, log *slog.Logger) error {
	s, err := m.script()
	if err != nil {
		return err
	}
	p := pauses{log: log}
	for {
		err := pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			return run(ctx, tx.Conn(), fmt.Sprintf(`SET LOCAL lock_timeout = %d`, lockPatience.Milliseconds()), s.atOnce)
		})
		if err == nil {
			break
		}
		if !slices.Contains([]string{"55P03", "40P01"}, sqlState(err)) { // no lock in time, or in a circle
			return err
		}
		if err := p.pause(ctx, waits, "migration", m.Name, "for", whoLocks(ctx, pool)); err != nil {
			return err
		}
	}
	for _, index := range s.indexes {
		if err := makeIndex(ctx, pool, m, index, log); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		if strings.HasSuffix(m.Name, "_texts_folded") { // what of it takes Go
			if err := foldTexts(ctx, tx); err != nil {
				return err
			}
		}
		return record(ctx, tx, m)
	})
}

// makeIndex makes an index beside whoever writes to the table, and says for whom that waits. What an interrupted attempt
// left of the index is of no use to anybody.
func makeIndex(ctx context.Context, pool *pgxpool.Pool, m Migration, index index, log *slog.Logger) error {
	done := make(chan error, 1)
	go func() {
		done <- pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
			broken, err := one(view{ctx, conn}, scanValue[bool], `
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
	p := pauses{log: log}
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for {
		select {
		case err := <-done:
			return err
		case <-look.C:
			if who := whoBlocks(ctx, pool, index); who != "" {
				p.say(waits, "migration", m.Name, "index", index.name, "for", who)
			}
		}
	}
}

// others describes the processes of a query, the one that has been at it for longest first.
const others = `
	SELECT coalesce(string_agg(format('%s of %s, process %s, since %s', coalesce(nullif(application_name, ''), 'a program'), usename, pid,
		coalesce(to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'long')), '; ' ORDER BY xact_start), '')
	FROM (SELECT DISTINCT application_name, usename, pid, xact_start FROM pg_stat_activity `

// whoLocks describes who uses the tables of which a migration wants the lock.
func whoLocks(ctx context.Context, pool *pgxpool.Pool) string {
	return describe(ctx, pool, others+`JOIN pg_locks USING (pid)
		WHERE granted AND pid <> pg_backend_pid() AND relation IN (
			SELECT oid FROM pg_class WHERE relname IN ('redemptions', 'audit') AND pg_table_is_visible(oid))) AS o`)
}

// whoBlocks describes who is waited for by the making of an index.
func whoBlocks(ctx context.Context, pool *pgxpool.Pool, index index) string {
	return describe(ctx, pool, others+`
		WHERE pid IN (SELECT unnest(pg_blocking_pids(pid)) FROM pg_stat_activity
			WHERE datname = current_database() AND starts_with(query, $1))) AS o`, index.concurrently())
}

// describe asks for what is only said: who cannot be told in time is not waited for.
func describe(ctx context.Context, pool *pgxpool.Pool, query string, args ...any) string {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	text, err := one(view{ctx, pool}, scanValue[string], query, args...)
	if err != nil {
		return ""
	}
	return text
}

// script is a migration's statements.
type script struct {
	atOnce  string // in one transaction, which needs locks
	indexes []index
}

// index is one that is made by itself, beside whoever writes to its table.
type index struct{ name, definition string }

func (i index) concurrently() string {
	return `CREATE INDEX CONCURRENTLY IF NOT EXISTS ` + i.name + ` ` + i.definition
}

// whole is the statements for a database that nobody uses yet.
func (s script) whole() string {
	text := s.atOnce
	for _, i := range s.indexes {
		text += `CREATE INDEX ` + i.name + ` ` + i.definition + ";\n"
	}
	return text
}

// madeConcurrently begins the line of an index that is made by itself.
const madeConcurrently = "CREATE INDEX CONCURRENTLY "

// script reads the migration's file.
func (m Migration) script() (s script, err error) {
	text, err := migrationFiles.ReadFile("migrations/" + m.Name + ".sql")
	for line := range strings.Lines(string(text)) {
		rest, isIndex := strings.CutPrefix(line, madeConcurrently)
		if !isIndex {
			s.atOnce += line
			continue
		}
		name, definition, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(rest), ";"), " ")
		s.indexes = append(s.indexes, index{name, definition})
	}
	return s, err
}

// run executes statements in the simple protocol, which takes several of them, and those that run in no transaction.
func run(ctx context.Context, conn *pgx.Conn, scripts ...string) error {
	for _, text := range scripts {
		if _, err := conn.PgConn().Exec(ctx, text).ReadAll(); err != nil {
			return err
		}
	}
	return nil
}
