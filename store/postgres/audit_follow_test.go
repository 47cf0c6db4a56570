package postgres

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// follower polls the audit log.
type follower struct {
	t        *testing.T
	db       *DB
	position store.AuditPosition
	batched  store.AuditPlace // how far batches were read
}

// wants checks the subjects that the next poll returns, and those of the next batches.
func (f *follower) wants(what string, want ...string) {
	f.t.Helper()
	var got []string
	for entry, err := range f.db.AuditSince(f.t.Context(), store.AuditQuery{}, &f.position) {
		noError(f.t, err)
		got = append(got, entry.Subject)
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		f.t.Errorf("%s (-want +got):\n%s", what, diff)
	}
	isFirst, batched := f.batched == store.AuditPlace{}, []string{}
	for isLast := false; !isLast; {
		batch, err := f.db.NextAudit(f.t.Context(), f.batched, "", store.AuditBound{Entries: 1, Bytes: 1})
		noError(f.t, err)
		for _, entry := range batch.Entries {
			batched = append(batched, entry.Subject)
		}
		f.batched, isLast = batch.Next, batch.IsLast
	}
	slices.Sort(batched)
	if diff := cmp.Diff(slices.Sorted(slices.Values(want)), batched, cmpopts.EquateEmpty()); diff != "" && !isFirst {
		f.t.Errorf("%s, in batches (-want +got):\n%s", what, diff)
	}
}

func execute(t *testing.T, on interface {
	Exec(ctx context.Context, text string, args ...any) (pgconn.CommandTag, error)
}, text string, args ...any) {
	t.Helper()
	must(on.Exec(t.Context(), text, args...))(t)
}

// many is a bound that the entries here do not reach.
var many = store.AuditBound{Entries: 100, Bytes: 1 << 20}

const (
	addEntry      = `INSERT INTO audit (at, actor, action, subject) VALUES (now(), 'operator', 'test', $1)`
	addRedemption = `
		INSERT INTO redemptions (id, perk_id, user_id, client_id, redeemed_at, first_status, status, metadata)
		VALUES ($1, 'perk-0', $1, 'shop', now() - interval '1 hour', 'pending', 'pending', '{}')`
)

// TestFollowersSeeALateCommitOnce has a transaction take its ids and times first and commit last, after newer ones
// have been read.
func TestFollowersSeeALateCommitOnce(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	f := &follower{t: t, db: db}
	execute(t, db.writes, addEntry, "before")
	late := must(db.writes.Begin(t.Context()))(t)
	defer late.Rollback(t.Context())
	execute(t, late, addEntry, "late")
	execute(t, late, addRedemption, "late")
	f.wants("at first", "before")

	execute(t, db.writes, addEntry, "early")
	execute(t, db.writes, addRedemption, "early")
	f.wants("while another transaction is open", "redemption/early", "early")
	f.wants("again")
	execute(t, late, `SAVEPOINT part`)
	execute(t, late, addEntry, "later")
	execute(t, late, `RELEASE part`)
	execute(t, db.writes, addEntry, "between")
	f.wants("the other transaction is still open", "between")
	noError(t, late.Commit(t.Context()))
	execute(t, db.writes, `UPDATE redemptions SET status = 'approved' WHERE id = 'early'`)
	f.wants("after the late commit", "redemption/late", "late", "later")
	f.wants("again")
}

