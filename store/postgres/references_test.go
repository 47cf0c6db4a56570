package postgres

import (
	"testing"

	"example.com/perks/store/storetest"
)

// TestReferencedRowsAreProtected checks that manual changes to the database meet the same rules as with foreign keys.
func TestReferencedRowsAreProtected(t *testing.T) {
	t.Parallel()
	db := openAt(t, storetest.PostgresDatabase(t))
	fill(t, db, 1, 1)
	run := func(text string) error {
		return db.write(t.Context(), "work by hand", func(s *session) error { return s.exec(text) })
	}
	noError(t, run(`INSERT INTO redemptions VALUES ('r', 'perk-0', 'user-0', 'shop', now(), 'pending', 'pending',
		'{}')`))
	for _, table := range []string{"perks", "users", "redemptions"} {
		for _, text := range []string{`DELETE FROM ` + table, `UPDATE ` + table + ` SET id = 'another'`,
			`TRUNCATE ` + table + ` CASCADE`} {
			if state := sqlState(run(text)); state != "23503" {
				t.Errorf("%s: SQLSTATE %q, want that of a foreign key, 23503", text, state)
			}
		}
		if rows := read[int](t, db, `SELECT count(*) FROM `+table); rows == 0 {
			t.Errorf("the table %s is empty", table)
		}
	}
	if err := run(`UPDATE redemptions SET status = 'rejected'`); err != nil {
		t.Errorf("changing a redemption's status: %v", err)
	}
}
