package postgres

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestAWriteThatWaitedSeesTheOtherCommit runs each write beside an open transaction that has made the same change.
func TestAWriteThatWaitedSeesTheOtherCommit(t *testing.T) {
	day := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		before string // what there is
		other  string // what the other transaction does
		write  func(ctx context.Context, db *DB) error
		want   api.Code
		left   string // a query that is true afterwards
	}{
		{
			name:  "a replica does not make a second signing key",
			other: lockSigningKeys + `; INSERT INTO signing_keys VALUES ('theirs', '', now())`,
			write: func(ctx context.Context, db *DB) error {
				return db.EnsureSigningKey(ctx, store.SigningKey{ID: "mine", Secret: []byte{1}, CreatedAt: day})
			},
			left: `SELECT array_agg(id) = '{theirs}' FROM signing_keys`,
		},
		{
			name:   "a disabled client is not disabled again",
			before: addClient,
			other:  `UPDATE clients SET disabled = true`,
			write: func(ctx context.Context, db *DB) error {
				return db.SetClientDisabled(ctx, "a", true, store.Operator, day)
			},
			left: `SELECT count(*) = 0 FROM audit`,
		},
		{
			name:  "a client's id is unique",
			other: addClient,
			write: func(ctx context.Context, db *DB) error {
				return db.CreateClient(ctx, store.Client{ID: "a", CreatedAt: day}, store.Operator)
			},
			want: api.CodeConflict,
			left: `SELECT count(*) = 0 FROM audit`,
		},
		{
			name:   "a property deleted meanwhile is not updated",
			before: addClient + `;` + addProperty,
			other:  `DELETE FROM properties`,
			write: func(ctx context.Context, db *DB) error {
				return db.UpdateProperty(ctx, 1, store.Operator, day, func(p *store.PropertyRecord) error {
					p.Title = "Back again"
					return nil
				})
			},
			want: api.CodeNotFound,
			left: `SELECT count(*) = 0 FROM properties`,
		},
		{
			name: "a property restored meanwhile is not restored again",
			before: addClient + `; INSERT INTO audit (at, actor, action, subject, before)
				VALUES (now(), 'operator',
					'` + store.ActionDeleteProperty + `', 'property/1', '{"propertyId":1,"price_pw":"1","owner":"a"}')`,
			other: addProperty,
			write: func(ctx context.Context, db *DB) error {
				_, err := db.RestoreProperty(ctx, store.PropertyRestoration{ID: 1, By: store.Operator, At: day})
				return err
			},
			want: api.CodeNotDeleted,
			left: `SELECT count(*) = 1 FROM audit`,
		},
		{
			name: "a redemption decided meanwhile is not decided again",
			before: addPerk + `; INSERT INTO users VALUES ('u');
				INSERT INTO redemptions VALUES ('r', 'p', 'u', 'shop', now(), 'pending', 'pending', '{}')`,
			other: `SELECT 1 FROM perk_stock FOR UPDATE; UPDATE redemptions SET status = 'approved'`,
			write: func(ctx context.Context, db *DB) error {
				_, err := db.DecideRedemption(ctx, "r", store.Decision{Status: api.StatusRejected}, store.Operator, day)
				return err
			},
			want: api.CodeConflict,
			left: `SELECT held = 1 FROM perk_stock`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			db := openAt(t, storetest.PostgresDatabase(t))
			commit(t, begin(t, db, test.before))
			other := begin(t, db, test.other)
			written := make(chan error, 1)
			go func() { written <- test.write(t.Context(), db) }()
			waitForLock(t, db)
			commit(t, other)
			storetest.Fails(t, "the write", <-written, test.want)
			if !read[bool](t, db, test.left) {
				t.Errorf("afterwards this is not true: %s", test.left)
			}
		})
	}
}

const (
	addClient   = `INSERT INTO clients VALUES ('a', 'A', sha256(''), '', false, false, now())`
	addProperty = `INSERT INTO properties VALUES (1, 'a', 'Flat', '', '', '', '', '{}', '1', 0, 0, NULL, NULL, 0, '',
		'', '31', 0)`
	addPerk = `
		INSERT INTO perks (id, created_at, updated_at, approval, title_fold, city_fold, title, city, description, words)
		VALUES ('p', now(), now(), 'manual', 'tea', 'bath', 'Tea', 'Bath', 'Hot', '');
		INSERT INTO perk_stock VALUES ('p', 1, 1)`
)

func TestPurgingDoesNotWaitForAKeyInUse(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	commit(t, begin(t, db, addPerk+`; INSERT INTO users VALUES ('u');
		INSERT INTO redemptions VALUES ('r', 'p', 'u', 'shop', now(), 'pending', 'pending', '{}');
		INSERT INTO idempotency_keys VALUES ('shop', 'free', '', 'r', now()), ('shop', 'in use', '', 'r', now())`))
	other := begin(t, db, `SELECT 1 FROM idempotency_keys WHERE key = 'in use' FOR UPDATE`)
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for _, want := range []int64{1, 0} {
		if n, err := db.PurgeIdempotencyKeys(within, time.Now().Add(time.Hour)); n != want || err != nil {
			t.Errorf("%d keys were purged (%v), want %d", n, err, want)
		}
	}
	commit(t, other)
	if n, err := db.PurgeIdempotencyKeys(within, time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("%d keys were purged (%v), want the one that is free now", n, err)
	}
}

// begin runs statements in a transaction of its own, which stays open until commit or the end of the test.
func begin(t *testing.T, db *DB, statements string) pgx.Tx {
	t.Helper()
	tx := must(db.writes.Begin(t.Context()))(t)
	t.Cleanup(func() { tx.Rollback(context.Background()) })
	must(tx.Exec(t.Context(), statements))(t)
	return tx
}

func commit(t *testing.T, tx pgx.Tx) {
	t.Helper()
	noError(t, tx.Commit(t.Context()))
}

// waitForLock returns when some session of the database waits for another's lock.
func waitForLock(t *testing.T, db *DB) {
	t.Helper()
	within, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for waits := false; !waits; {
		var err error
		if waits, err = store.One(view{within, db.reads}, store.ScanValue[bool], `
			SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
				AND wait_event_type = 'Lock')`); err != nil {
			t.Fatalf("no session waits for a lock: %v", err)
		}
	}
}