// TestBatchesAreInTheOrderOfCommits has a server whose clock is late.
func TestBatchesAreInTheOrderOfCommits(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	start := must(db.NextAudit(t.Context(), store.AuditPlace{}, "", many))(t)
	execute(t, db.writes, addEntry, "first")
	execute(t, db.writes, addRedemption, "second, an hour earlier")
	execute(t, db.writes, addEntry, "third")
	batch := must(db.NextAudit(t.Context(), start.Next, "", many))(t)
	var got []string
	for _, entry := range batch.Entries {
		got = append(got, entry.Subject)
	}
	if want := []string{"first", "redemption/second, an hour earlier", "third"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestWhatCommitsAfterADividedStretchIsRead has a transaction that began before entries that are read in several
// batches.
func TestWhatCommitsAfterADividedStretchIsRead(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	f := &follower{t: t, db: db}
	f.wants("at first")
	late := must(db.writes.Begin(t.Context()))(t)
	defer late.Rollback(t.Context())
	execute(t, late, addEntry, "late")
	entries := []string{"one", "two", "three", "four", "five"}
	for _, entry := range entries {
		execute(t, db.writes, addEntry, entry)
	}
	batch, err := db.NextAudit(t.Context(), f.batched, "", store.AuditBound{Entries: 2, Bytes: many.Bytes})
	if err != nil || batch.IsLast || len(batch.Entries) != 2 {
		t.Fatalf("the first batch has %d entries, and is the last: %t, %v", len(batch.Entries), batch.IsLast, err)
	}
	noError(t, late.Commit(t.Context()))
	f.batched = batch.Next
	f.position = batch.Next.Since
	f.wants("after a part of them", "late", "three", "four", "five")
}

// TestARestoredCopyRepeatsNoEntries gives rows transaction ids that this server has not reached yet, as a copy from
// another server has. An older and a newer transaction are open meanwhile.
func TestARestoredCopyRepeatsNoEntries(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	older := must(db.writes.Begin(t.Context()))(t)
	defer older.Rollback(t.Context())
	execute(t, older, addEntry, "older")
	execute(t, db.writes, `
		INSERT INTO audit (at, actor, action, subject, arrived)
		SELECT now(), 'operator', 'test', 'restored', (pg_current_xact_id()::text::bigint + n)::text::xid8
			FROM generate_series(1, 60) AS n`)
	f := &follower{t: t, db: db}
	for range f.db.AuditSince(t.Context(), store.AuditQuery{}, &f.position) {
	}
	for n := range 45 {
		if n == 20 {
			alsoOpen := must(db.writes.Begin(t.Context()))(t)
			defer alsoOpen.Rollback(t.Context())
			execute(t, alsoOpen, addEntry, "not yet")
		}
		subject := fmt.Sprint("new ", n)
		execute(t, db.writes, addEntry, subject)
		f.wants("a poll", subject)
	}
	f.position = "1:99999999:"
	for _, err := range f.db.AuditSince(t.Context(), store.AuditQuery{}, &f.position) {
		if err == nil {
			t.Error("reading continued from a position ahead of the database")
		}
	}
}

// TestTheAuditLogIsAppendOnly works by hand as the role that perksd itself has.
func TestTheAuditLogIsAppendOnly(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	execute(t, db.writes, addEntry, "kept")
	execute(t, db.writes, addRedemption, "kept")
	execute(t, db.writes, addRedemption, "decided")
	execute(t, db.writes, `UPDATE redemptions SET status = 'rejected' WHERE id = 'decided'`)
	const log = `SELECT string_agg(a::text, ' ') || (SELECT string_agg(r::text, ' ') FROM redemptions AS r)
		FROM audit AS a`
	before := read[string](t, db, log)
	for _, text := range []string{
		`UPDATE audit SET actor = 'operator/somebody'`,
		`UPDATE audit SET actor = actor WHERE false`,
		`DELETE FROM audit`,
		`TRUNCATE audit`,
		`INSERT INTO audit (entry, at, actor, action, subject) OVERRIDING SYSTEM VALUE VALUES (1, now(), '', '', '')
			ON CONFLICT (entry) DO UPDATE SET actor = ''`,
		`MERGE INTO audit USING (SELECT 1) AS one ON true WHEN MATCHED THEN DELETE`,
		`UPDATE redemptions SET redeemed_at = now()`,
		`UPDATE redemptions SET user_id = 'somebody' WHERE id = 'kept'`,
		`UPDATE redemptions SET perk_id = 'another' WHERE id = 'kept'`,
		`UPDATE redemptions SET client_id = 'another', status = 'approved' WHERE id = 'kept'`,
		`UPDATE redemptions SET metadata = '{"a":1}' WHERE id = 'kept'`,
		`UPDATE redemptions SET first_status = 'approved' WHERE id = 'kept'`,
		`UPDATE redemptions SET arrived = NULL WHERE id = 'kept'`,
		`UPDATE redemptions SET status = 'approved' WHERE id = 'decided'`,
		`UPDATE redemptions SET status = 'pending' WHERE id = 'decided'`,
		`INSERT INTO redemptions SELECT * FROM redemptions WHERE id = 'kept' ON CONFLICT (id) DO UPDATE
			SET user_id = 'somebody'`,
		`DELETE FROM redemptions`,
		`TRUNCATE redemptions`,
	} {
		if _, err := db.writes.Exec(t.Context(), text); err == nil {
			t.Errorf("it is possible to %s", text)
		}
	}
	storetest.Equal(t, "the log", read[string](t, db, log), before)
}
