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

	"example.com/perks/store"
)

// write runs work in a transaction and returns when it is durable. A caller whose context ends first gets NotBegun, and the work is never
// done; or Unavailable if it has begun, and then it goes on. It is done again, whole, when the server certainly kept nothing of it.
func (db *DB) write(ctx context.Context, doing string, work func(*session) error) error {
	if err := ctx.Err(); err != nil {
		return store.NotBegun(err)
	}
	leave, err := db.join()
	if err != nil {
		return err
	}
	var claim claim
	ended := make(chan error, 1) // buffered, so that the work never waits for a caller who left
	go func() {
		defer leave()
		err := db.writeWithRetries(ctx, &claim, work)
		if store.IsContextError(err) && !errors.As(err, new(*store.OutcomeUnknownError)) { // given up before its commit, so it is not there
			ended <- store.NotBegun(fmt.Errorf("%s: %w", doing, err))
			return
		}
		ended <- fault(doing, err)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return claim.abandon(ctx.Err())
	}
}

// claim decides a race: either the write begins, or its caller leaves first and learns that it never will.
type claim struct{ state atomic.Int32 }

const (
	claimOpen int32 = iota
	claimBegun
	claimOutcomeUnknown
	claimAbandoned
)

// begin returns false once the caller has left. A retry asks again.
func (c *claim) begin() bool {
	return c.state.CompareAndSwap(claimOpen, claimBegun) || c.state.Load() != claimAbandoned
}

// failed records how a write that had begun failed: with nothing kept, so that it may begin again, or with an unknown outcome.
func (c *claim) failed(err error) {
	if errors.As(err, new(*store.OutcomeUnknownError)) {
		c.state.CompareAndSwap(claimBegun, claimOutcomeUnknown)
		return
	}
	c.state.CompareAndSwap(claimBegun, claimOpen)
}

func (c *claim) isOutcomeUnknown() bool { return c.state.Load() == claimOutcomeUnknown }

// abandon returns the error for a caller who stops waiting.
func (c *claim) abandon(cause error) error {
	if c.state.CompareAndSwap(claimOpen, claimAbandoned) {
		return store.NotBegun(cause)
	}
	return store.Unavailable(cause)
}

// writeWithRetries tries the work again while failures pass and the caller waits.
func (db *DB) writeWithRetries(ctx context.Context, claim *claim, work func(*session) error) error {
	for try := newBackoff(); ; {
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
		if !try.next(ctx) {
			return err
		}
	}
}

// transact does the work in one transaction. When no one knows whether it was committed the error is an store.UnclearError;
// after any other it was not.
func (db *DB) transact(ctx context.Context, claim *claim, work func(*session) error) error {
	conn, err := db.writes.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	store.Dequeued(ctx)
	ctx, cancel := db.detach(ctx)
	defer cancel()
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.ReadCommitted})
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) // does nothing after the commit
	if !claim.begin() {
		return store.ErrCallerGone
	}
	takeWarning(conn.Conn().PgConn())
	if err := db.perform(work, &session{ctx, tx}); err != nil {
		return err
	}
	return committed(tx.Commit(ctx), conn)
}

// perform turns a panic in work into an error: here, on a goroutine of its own, it would end the process and with it other callers' work.
func (db *DB) perform(work func(*session) error, s *session) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			db.log.Error("a write panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("the write panicked: %v", cause)
		}
	}()
	return work(s)
}

// committed judges the answer to a commit: only an error that the server went on from, and is sure of, says that nothing was kept.
func committed(err error, conn *pgxpool.Conn) error {
	var failure *pgconn.PgError
	switch {
	case err == nil && takeWarning(conn.Conn().PgConn()):
		return &store.OutcomeUnknownError{Cause: errCommitWarning}
	case err == nil, errors.Is(err, pgx.ErrTxCommitRollback):
		return err
	case errors.As(err, &failure) && failure.SeverityUnlocalized == "ERROR" && !slices.Contains(unknownStates, failure.Code):
		return err
	}
	return &store.OutcomeUnknownError{Cause: err}
}

// detach returns a context that ends with the database, and not with the caller: a statement that is given up may be
// carried out all the same.
func (db *DB) detach(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(db.lifetime, cancel)
	return ctx, func() { stop(); cancel() }
}

