package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/time/rate"

	"example.com/perks/store"
)

// write runs work in a transaction and returns when it is durable. If the context ends first, it returns NotStarted and
// the work never runs, or Unavailable if the work has begun and continues. It retries the whole work if the server
// certainly rolled it back.
func (db *DB) write(ctx context.Context, doing string, work func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return store.NotStarted(err)
	}
	leave, err := db.join()
	if err != nil {
		return err
	}
	var claim claim
	done := make(chan error, 1) // buffered, so that the work never blocks if the caller has gone
	go func() {
		defer leave()
		err := db.writeWithRetries(ctx, &claim, work)
		// abandoned before its COMMIT, so rolled back
		if store.IsContextError(err) && !errors.As(err, new(*store.OutcomeUnknownError)) {
			done <- store.NotStarted(fmt.Errorf("%s: %w", doing, err))
			return
		}
		done <- fault(doing, err)
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return claim.abandon(db.waits.explain(ctx.Err()))
	}
}

// claim decides a race: either the write begins, or its caller abandons it first.
type claim struct{ state atomic.Int32 }

const (
	claimOpen int32 = iota
	claimStarted
	claimOutcomeUnknown
	claimAbandoned
)

// begin returns false after abandon. A retry calls it again.
func (c *claim) begin() bool {
	return c.state.CompareAndSwap(claimOpen, claimStarted) || c.state.Load() != claimAbandoned
}

// failed records that a try failed: rolled back, so that the next may begin, or with an unknown outcome.
func (c *claim) failed(err error) {
	if errors.As(err, new(*store.OutcomeUnknownError)) {
		c.state.CompareAndSwap(claimStarted, claimOutcomeUnknown)
		return
	}
	c.state.CompareAndSwap(claimStarted, claimOpen)
}

func (c *claim) isOutcomeUnknown() bool { return c.state.Load() == claimOutcomeUnknown }

// abandon returns the error for a caller whose context is done.
func (c *claim) abandon(cause error) error {
	if c.state.CompareAndSwap(claimOpen, claimAbandoned) {
		return store.NotStarted(cause)
	}
	return store.Unavailable(cause)
}

// writeWithRetries retries transient failures while the caller waits.
func (db *DB) writeWithRetries(ctx context.Context, claim *claim, work func(*session) error) error {
	for backoff := newBackoff(); ; {
		err := db.transact(ctx, claim, work)
		var unclear *store.OutcomeUnknownError
		db.diskSpace.noteError(err)
		if err != nil {
			claim.failed(err)
		}
		if err == nil || errors.As(err, &unclear) || !isRetryable(err) {
			return err
		}
		db.resetIfBroken(err)
		if !backoff.next(ctx) {
			return err
		}
	}
}

// transact runs the work in one transaction. After an error it was rolled back, unless that is a
// store.OutcomeUnknownError.
func (db *DB) transact(ctx context.Context, claim *claim, work func(*session) error) error {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	store.Dequeued(ctx)
	ctx, cancel := db.detach(ctx)
	defer cancel()
	tx, err := conn.BeginTx(ctx, writeOptions(db.settings))
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // has no effect after the commit
	if !claim.begin() {
		return store.ErrCallerGone
	}
	takeWarning(conn.Conn().PgConn())
	if err := db.perform(work, &session{ctx, tx}); err != nil {
		return err
	}
	return committed(tx.Commit(ctx), conn)
}

// perform returns a panic in work as an error: on this goroutine it would end the process.
func (db *DB) perform(work func(*session) error, s *session) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			db.log.Error("a write panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("the write panicked: %v", cause)
		}
	}()
	return work(s)
}

// committed classifies the reply to a COMMIT. Only an error after which the session continues, and the state is known,
// means that it was rolled back.
func committed(err error, conn *pgxpool.Conn) error {
	var failure *pgconn.PgError
	switch {
	case err == nil && takeWarning(conn.Conn().PgConn()):
		return &store.OutcomeUnknownError{Cause: errCommitWarning}
	case err == nil, errors.Is(err, pgx.ErrTxCommitRollback):
		return err
	case errors.As(err, &failure) && failure.SeverityUnlocalized == "ERROR" &&
		!slices.Contains(unknownStates, failure.Code):
		return err
	}
	return &store.OutcomeUnknownError{Cause: err}
}

// detach returns a context that ends with the database and not with the caller, because an abandoned statement may
// still be executed.
func (db *DB) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(db.lifetime, cancel)
	return ctx, func() { stop(); cancel() }
}

// resetIfBroken reports whether the error shows that the server died or was demoted. If so, it closes all connections,
// because idle ones would fail one by one, and purges the totals and what is kept of lists, because a promoted standby
// may lack the last changes.
func (db *DB) resetIfBroken(err error) bool {
	var refused *pgconn.ConnectError
	if err == nil || errors.As(err, &refused) || !isBroken(err) && sqlState(err) != stateReadOnly {
		return false
	}
	db.reconnects.note(err)
	db.writes.Reset()
	db.reads.Reset()
	db.lists.Purge()
	return true
}

