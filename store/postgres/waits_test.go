package postgres

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestALockedTableIsNamed locks a table that redemptions write, as a person does who forgets a transaction.
func TestALockedTableIsNamed(t *testing.T) {
	t.Parallel()
	var logged lockedBuffer
	options := Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}
	db := openWith(t, storetest.PostgresDatabase(t), options)
	commit(t, begin(t, db, addPerk))
	other := begin(t, db, `SET LOCAL application_name = 'forgotten'; LOCK TABLE redemptions IN ACCESS EXCLUSIVE MODE`)

	within, cancel := context.WithTimeout(t.Context(), lockedFor+2*waitInterval)
	defer cancel()
	_, err := db.Redeem(within, newcomer("r", "p", "u"))
	var waited *store.WaitError
	if !errors.As(err, &waited) || api.CodeOf(err) != api.CodeUnavailable {
		t.Fatalf("the error of a redemption is %v", err)
	}
	if waited.Table != "redemptions" || !waited.IsTable || waited.Statement == "" ||
		!strings.HasPrefix(waited.BlockedBy, "forgotten of ") {
		t.Errorf("it waited for %+v", waited.Wait)
	}
	if text := logged.String(); !strings.Contains(text, `msg="statements wait in the database" table=redemptions`) {
		t.Errorf("the log is\n%s", text)
	}
	if stats := db.Stats(); stats.Waiting == nil || stats.Waiting.Table != "redemptions" {
		t.Errorf("the statistics have %+v", stats.Waiting)
	}
	// While the table stays locked, nobody sends redemptions here, and after that they do again.
	err = db.Ready(t.Context())
	if api.CodeOf(err) != api.CodeUnavailable || !strings.Contains(err.Error(), "redemptions") {
		t.Errorf("beside the lock, readiness is %v", err)
	}
	commit(t, other)
	ticker := time.NewTicker(waitInterval / 10)
	defer ticker.Stop()
	for err := errors.New("not tried"); err != nil; <-ticker.C {
		if err = db.Ready(t.Context()); t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

func TestALockedRowIsNamedAndLeavesTheDatabaseReady(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	commit(t, begin(t, db, addPerk))
	other := begin(t, db, `SELECT FROM perk_stock FOR UPDATE`)
	defer commit(t, other)
	within, cancel := context.WithTimeout(t.Context(), lockedFor+2*waitInterval)
	defer cancel()
	_, err := db.Redeem(within, newcomer("r", "p", "u"))
	var waited *store.WaitError
	if !errors.As(err, &waited) || waited.IsTable || waited.Table != "perk_stock" {
		t.Errorf("the error of a redemption is %v", err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("others can redeem other perks, but readiness is %v", err)
	}
}

func TestStatementsAndCommitsAreMeasured(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	commit(t, begin(t, db, addPerk+`; UPDATE perk_stock SET stock = NULL, held = 0`))
	before := db.Stats()
	for _, id := range []string{"first", "second"} { // the second one may take a single round trip
		must(db.Redeem(t.Context(), newcomer(id, "p", id)))(t)
	}
	after := db.Stats()
	storetest.Equal(t, "commits of 2 redemptions", after.Commits.Count-before.Commits.Count, 2)
	if writes := after.Pools[1].Statements; writes.Count == before.Pools[1].Statements.Count || writes.Total == 0 {
		t.Errorf("statements that write: %+v", writes)
	}
	if writes := after.Pools[1].Statements; writes.UpTo[len(writes.UpTo)-1] != writes.Count {
		t.Errorf("a statement took more than the longest request: %+v", writes)
	}
	if len(db.writeStatements.running) != 0 {
		t.Errorf("%d statements seem to be running still", len(db.writeStatements.running))
	}
}

// lockedBuffer may be written and read at once.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestAListIsEndedAfterItsTime tells the limit of a list from a person who cancels its statement.
func TestAListIsEndedAfterItsTime(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	sleep := func(within time.Duration) error {
		limited := store.LimitList(t.Context(), within, 0)
		return db.database.Fault("sleep", db.snapshot(limited, "", func(v view) error {
			_, err := store.One(v, store.ScanValue[any], `SELECT pg_sleep(60)::text`)
			return err
		}))
	}
	storetest.Fails(t, "a list of a minute", sleep(50*time.Millisecond), store.ErrTimeLimit)
	done := make(chan error, 1)
	go func() { done <- sleep(time.Minute) }()
	const cancelOther = `SELECT count(pg_cancel_backend(pid)) > 0 FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active'
			AND starts_with(query, 'SELECT pg_sleep')`
	var err error
	for isDone := false; !isDone; { // what is cancelled first may be the list before, whose end is slow
		read[bool](t, db, cancelOther)
		select {
		case err = <-done:
			isDone = true
		default:
		}
	}
	if api.CodeOf(err) != api.CodeUnavailable || errors.Is(err, store.ErrTimeLimit) {
		t.Errorf("a list whose statement a person cancelled: %v", err)
	}
}

// TestAListThatWaitsIsNotCalledExpensive lists while somebody has locked the table, and while the server hangs.
func TestAListThatWaitsIsNotCalledExpensive(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{})
	storetest.Execute(t, server.DSN("postgres"), `CREATE DATABASE perks`)
	db := openAt(t, server.DSN("perks"))
	list := func(within time.Duration) error {
		limited := store.LimitList(t.Context(), within, 0)
		return db.database.Fault("list", db.snapshot(limited, "", func(v view) error {
			_, err := store.One(v, store.ScanValue[int64], `SELECT count(*) FROM perks`)
			return err
		}))
	}
	reset := begin(t, db, `LOCK TABLE perks IN ACCESS EXCLUSIVE MODE`)
	err := list(listLockTime)
	if wait := new(store.WaitError); !errors.As(err, &wait) || wait.Table != "perks" || !store.IsContextError(err) {
		t.Errorf("with a locked table: %v", err)
	}
	commit(t, reset)
	storetest.Equal(t, "with a free table", list(listLockTime), nil)
	noError(t, server.Freeze())
	err = list(100 * time.Millisecond)
	if !store.IsContextError(err) || errors.Is(err, store.ErrTimeLimit) {
		t.Errorf("at a server that hangs: %v", err)
	}
	noError(t, server.Thaw())
}

// listLockTime is longer than a wait has to be for anybody to look at it, also on a slow machine.
const listLockTime = longStatement + 14*waitInterval
