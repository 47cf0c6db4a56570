package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func openTemporary(t *testing.T) *DB {
	t.Helper()
	db := must(Open(t.Context(), filepath.Join(t.TempDir(), "perks.db"), Options{}))(t)
	t.Cleanup(func() { db.Close() })
	return db
}

// holdWriter blocks the writer until release is called, so that the jobs queued meanwhile form one batch.
func holdWriter(t *testing.T, db *DB) (release func()) {
	t.Helper()
	held, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.write(context.Background(), "hold", func(*session) error {
			close(held)
			<-gate
			return nil
		})
	}()
	<-held
	return func() {
		close(gate)
		noError(t, <-done)
	}
}

// enqueue puts a job into the queue without waiting for it.
func enqueue(t *testing.T, db *DB, ctx context.Context, work func(*session) error) *job {
	t.Helper()
	j := &job{ctx: ctx, work: work, done: make(chan error, 1)}
	noError(t, db.writer.enqueue(j))
	return j
}

func addUser(id string) func(*session) error {
	return func(s *session) error { return s.exec(`INSERT INTO users (id) VALUES (?)`, id) }
}

// failing does work, and then fails.
func failing(work func(*session) error, failure error) func(*session) error {
	return func(s *session) error {
		if err := work(s); err != nil {
			return err
		}
		return failure
	}
}

func users(t *testing.T, db *DB) []string {
	t.Helper()
	return must(store.All(db.latest(t.Context()), store.ScanValue[string], `SELECT id FROM users ORDER BY id`))(t)
}

func TestABatchCommitsOnlySuccessfulWrites(t *testing.T) {
	errRefused := errors.New("refused")
	for _, test := range []struct {
		name string
		bad  func(*session) error
		want api.Code
	}{
		{"a refusal after a write", failing(addUser("bad"), errRefused), api.CodeInternal},
		{"a panic after a write", func(s *session) error {
			addUser("bad")(s)
			panic("bug")
		}, api.CodeInternal},
		{"a statement that fails", addUser("first"), api.CodeInternal},
		{"an error that rolls the whole transaction back",
			failing(func(s *session) error { return s.exec(`ROLLBACK`) }, errRefused), api.CodeUnavailable},
		{"a constraint that fails at COMMIT", func(s *session) error {
			return errors.Join(s.exec(`PRAGMA defer_foreign_keys = ON`),
				s.exec(`INSERT INTO perk_stock (perk) VALUES (77)`))
		}, api.CodeUnavailable},
		{"a disk that is full", func(s *session) error {
			defer s.script(`PRAGMA max_page_count = 4294967294`)
			return errors.Join(s.script(`PRAGMA max_page_count = 1`), addUser(strings.Repeat("x", 1<<20))(s))
		}, api.CodeUnavailable},
	} {
		t.Run(test.name, func(t *testing.T) {
			db := openTemporary(t)
			release := holdWriter(t, db)
			first := enqueue(t, db, t.Context(), addUser("first"))
			bad := enqueue(t, db, t.Context(), func(s *session) error { return fault("do it", test.bad(s)) })
			last := enqueue(t, db, t.Context(), addUser("last"))
			release()
			storetest.Equal(t, "first", <-first.done, nil)
			storetest.Fails(t, "bad", <-bad.done, test.want)
			storetest.Equal(t, "last", <-last.done, nil)
			storetest.Equal(t, "users", users(t, db), []string{"first", "last"})
			storetest.Equal(t, "afterwards", db.Ready(t.Context()), nil)
		})
	}
}

func TestAWriteReturnsAfterItsCommit(t *testing.T) {
	db := openTemporary(t)
	release := holdWriter(t, db)
	first := enqueue(t, db, t.Context(), addUser("first"))
	second := enqueue(t, db, t.Context(), func(*session) error {
		select {
		case <-first.done:
			t.Error("the first write of the batch returned before the commit")
		default:
		}
		return nil
	})
	release()
	noError(t, errors.Join(<-second.done, <-first.done))
}

