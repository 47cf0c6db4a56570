package postgres

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
)

const (
	waitInterval  = time.Second     // between two looks at statements that take long
	longStatement = 2 * time.Second // what has run for so long is looked at
	lockedFor     = 3 * time.Second // after which a locked table makes the database unready
)

// statements measures the statements of a pool, and remembers those that are running. It implements pgx's tracers.
type statements struct {
	times, commits store.DurationMeter

	mu      sync.Mutex
	running map[*pgx.Conn]runningStatement // a connection runs one at a time
}

func newStatements() *statements { return &statements{running: map[*pgx.Conn]runningStatement{}} }

type runningStatement struct {
	since    time.Time
	isCommit bool
}

const commitStatement = "commit"

func (s *statements) begin(conn *pgx.Conn, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[conn] = runningStatement{time.Now(), strings.EqualFold(text, commitStatement)}
}

func (s *statements) end(conn *pgx.Conn) {
	s.mu.Lock()
	ended, isKnown := s.running[conn]
	delete(s.running, conn)
	s.mu.Unlock()
	if !isKnown {
		return
	}
	took := time.Since(ended.since)
	s.times.Observe(took)
	if ended.isCommit {
		s.commits.Observe(took)
	}
}

// isAnyLong tells whether a statement has run for longStatement.
func (s *statements) isAnyLong() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.running {
		if time.Since(one.since) >= longStatement {
			return true
		}
	}
	return false
}

// TraceQueryStart is part of pgx.QueryTracer.
func (s *statements) TraceQueryStart(
	ctx context.Context, conn *pgx.Conn, data pgx.TraceQueryStartData,
) context.Context {
	s.begin(conn, data.SQL)
	return ctx
}

// TraceQueryEnd is part of pgx.QueryTracer.
func (s *statements) TraceQueryEnd(_ context.Context, conn *pgx.Conn, _ pgx.TraceQueryEndData) {
	s.end(conn)
}

// TraceBatchStart is part of pgx.BatchTracer. Statements that are sent together count as one.
func (s *statements) TraceBatchStart(ctx context.Context, conn *pgx.Conn, _ pgx.TraceBatchStartData) context.Context {
	s.begin(conn, "")
	return ctx
}

// TraceBatchQuery is part of pgx.BatchTracer.
func (s *statements) TraceBatchQuery(_ context.Context, _ *pgx.Conn, data pgx.TraceBatchQueryData) {
	if strings.EqualFold(data.SQL, commitStatement) {
		s.commits.Observe(time.Since(data.ReadStartTime))
	}
}

// TraceBatchEnd is part of pgx.BatchTracer.
func (s *statements) TraceBatchEnd(_ context.Context, conn *pgx.Conn, _ pgx.TraceBatchEndData) {
	s.end(conn)
}

// waits finds out why statements take long. While one does, it has a connection of its own, because all others may be
// waiting too.
type waits struct {
	statements []*statements
	connect    func(context.Context) (*pgx.Conn, error)
	log        *slog.Logger
	current    atomic.Pointer[store.Wait] // nil if nothing waits
	last       atomic.Pointer[seenWait]   // the last one that was seen

	logged   store.Wait // the last one in the log
	loggedAt time.Time
}

type seenWait struct {
	store.Wait
	at time.Time
}

// watch looks until the context ends.
func (w *waits) watch(ctx context.Context) {
	ticker := time.NewTicker(waitInterval)
	defer ticker.Stop()
	var conn *pgx.Conn
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			if conn != nil {
				closeBriefly(conn)
			}
			return
		}
		var found *store.Wait
		if slices.ContainsFunc(w.statements, (*statements).isAnyLong) {
			found, conn = w.look(ctx, conn)
		} else if conn != nil {
			closeBriefly(conn)
			conn = nil
		}
		if w.current.Store(found); found != nil {
			w.last.Store(&seenWait{*found, time.Now()})
		}
		w.logSometimes(found)
	}
}

