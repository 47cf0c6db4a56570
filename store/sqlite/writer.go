package sqlite

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	codes "modernc.org/sqlite/lib"

	"example.com/perks/store"
)

const (
	maxQueue = 4096 // capacity of the queue; further callers block
	maxBatch = 128  // jobs in one transaction
)

// writer is the only goroutine of the process that writes. Jobs that are queued while a COMMIT reaches the disk share
// the next transaction, and so its fsync.
type writer struct {
	file    file
	log     *slog.Logger
	queue   chan *job
	stopped chan struct{}

	waiting atomic.Int64 // jobs without a reply yet, even if their caller has gone
	batches store.BatchMeter
	commits store.DurationMeter

	closing sync.RWMutex // held for reading while a job is being queued
	closed  bool

	// nil after a failure, until it is needed again; only the goroutine uses it until stopped is closed
	session  *session
	identity fileIdentity
	health   *writeHealth
	damage   *damage

	maxLog       int64     // see the constant
	logCheckedAt time.Time // when warnOfLog last looked
}

func startWriter(file file, opened os.FileInfo, session *session, log *slog.Logger) *writer {
	w := &writer{
		file: file, log: log, queue: make(chan *job, maxQueue), stopped: make(chan struct{}), session: session,
		maxLog: maxLog,
	}
	w.identity = fileIdentity{path: file.path, given: file.given, main: opened}
	w.health = &writeHealth{log: log, path: file.path}
	w.damage = newDamage(file, log)
	go w.run()
	return w
}

// job is one write.
type job struct {
	ctx       context.Context
	claimed   atomic.Bool
	started   bool                 // only the writer uses it
	work      func(*session) error // may run again after its transaction was rolled back
	exclusive bool                 // no other write of this process runs meanwhile, and work has its own transaction
	small     bool                 // success does not prove that larger writes succeed
	err       error                // result of work
	done      chan error
}

// claim succeeds once: for the writer, which then runs the job, or for the caller, who then knows that it never runs.
func (j *job) claim() bool { return j.claimed.CompareAndSwap(false, true) }

// do runs the job in a transaction and returns after the commit. If the context ends first, it returns NotStarted and
// the job never runs, or Unavailable if the job is running. An exclusive job that is running is waited for.
func (w *writer) do(j *job) error {
	j.done = make(chan error, 1) // buffered, so that the writer never blocks if the caller has gone
	if err := w.enqueue(j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-j.ctx.Done():
		switch {
		case j.claim():
			return store.NotStarted(j.ctx.Err())
		case j.exclusive:
			return <-j.done
		}
		return store.Unavailable(j.ctx.Err())
	}
}

func (w *writer) doExclusive(ctx context.Context, work func() error) error {
	return w.do(&job{ctx: ctx, work: func(*session) error { return work() }, exclusive: true})
}

func (w *writer) enqueue(j *job) error {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return store.NotStarted(store.ErrClosed)
	}
	w.waiting.Add(1)
	select {
	case w.queue <- j:
		return nil
	case <-j.ctx.Done():
		w.waiting.Add(-1)
		return store.NotStarted(j.ctx.Err())
	}
}

// reply sends the outcome to the caller.
func (w *writer) reply(j *job, err error) {
	w.waiting.Add(-1)
	j.done <- err
}

// drain refuses new jobs, and waits for the queued ones.
func (w *writer) drain() {
	w.closing.Lock()
	if !w.closed {
		w.closed = true
		close(w.queue)
	}
	w.closing.Unlock()
	<-w.stopped
}

func (w *writer) run() {
	defer close(w.stopped)
	for first := range w.queue {
		var batch []*job
		for _, j := range w.gather(first) {
			if !j.exclusive {
				batch = append(batch, j)
				continue
			}
			w.commit(batch)
			batch = nil
			w.reply(j, w.runExclusive(j))
		}
		w.commit(batch)
	}
}