func TestACancelledWriteIsNotStarted(t *testing.T) {
	db := openTemporary(t)
	release := holdWriter(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	queued := enqueue(t, db, ctx, addUser("queued"))
	cancel()
	if err := db.write(ctx, "write", addUser("late")); !isNotStarted(err) {
		t.Errorf("the cancelled caller got %v, want nothing started", err)
	}
	release()
	if err := <-queued.done; !isNotStarted(err) {
		t.Errorf("the queued write returned %v, want nothing started", err)
	}
	noError(t, db.Ready(t.Context()))
	if got := users(t, db); len(got) != 0 {
		t.Errorf("the users are %q, want none", got)
	}
}

// isNotStarted reports whether the error says that nothing was done, rather than that the outcome is unknown.
func isNotStarted(err error) bool {
	return api.CodeOf(err) == api.CodeUnavailable && strings.Contains(err.Error(), "Nothing was started")
}

func TestACancelledImportOrResetIsNotStarted(t *testing.T) {
	db := openTemporary(t)
	defer holdWriter(t, db)()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 20 { // whether each is queued is random
		if err := db.writer.doExclusive(ctx,
			func() error { t.Error("it was started"); return nil }); !isNotStarted(err) {
			t.Errorf("it returned %v, want nothing started", err)
		}
	}
}

func TestAStartedWriteIsFinished(t *testing.T) {
	db := openTemporary(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, gate := make(chan struct{}), make(chan struct{})
	answer := make(chan error, 1)
	go func() {
		answer <- db.write(ctx, "write", func(s *session) error {
			close(begun)
			<-gate
			return addUser("ann")(s)
		})
	}()
	<-begun
	cancel()
	if err := <-answer; api.CodeOf(err) != api.CodeUnavailable || isNotStarted(err) ||
		!errors.Is(err, context.Canceled) {
		t.Errorf("the cancelled caller got %v, want an unknown outcome because of its context", err)
	}
	close(gate)
	noError(t, db.Ready(t.Context()))
	storetest.Equal(t, "users", users(t, db), []string{"ann"})
}

func TestACancelledCallerLeavesAFullQueue(t *testing.T) {
	db := openTemporary(t)
	release := holdWriter(t, db)
	var jobs []*job
	for i := range maxQueue {
		jobs = append(jobs, enqueue(t, db, t.Context(), addUser(fmt.Sprint(i))))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	storetest.Fails(t, "one too many", db.write(ctx, "write", addUser("one too many")), api.CodeUnavailable)
	release()
	for _, j := range jobs {
		noError(t, <-j.done)
	}
	if got := users(t, db); len(got) != maxQueue {
		t.Errorf("there are %d users, want %d", len(got), maxQueue)
	}
}

func TestExclusiveWorkSharesNoTransaction(t *testing.T) {
	db := openTemporary(t)
	release := holdWriter(t, db)
	before := enqueue(t, db, t.Context(), addUser("before"))
	alone := &job{ctx: t.Context(), exclusive: true, done: make(chan error, 1), work: func(*session) error {
		storetest.Equal(t, "users in exclusive work", users(t, db), []string{"before"})
		panic("bug")
	}}
	noError(t, db.writer.enqueue(alone))
	after := enqueue(t, db, t.Context(), addUser("after"))
	release()
	noError(t, errors.Join(<-before.done, <-after.done))
	if err := <-alone.done; err == nil {
		t.Error("the panic was reported as success")
	}
}

func TestCloseFinishesTheQueueAndRefusesNewWrites(t *testing.T) {
	db := openTemporary(t)
	release := holdWriter(t, db)
	queued := enqueue(t, db, t.Context(), addUser("ann"))
	closed := make(chan error, 1)
	go func() { closed <- db.Close() }()
	release()
	noError(t, errors.Join(<-queued.done, <-closed))
	if err := db.write(t.Context(), "write", addUser("bob")); !errors.Is(err, store.ErrClosed) ||
		api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("after Close got %v, want unavailable", err)
	}
	storetest.Equal(t, "the second Close", db.Close(), nil)
}

// lockOut takes the write lock as another process would, until unlock is called.
func lockOut(t *testing.T, db *DB) (unlock func()) {
	t.Helper()
	other := must(db.file.session(t.Context()))(t)
	noError(t, other.exec(`BEGIN IMMEDIATE`))
	return func() {
		if err := errors.Join(other.exec(`COMMIT`), other.close()); err != nil {
			t.Error(err)
		}
	}
}

func TestAWriteCancelledWhileAnotherProcessWritesIsNotStarted(t *testing.T) {
	db := openTemporary(t)
	unlock := lockOut(t, db)
	ctx, cancel := context.WithCancel(t.Context())
	left := enqueue(t, db, ctx, addUser("left"))
	cancel()
	stayed := enqueue(t, db, t.Context(), addUser("stayed"))
	unlock()
	storetest.Fails(t, "the caller who left", <-left.done, store.ErrCallerGone)
	if err := <-stayed.done; err != nil {
		t.Errorf("the other caller got %v", err)
	}
	storetest.Equal(t, "users", users(t, db), []string{"stayed"})
}

func TestABusyLockIsUnavailable(t *testing.T) {
	db := openTemporary(t)
	noError(t, db.write(t.Context(), "wait no longer",
		func(s *session) error { return s.script(`PRAGMA busy_timeout = 0`) }))
	unlock := lockOut(t, db)
	if err := db.Ready(t.Context()); api.CodeOf(err) != api.CodeUnavailable || !isTransient(err) {
		t.Errorf("while another process writes: %v, want unavailable because of SQLite's BUSY", err)
	}
	unlock()
	storetest.Equal(t, "afterwards", db.Ready(t.Context()), nil)
}

func TestStartedExclusiveWorkIsWaitedFor(t *testing.T) {
	db := openTemporary(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, gate, answer := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	errOutcome := errors.New("the outcome")
	go func() {
		answer <- db.writer.doExclusive(ctx, func() error {
			close(begun)
			<-gate
			return errOutcome
		})
	}()
	<-begun
	cancel()
	select {
	case err := <-answer:
		t.Fatalf("returned %v before the work finished", err)
	default:
	}
	close(gate)
	if err := <-answer; err != errOutcome {
		t.Errorf("got %v, want the error of the work", err)
	}
	err := db.writer.doExclusive(ctx, func() error {
		t.Error("work ran for a cancelled caller")
		return nil
	})
	storetest.Fails(t, "a cancelled caller", err, api.CodeUnavailable)
}