// reconnectLogInterval is how often reconnecting is logged: every request of an outage may meet a broken connection.
const reconnectLogInterval = 10 * time.Second

type reconnects struct {
	log       *slog.Logger
	sometimes rate.Sometimes
	count     atomic.Int64 // since the last line
}

func newReconnects(log *slog.Logger) *reconnects {
	return &reconnects{log: log, sometimes: rate.Sometimes{Interval: reconnectLogInterval}}
}

func (r *reconnects) note(cause error) {
	r.count.Add(1)
	r.sometimes.Do(func() { r.log.Warn("reconnecting to the database", "times", r.count.Swap(0), "cause", cause) })
}

// How long a write is retried, which covers most failovers.
const (
	retryFor  = 20 * time.Second
	firstWait = 20 * time.Millisecond
	maxWait   = time.Second
)

// backoff doubles the time between tries, with jitter, so that callers do not retry in step.
type backoff struct {
	until time.Time
	wait  time.Duration
}

func newBackoff() *backoff { return &backoff{until: time.Now().Add(retryFor), wait: firstWait} }

// next waits before the next try. It returns false if retryFor or the context ends first.
func (t *backoff) next(ctx context.Context) bool {
	wait := t.wait/2 + rand.N(t.wait) // #nosec G404 -- nobody gains by guessing a wait
	t.wait = min(2*t.wait, maxWait)
	if time.Now().Add(wait).After(t.until) {
		return false
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// diskSpace remembers that a disk of the server was full. The single row that Ready writes may fit where a redemption
// does not, so Ready then writes more. Each replica learns from its own writes.
type diskSpace struct {
	log *slog.Logger

	mu       sync.Mutex
	full     bool
	loggedAt time.Time
}

// logInterval is how often a full disk is logged.
const logInterval = time.Minute

// noteError checks the error of a write.
func (r *diskSpace) noteError(err error) {
	if sqlState(err) != stateDiskFull {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full || time.Since(r.loggedAt) >= logInterval {
		r.loggedAt = time.Now()
		r.log.Error("a disk of PostgreSQL is full, so changes are refused: free space on it, and the server recovers "+
			"by itself", "error", err)
	}
	r.full = true
}

func (r *diskSpace) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// recovered records that probe succeeded.
func (r *diskSpace) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		r.log.Info("PostgreSQL has free disk space again")
	}
	r.full = false
}

// probe writes about a megabyte until the transaction ends.
func (r *diskSpace) probe(s *session) error {
	return s.exec(`CREATE TEMPORARY TABLE perksd_probe ON COMMIT DROP AS SELECT repeat(md5(n::text), 30)
		FROM generate_series(1, 1000) AS n`)
}

// errCommitWarning makes the outcome of a commit with a warning unknown: it may be on no standby.
var errCommitWarning = errors.New("the server warned instead of waiting for its standby")

func fault(doing string, err error) error {
	return store.Fault(doing, err, isTransient(err), sqlState(err) != "")
}

// sqlState is the SQLSTATE of a server's error, or "".
func sqlState(err error) string {
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Code
}

// The SQLSTATEs (PostgreSQL documentation, appendix A) that this package handles.
const (
	stateReadOnly        = "25006" // a standby
	stateUniqueViolation = "23505"
	stateDiskFull        = "53100"
	stateLockTimeout     = "55P03"
	stateCancelled       = "57014" // by a timeout, or by a person
)

// unknownStates are those after which the server itself does not know whether it executed the statement.
var unknownStates = []string{"08007", "40003"}

// transientStates are SQLSTATEs, or classes of them, that are not the statement's own fault.
var transientStates = []string{
	"08",    // the connection broke
	"25006", // read only
	"40",    // rolled back: serialization failure or deadlock
	"53",    // no disk space, memory or connection left
	stateLockTimeout,
	stateCancelled, // not by us: our own limits are store.ErrTimeLimit
	"57P",          // server shutting down or starting
	"58",           // the operating system failed
}

// isTransient reports whether the same work may succeed later. If the outcome is unknown, only work that recognizes
// itself may be retried.
func isTransient(err error) bool {
	if errors.As(err, new(*store.OutcomeUnknownError)) || isBroken(err) {
		return true
	}
	state := sqlState(err)
	return slices.ContainsFunc(transientStates, func(passing string) bool { return strings.HasPrefix(state, passing) })
}

// isRetryable reports whether the failure often passes within seconds. A full disk does not.
func isRetryable(err error) bool { return isTransient(err) && sqlState(err) != stateDiskFull }

// isBroken reports whether the connection failed, and not the statement: it could not be opened, was cut, or the server
// closed it.
func isBroken(err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	var failure *pgconn.PgError
	return errors.As(err, &refused) ||
		errors.As(err, &failure) && slices.Contains([]string{"FATAL", "PANIC"}, failure.SeverityUnlocalized) ||
		!store.IsContextError(err) &&
			(errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
				errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err))
}