// look returns the statement that waits for the most important reason, or nil, and the connection for the next look.
func (w *waits) look(ctx context.Context, conn *pgx.Conn) (*store.Wait, *pgx.Conn) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if conn == nil {
		var err error
		if conn, err = w.connect(ctx); err != nil {
			return nil, nil
		}
	}
	found, err := store.All(view{ctx, conn}, func(r row) (wait store.Wait, err error) {
		return wait, r.Scan(&wait.Table, &wait.IsTable, &wait.Statement, &wait.BlockedBy, &wait.Since)
	}, waitingStatement)
	if err != nil {
		closeBriefly(conn)
		return nil, nil
	}
	if len(found) == 0 {
		return nil, conn
	}
	return &found[0], conn
}

// waitingStatement selects a statement of this service that waits: one for a whole table first, because others will
// wait for it too, then the one that has waited longest. A statement that waits for a row holds the lock on it, so that
// the table is known.
const waitingStatement = `
	SELECT coalesce((SELECT relname FROM pg_class WHERE pg_class.oid = coalesce(l.relation,
			(SELECT relation FROM pg_locks AS t WHERE t.pid = a.pid AND t.locktype = 'tuple' AND t.granted LIMIT 1)
		)), ''),
		l.locktype IS NOT DISTINCT FROM 'relation',
		left(btrim(regexp_replace(a.query, '\s+', ' ', 'g')), 200),
		CASE WHEN l.pid IS NULL THEN 'a synchronous standby' ELSE (` + describeOthers + `
			WHERE pid IN (SELECT unnest(pg_blocking_pids(a.pid)))) AS o) END,
		coalesce(l.waitstart, a.query_start)
	FROM pg_stat_activity AS a LEFT JOIN pg_locks AS l ON l.pid = a.pid AND NOT l.granted
	WHERE a.datname = current_database() AND a.usename = current_user AND a.pid <> pg_backend_pid()
		AND (l.pid IS NOT NULL OR a.wait_event = 'SyncRep')
		AND coalesce(l.waitstart, a.query_start) < clock_timestamp() - interval '1 second'
	ORDER BY l.locktype IS NOT DISTINCT FROM 'relation' DESC, coalesce(l.waitstart, a.query_start) LIMIT 1`

// logSometimes logs a new wait at once, the same again each minute, and the end of what was logged.
func (w *waits) logSometimes(found *store.Wait) {
	if found == nil {
		if !w.loggedAt.IsZero() {
			w.log.Info("statements no longer wait in the database", "table", w.logged.Table)
		}
		w.logged, w.loggedAt = store.Wait{}, time.Time{}
		return
	}
	if found.Table == w.logged.Table && found.IsTable == w.logged.IsTable && time.Since(w.loggedAt) < logInterval {
		return
	}
	w.logged, w.loggedAt = *found, time.Now()
	w.log.Warn("statements wait in the database", "table", found.Table, "statement", found.Statement,
		"waits_for", found.BlockedBy, "since", found.Since.UTC().Format(time.RFC3339))
}

// explain adds to the error of work that took too long what waits in the database, or did so just now: a statement that
// has given up no longer waits.
func (w *waits) explain(err error) error {
	found := w.last.Load()
	if found == nil || time.Since(found.at) > 2*waitInterval {
		return err
	}
	if store.IsContextError(err) && !errors.As(err, new(*store.WaitError)) {
		return &store.WaitError{Wait: found.Wait, Cause: err}
	}
	return err
}

// lockedTable returns an error if statements have waited for a whole table for lockedFor.
func (w *waits) lockedTable() error {
	if found := w.current.Load(); found != nil && found.IsTable && time.Since(found.Since) >= lockedFor {
		return store.NotStarted(&store.WaitError{Wait: *found, Cause: errTableLocked})
	}
	return nil
}

var errTableLocked = errors.New("a table is locked")