// resetIfBroken tells whether the error shows that connections lead to a server that died or was demoted, and lets go of them all: those
// that are idle would fail one by one. So it does of what is known of that server's data, which a standby that was promoted need not have.
func (db *DB) resetIfBroken(err error) bool {
	var refused *pgconn.ConnectError
	if err == nil || errors.As(err, &refused) || !isBroken(err) && sqlState(err) != stateReadOnly {
		return false
	}
	db.log.Warn("connecting to the database anew", "cause", err)
	db.writes.Reset()
	db.reads.Reset()
	db.totals.Purge()
	return true
}

// How long a write is tried while the database cannot take it, which covers most failovers.
const (
	retryFor  = 20 * time.Second
	firstWait = 20 * time.Millisecond
	maxWait   = time.Second
)

// backoff spaces attempts: twice as far apart each time, at random, so that many callers do not come back at once.
type backoff struct {
	until time.Time
	wait  time.Duration
}

func newBackoff() *backoff { return &backoff{until: time.Now().Add(retryFor), wait: firstWait} }

// next waits for the time of the next attempt. It is false when the patience or the context ends before.
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

// diskSpace remembers that the disk of the tables was full. Readiness writes a single row, for which there may be room where
// there is none for a redemption, so it has to prove more after that. Each replica learns of it from its own writes.
type diskSpace struct {
	log *slog.Logger

	mu       sync.Mutex
	full     bool
	loggedAt time.Time
}

// logInterval is how often the log replays that the disk is full.
const logInterval = time.Minute

// noteError looks at what became of a write.
func (r *diskSpace) noteError(err error) {
	if sqlState(err) != stateDiskFull {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full || time.Since(r.loggedAt) >= logInterval {
		r.loggedAt = time.Now()
		r.log.Error("a disk of PostgreSQL is full, so changes are refused: free space on it, and the server recovers by itself", "error", err)
	}
	r.full = true
}

func (r *diskSpace) isFull() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.full
}

// recovered notes that there was room for as much as prove takes.
func (r *diskSpace) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.full {
		r.log.Info("PostgreSQL has room again")
	}
	r.full = false
}

// probe takes about a megabyte where the tables are, until the transaction ends.
func (r *diskSpace) probe(s *session) error {
	return s.exec(`CREATE TEMPORARY TABLE perksd_room ON COMMIT DROP AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 1000) AS n`)
}

// errCommitWarning is what makes a commit unclear that the server reported with a warning: it may be on no standby.
var errCommitWarning = errors.New("the server warned instead of waiting for its standby")

func fault(doing string, err error) error {
	return store.Fault(doing, err, isTransient(err), sqlState(err) != "")
}

// sqlState is the SQLSTATE that the server reported, or "" if the error is not the server's.
func sqlState(err error) string {
	var failure *pgconn.PgError
	if !errors.As(err, &failure) {
		return ""
	}
	return failure.Code
}

// The SQLSTATEs (PostgreSQL's appendix of error codes) that this package tells apart.
const (
	stateReadOnly        = "25006" // the server was demoted, or was a standby all along
	stateUniqueViolation = "23505"
	stateDiskFull        = "53100"
)

// unknownStates are those of failures after which the server itself does not know whether it carried the statement out.
var unknownStates = []string{"08007", "40003"}

// transientStates are the SQLSTATEs, or classes of them, of failures that are not the statement's own fault.
var transientStates = []string{
	"08",    // the connection broke
	"25006", // read only
	"40",    // rolled back for another transaction's sake
	"53",    // no disk, memory or connection left
	"55P03", // a lock was not to be had
	"57P",   // the server is shut down, starts or was told to stop the work
	"58",    // the operating system failed
}

// isTransient holds for failures after which the same work may succeed. In doubt whether it did the first time, only work
// that recognises itself may be done again.
func isTransient(err error) bool {
	if errors.As(err, new(*store.OutcomeUnknownError)) || isBroken(err) {
		return true
	}
	state := sqlState(err)
	return slices.ContainsFunc(transientStates, func(passing string) bool { return strings.HasPrefix(state, passing) })
}

// isRetryable holds for failures that often pass within seconds. A full disk has to be seen to by somebody.
func isRetryable(err error) bool { return isTransient(err) && sqlState(err) != stateDiskFull }

// isBroken holds when the connection failed, and not the statement: it could not be made, was cut, or the server says that it ends it.
func isBroken(err error) bool {
	var refused *pgconn.ConnectError
	var network net.Error
	var failure *pgconn.PgError
	return errors.As(err, &refused) ||
		errors.As(err, &failure) && slices.Contains([]string{"FATAL", "PANIC"}, failure.SeverityUnlocalized) ||
		!store.IsContextError(err) && (errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
			errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err))
}