// runExclusive checks the file before and after the job, whose own connection may have opened another one.
func (w *writer) runExclusive(j *job) error {
	if err := w.identity.check(); err != nil {
		return store.NotStarted(err)
	}
	if err := w.runJob(j); err != nil {
		return err
	}
	if err := w.identity.check(); err != nil { // as in attempt
		return store.Unavailable(err)
	}
	return nil
}

// gather takes the jobs that are in the queue, without blocking.
func (w *writer) gather(first *job) []*job {
	jobs := []*job{first}
	for len(jobs) < maxBatch {
		select {
		case j, open := <-w.queue:
			if !open {
				return jobs
			}
			jobs = append(jobs, j)
		default:
			return jobs
		}
	}
	return jobs
}

// commit runs the batch in one transaction, and replies to every job with its own outcome.
func (w *writer) commit(batch []*job) {
	if len(batch) == 0 {
		return
	}
	rolledBack, err := w.attempt(batch)
	if rolledBack && len(batch) > 1 {
		for _, j := range batch {
			w.commit([]*job{j})
		}
		return
	}
	for _, j := range batch {
		switch {
		case errors.As(err, new(*store.OutcomeUnknownError)):
			j.err = store.Unavailable(err)
		case err != nil:
			j.err = store.NotStarted(err)
		}
		w.reply(j, j.err)
	}
}

// attempt runs the batch once. An error concerns the whole batch: it was not committed, or its outcome is unknown.
// rolledBack is true if nothing was changed, and a single job may be the cause: then each can be retried by itself.
func (w *writer) attempt(batch []*job) (rolledBack bool, err error) {
	defer func() {
		if err != nil {
			w.health.recordFailure(err, len(batch))
			w.damage.suspect(err)
			w.batches.Failed()
			if !errors.Is(err, errReplaced) { // a new connection would open the other file
				w.discardSession()
			}
			return
		}
		if slices.ContainsFunc(batch, func(j *job) bool { return j.err == nil && !j.small }) {
			w.health.recordSuccess()
		}
		w.batches.Finished(len(batch))
		w.warnOfLog()
	}()
	if err := w.identity.check(); err != nil {
		return false, w.checkpointOrphan(err)
	}
	if w.session == nil {
		if w.session, err = w.file.session(context.Background()); err != nil {
			return false, err
		}
	}
	if err := w.session.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	w.session.eligibility = map[string]*eligibility{} // other processes may have changed the perks
	for _, j := range batch {
		if err := w.runInSavepoint(j); err != nil {
			return true, err
		}
	}
	start := time.Now()
	err = w.session.commit()
	w.commits.Observe(time.Since(start))
	if err != nil {
		return !errors.As(err, new(*store.OutcomeUnknownError)), err
	}
	// never acknowledge a commit to a deleted file
	if err := errors.Join(w.identity.noteLog(), w.identity.check()); err != nil {
		return false, &store.OutcomeUnknownError{Cause: err}
	}
	return false, nil
}

// maxLog is a size of the log that only a transaction which reads for very long explains. Without one, SQLite starts
// the log anew when it has a few megabytes.
const maxLog = 256 << 20

// logSize returns the size of the write-ahead log in bytes, or 0 if there is none.
func logSize(f file) int64 {
	info, err := os.Stat(f.path + logSuffix)
	if err != nil {
		return 0
	}
	return info.Size()
}

// warnOfLog warns each logInterval of a log that cannot be started anew.
func (w *writer) warnOfLog() {
	if time.Since(w.logCheckedAt) < logInterval {
		return
	}
	w.logCheckedAt = time.Now()
	if size := logSize(w.file); size >= w.maxLog {
		w.log.Warn("the write-ahead log of the database keeps growing, because a program has been reading the "+
			"database "+
			"for long: end that program; 'fuser' names those that have the file open",
			"file", w.file.path+logSuffix, "bytes", size)
	}
}

// checkpointOrphan copies the log into the database if only the log was deleted: the open connection is the only access
// to it.
func (w *writer) checkpointOrphan(cause error) error {
	if w.session != nil && checkSameFile(w.identity.path, w.identity.main) == nil {
		cause = errors.Join(cause, w.session.script("PRAGMA wal_checkpoint(PASSIVE)"))
	}
	return cause
}

