package postgres

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/perks/store/postgres/cluster"
)

// TestADatabaseIsMigratedBesideADecision has a server of the first version decide a redemption while a newer one starts.
func TestADatabaseIsMigratedBesideADecision(t *testing.T) {
	t.Parallel()
	address := cluster.Database(t)
	config, err := parseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	older, err := openPool(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer older.Close()
	if err := pgx.BeginFunc(t.Context(), older, func(tx pgx.Tx) error { return apply(t.Context(), tx, knownMigrations()[0]) }); err != nil {
		t.Fatal(err)
	}
	decision, err := older.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer decision.Rollback(t.Context())
	execute(t, decision, `UPDATE redemptions SET status = 'approved' WHERE id = 'r'`)
	type outcome struct {
		db  *DB
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		db, err := Open(t.Context(), address, Options{})
		ended <- outcome{db, err}
	}()
	awaitLock(t, older)
	execute(t, decision, `INSERT INTO audit (at, actor, action, subject) VALUES (now(), 'operator', 'redemption.approve', 'redemption/r')`)
	if err := decision.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := <-ended
	if o.err != nil {
		t.Fatal(o.err)
	}
	if err := o.db.Close(); err != nil {
		t.Error(err)
	}
}

// awaitLock returns when somebody waits for a lock of the database.
func awaitLock(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	for {
		waits, err := one(view{t.Context(), pool}, scanValue[bool], `
			SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
		if err != nil {
			t.Fatal(err)
		}
		if waits {
			return
		}
	}
}
