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
	maxQueue = 4096 // jobs that wait; more make their callers wait
	maxBatch = 128  // jobs that one COMMIT makes durable
)

// writer is the one goroutine of the process that writes. What is queued while a COMMIT reaches the disk shares the next
// one, so that many callers pay for one fsync.
type writer struct {
	file    file
	log     *slog.Logger
	queue   chan *job
	stopped chan struct{}

	waiting atomic.Int64 // jobs whose callers wait, or have waited until they left
	batches store.BatchMeter

	closing sync.RWMutex // held for reading while a job is being queued
	closed  bool

	session *session // nil after a failure, until it is needed again; the goroutine's own until stopped is closed
	place   place
	trouble *trouble
}

func startWriter(file file, opened os.FileInfo, session *session, log *slog.Logger) *writer {
	w := &writer{file: file, log: log, queue: make(chan *job, maxQueue), stopped: make(chan struct{}), session: session}
	w.place = place{path: file.path, given: file.given, main: opened}
	w.trouble = &trouble{log: log, path: file.path}
	go w.run()
	return w
}

// job is one write that someone waits for.
type job struct {
	ctx   context.Context
	taken atomic.Bool
	begun bool                 // the writer's own
	work  func(*session) error // may run again after its transaction came to nothing
	alone bool                 // work is not to run beside other writes of this process, and not in a transaction of the writer
	small bool                 // that it can be written does not show that others can
	err   error                // what work returned
	done  chan error
}

// take claims the job: for the writer, which will run it, or for the caller, who then knows that it never runs.
func (j *job) take() bool { return j.taken.CompareAndSwap(false, true) }

// do runs the job in a transaction and returns after its commit. A caller whose context ends first gets NotBegun, and the job
// never runs; or Unavailable if it has begun, and then it goes on. A job that is alone has its own connection and transaction,
// and is waited for once it has begun.
func (w *writer) do(j *job) error {
	j.done = make(chan error, 1) // buffered, so that the writer never waits for a caller who left
	if err := w.enqueue(j); err != nil {
		return err
	}
	select {
	case err := <-j.done:
		return err
	case <-j.ctx.Done():
		switch {
		case j.take():
			return store.NotBegun(j.ctx.Err())
		case j.alone:
			return <-j.done
		}
		return store.Unavailable(j.ctx.Err())
	}
}

func (w *writer) doAlone(ctx context.Context, work func() error) error {
	return w.do(&job{ctx: ctx, work: func(*session) error { return work() }, alone: true})
}

func (w *writer) enqueue(j *job) error {
	w.closing.RLock()
	defer w.closing.RUnlock()
	if w.closed {
		return store.NotBegun(store.ErrClosed)
	}
	w.waiting.Add(1)
	select {
	case w.queue <- j:
		return nil
	case <-j.ctx.Done():
		w.waiting.Add(-1)
		return store.NotBegun(j.ctx.Err())
	}
}

// answer tells whoever waits for the job what became of it.
func (w *writer) answer(j *job, err error) {
	w.waiting.Add(-1)
	j.done <- err
}

// drain refuses new jobs and returns when the queued ones are done.
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
			if !j.alone {
				batch = append(batch, j)
				continue
			}
			w.commit(batch)
			batch = nil
			w.answer(j, w.performAlone(j))
		}
		w.commit(batch)
	}
}

// performAlone runs a job that has its own connection, which may have opened the file long before, or another one since.
func (w *writer) performAlone(j *job) error {
	if err := w.place.check(); err != nil {
		return store.NotBegun(err)
	}
	if err := w.perform(j); err != nil {
		return err
	}
	if err := w.place.check(); err != nil { // as in attempt
		return store.Unavailable(err)
	}
	return nil
}

// gather takes what is queued already, and waits for nothing.
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

// commit runs the batch in one transaction and answers every job, each with its own outcome.
func (w *writer) commit(batch []*job) {
	if len(batch) == 0 {
		return
	}
	nothing, err := w.attempt(batch)
	if nothing && len(batch) > 1 {
		for _, j := range batch {
			w.commit([]*job{j})
		}
		return
	}
	for _, j := range batch {
		switch {
		case errors.As(err, new(*store.UnclearError)):
			j.err = store.Unavailable(err)
		case err != nil:
			j.err = store.NotBegun(err)
		}
		w.answer(j, j.err)
	}
}

