package postgres

import (
	"fmt"
	"testing"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestAResetKeepsToOneSchema checks that a table which the sandbox's schema lacks is not taken from the next one.
func TestAResetKeepsToOneSchema(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	live := openAt(t, address)
	fill(t, live, 1, 1)
	execute(t, live.writes, `CREATE SCHEMA apart`)
	sandbox := openAt(t, address+"&search_path=apart")
	fill(t, sandbox, 2, 1)
	both := openAt(t, address+"&search_path=apart,public")
	execute(t, both.writes, `DROP TABLE apart.users`)
	storetest.Fails(t, "a reset of two schemas",
		errOf(both.Reset(t.Context(), store.Operator, importDay)), errSeveralSchemas)
	storetest.Equal(t, "users of the live schema", read[int](t, live, `SELECT count(*) FROM users`), 100)
}

// TestReferencedRowsAreProtected checks that manual changes to the database meet the same rules as with foreign keys,
// also after a reset, which removes the guards and puts them back, and after one that is refused.
func TestReferencedRowsAreProtected(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	must(db.Reset(t.Context(), store.Operator, importDay))(t)
	noError(t, db.CreateClient(t.Context(), store.Client{ID: "owner", CreatedAt: importDay}, store.Operator))
	storetest.Fails(t, "with a client", errOf(db.Reset(t.Context(), store.Operator, importDay)), api.CodeConflict)
	for name, db := range map[string]*DB{"after a reset": db, "new": openAt(t, storetest.PostgresDatabase(t))} {
		fill(t, db, 1, 1)
		execute(t, db.writes,
			`INSERT INTO redemptions VALUES ('r', 'perk-0', 'user-0', 'shop', now(), 'pending', 'pending', '{}')`)
		for _, table := range []string{"perks", "users", "redemptions"} {
			for _, text := range []string{`DELETE FROM ` + table, `UPDATE ` + table + ` SET id = 'another'`,
				`TRUNCATE ` + table + ` CASCADE`} {
				storetest.Equal(t, name+", "+text+": SQLSTATE",
					sqlState(errOf(db.writes.Exec(t.Context(), text))), "23503")
			}
			if rows := read[int](t, db, `SELECT count(*) FROM `+table); rows == 0 {
				t.Errorf("%s: the table %s is empty", name, table)
			}
		}
		execute(t, db.writes, `UPDATE redemptions SET status = 'rejected'`)
	}
}

// TestAResetWaitsForARedemption pauses a redemption after each of its steps: the reset waits at its own first
// statement, holds nothing that the redemption still needs, and runs after all of it.
func TestAResetWaitsForARedemption(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	steps := []string{
		`SELECT 1 FROM perk_stock WHERE perk_id = 'perk-0' FOR UPDATE`,
		`INSERT INTO redemptions VALUES ('r', 'perk-0', 'user-0', 'shop', now(), 'approved', 'approved', '{}')`,
		`INSERT INTO idempotency_keys VALUES ('shop', 'key', '\x00', 'r', now())`,
		`UPDATE perk_stock SET held = held + 1 WHERE perk_id = 'perk-0'`,
	}
	for held := range steps {
		fill(t, db, 1, 10)
		redeeming := begin(t, db, steps[0])
		for _, step := range steps[1 : held+1] {
			must(redeeming.Exec(t.Context(), step))(t)
		}
		reset := make(chan store.Emptied, 1)
		go func() {
			emptied, err := db.Reset(t.Context(), store.Operator, importDay)
			if err != nil {
				t.Error(err)
			}
			reset <- emptied
		}()
		waitForLock(t, db)
		storetest.Equal(t, fmt.Sprintf("paused after step %d, the reset waits for", held), read[string](t, db, `
			SELECT string_agg(relation::regclass || ' ' || mode, ', ') FROM pg_locks WHERE NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`),
			"perk_stock ExclusiveLock")
		for _, step := range steps[held+1:] {
			if _, err := redeeming.Exec(t.Context(), step); err != nil {
				t.Fatalf("paused after step %d: %v", held, err)
			}
		}
		commit(t, redeeming)
		if emptied, want := <-reset,
			(store.Emptied{Perks: 1, Users: 100, Redemptions: 1, IdempotencyKeys: 1}); emptied != want {
			t.Errorf("paused after step %d: the reset deleted %s, want %s", held, emptied, want)
		}
	}
}