// runInSavepoint runs one job in a savepoint, so that a failure rolls back only its own changes. It returns an error if
// SQLite rolled back the whole transaction, as it does when the disk is full or fails.
func (w *writer) runInSavepoint(j *job) error {
	if err := w.session.exec("SAVEPOINT job"); err != nil {
		return err
	}
	j.err = w.runJob(j)
	if j.err != nil {
		if err := w.session.exec("ROLLBACK TO job"); err != nil {
			return fmt.Errorf("%w (and then: %w)", j.err, err)
		}
	}
	return w.session.exec("RELEASE job")
}

// runJob runs the job's work unless its caller has gone. A panic becomes the job's error, because other jobs share the
// transaction.
func (w *writer) runJob(j *job) (err error) {
	if !j.started {
		if j.ctx.Err() != nil || !j.claim() {
			return store.NotStarted(store.ErrCallerGone)
		}
		j.started = true
		store.Dequeued(j.ctx)
	}
	defer func() {
		if cause := recover(); cause != nil {
			w.log.Error("a write panicked", "panic", cause, "stack", string(debug.Stack()))
			err = fmt.Errorf("the write panicked: %v", cause)
		}
	}()
	return j.work(w.session)
}

func (w *writer) discardSession() {
	if w.session == nil {
		return
	}
	if err := w.session.close(); err != nil {
		w.log.Error("the writing connection did not close", "error", err)
	}
	w.session = nil
	w.identity.log = nil // may be deleted once no connection is open
}

// health is what keeps the database from taking writes. The log says it once, and again now and then, however many
// writes fail; and once when the database has recovered.
type writeHealth struct {
	log  *slog.Logger
	path string

	mu       sync.Mutex
	logged   string // "" while writes succeed
	loggedAt time.Time
	failed   int       // failed writes since then
	fullAt   time.Time // when the disk was last full; zero after a successful write
}

const (
	// logInterval is how often the same failure is logged.
	logInterval = time.Minute
	// fullFor is how long Ready fails after a write found the disk full. Its own few bytes may fit where a redemption
	// does not.
	fullFor = 10 * time.Second
)

// recordFailure records a failed transaction, with the number of its writes.
func (t *writeHealth) recordFailure(cause error, writes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resultCode(cause) == codes.SQLITE_FULL {
		t.fullAt = time.Now()
	}
	t.failed += writes
	sentence := sentenceFor(cause)
	if sentence == t.logged && time.Since(t.loggedAt) < logInterval {
		return
	}
	t.logged, t.loggedAt = sentence, time.Now()
	t.log.Error(sentence, "database", t.path, "failed_writes", t.failed, "error", cause)
}

// recordSuccess records a commit with a write of any size.
func (t *writeHealth) recordSuccess() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.logged == "" {
		return
	}
	t.log.Info("the database takes writes again", "database", t.path, "failed_writes", t.failed)
	t.logged, t.failed, t.fullAt = "", 0, time.Time{}
}

// isFull tells whether a write found the disk full within fullFor.
func (t *writeHealth) isFull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.fullAt.IsZero() && time.Since(t.fullAt) < fullFor
}

// sentenceFor is what an operator reads in the log.
func sentenceFor(cause error) string {
	if errors.Is(cause, errReplaced) {
		return "the database file was deleted or replaced while the server was using it, so changes are refused: " +
			"put the same file back, or stop the server, check the file, and start it again"
	}
	switch resultCode(cause) {
	case codes.SQLITE_FULL:
		return "the disk of the database is full, so changes are refused: free space on it, and the server recovers " +
			"by itself"
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return "the disk of the database fails, or the database is damaged: it is being read, and the log will say " +
			"which; change nothing yet"
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY:
		return "the disk or directory of the database cannot be written, so changes are refused: fix that, and the " +
			"server recovers by itself"
	}
	return "a write transaction failed"
}