// attempt runs the batch once. An error concerns all of it: the transaction did not commit, or no one knows. If it
// certainly changed nothing for a reason that may be one job's own, nothing is true and the jobs can be tried singly.
func (w *writer) attempt(batch []*job) (nothing bool, err error) {
	defer func() {
		if err != nil {
			w.trouble.met(err, len(batch))
			w.batches.Failed()
			if !errors.Is(err, errMoved) { // a new connection would work on what is there instead
				w.discardSession()
			}
			return
		}
		if slices.ContainsFunc(batch, func(j *job) bool { return j.err == nil && !j.small }) {
			w.trouble.passed()
		}
		w.batches.Ended(len(batch))
	}()
	if err := w.place.check(); err != nil {
		return false, w.left(err)
	}
	if w.session == nil {
		if w.session, err = w.file.session(context.Background()); err != nil {
			return false, err
		}
	}
	if err := w.session.exec("BEGIN IMMEDIATE"); err != nil {
		return false, err
	}
	for _, j := range batch {
		if err := w.step(j); err != nil {
			return true, err
		}
	}
	if err := w.session.commit(); err != nil {
		return !errors.As(err, new(*store.UnclearError)), err
	}
	if err := errors.Join(w.place.settle(), w.place.check()); err != nil { // what was committed to a file that is gone is not to be acknowledged
		return false, &store.UnclearError{Cause: err}
	}
	return false, nil
}

// left brings what the log holds into the database's own file, when it was the log that was removed: it is in no other
// place, and the connection still has both.
func (w *writer) left(cause error) error {
	if w.session != nil && isStill(w.place.path, w.place.main) == nil {
		cause = errors.Join(cause, w.session.script("PRAGMA wal_checkpoint(PASSIVE)"))
	}
	return cause
}

// step runs one job in a savepoint, so that a job that fails takes back its own changes and no others. An error means
// that the whole transaction is lost, as SQLite decides when the disk is full or fails.
func (w *writer) step(j *job) error {
	if err := w.session.exec("SAVEPOINT job"); err != nil {
		return err
	}
	j.err = w.perform(j)
	if j.err != nil {
		if err := w.session.exec("ROLLBACK TO job"); err != nil {
			return fmt.Errorf("%w (and then: %w)", j.err, err)
		}
	}
	return w.session.exec("RELEASE job")
}

// perform runs the job's work unless its caller left before it began. A panic becomes the job's error, because other
// callers' work is in the same transaction.
func (w *writer) perform(j *job) (err error) {
	if !j.begun {
		if j.ctx.Err() != nil || !j.take() {
			return store.NotBegun(store.ErrLeft)
		}
		j.begun = true
		store.TurnCame(j.ctx)
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
	w.place.log = nil // without a connection it may be cleared away
}

// trouble is what keeps the database from taking writes. The log says it once, and again now and then, however many writes
// fail; and once when it is over.
type trouble struct {
	log  *slog.Logger
	path string

	mu     sync.Mutex
	said   string // "" while there is none
	saidAt time.Time
	failed int       // writes that failed since it began
	noRoom time.Time // when a write was last refused for lack of room; zero once one has succeeded
}

const (
	// repeatTrouble is how often the log repeats what has not changed.
	repeatTrouble = time.Minute
	// staysFull is how long the disk is taken for full after a write found no room. The few bytes that Ready writes may fit
	// where a redemption does not.
	staysFull = 10 * time.Second
)

// met notes that so many writes failed together.
func (t *trouble) met(cause error, writes int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if resultCode(cause) == codes.SQLITE_FULL {
		t.noRoom = time.Now()
	}
	t.failed += writes
	sentence := sentenceFor(cause)
	if sentence == t.said && time.Since(t.saidAt) < repeatTrouble {
		return
	}
	t.said, t.saidAt = sentence, time.Now()
	t.log.Error(sentence, "database", t.path, "failed_writes", t.failed, "error", cause)
}

// passed notes that a write was committed that may have been as large as any.
func (t *trouble) passed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said == "" {
		return
	}
	t.log.Info("the database takes writes again", "database", t.path, "failed_writes", t.failed)
	t.said, t.failed, t.noRoom = "", 0, time.Time{}
}

// isFull tells whether a write found no room just now.
func (t *trouble) isFull() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.noRoom.IsZero() && time.Since(t.noRoom) < staysFull
}

// sentenceFor tells an operator what to do.
func sentenceFor(cause error) string {
	if errors.Is(cause, errMoved) {
		return "the database was removed or replaced while the server uses it, so changes are refused: " +
			"put the same file back, or stop the server, see that the right file is there, and start it again"
	}
	switch resultCode(cause) {
	case codes.SQLITE_FULL:
		return "the disk of the database is full, so changes are refused: make room on it, and the server goes on by itself"
	case codes.SQLITE_CORRUPT, codes.SQLITE_NOTADB:
		return "the database is damaged: stop the server and bring a backup back with 'perksd restore'"
	case codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_READONLY:
		return "the disk or the folder of the database does not take writes, so changes are refused: see to it, and the server goes on by itself"
	}
	return "a write transaction failed"
}
