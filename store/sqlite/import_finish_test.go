package sqlite

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// left is how many tables of imports there are.
func left(t *testing.T, db *DB) int64 {
	t.Helper()
	return value[int64](t, db,
		`SELECT count(*) FROM sqlite_schema WHERE name GLOB 'next_*' OR name GLOB 'was_*' OR name GLOB 'pending_*'`)
}

// numbered are the entries of an import that died before it moved them to the audit log.
const numbered = `CREATE TABLE pending_dead_audit` + entryColumns +
	`; WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)
	INSERT INTO pending_dead_audit SELECT i, 1, 'operator', 'perk.update', 'perk/' || i, NULL, NULL FROM n`

// requireNumbered checks that the log has the entries after the position once and in order.
func requireNumbered(t *testing.T, db *DB, after store.AuditPosition) {
	t.Helper()
	n := 0
	for entry, err := range db.AuditSince(t.Context(), store.AuditQuery{}, &after) {
		noError(t, err)
		if n++; entry.Subject != fmt.Sprint(store.PerkSubjectPrefix, n) {
			t.Fatalf("entry %d is about %s", n, entry.Subject)
		}
	}
	storetest.Equal(t, "entries", n, 1000)
}

func TestTheNextProgramsMoveTheEntriesOfAnImportThatDied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := openPath(t, path)
	var before store.AuditPosition
	for _, err := range db.AuditSince(t.Context(), store.AuditQuery{}, &before) {
		noError(t, err)
	}
	schema := schemaOf(t, db)
	execute(t, db, numbered)
	var opening sync.WaitGroup
	for range 3 {
		opening.Go(func() { openPath(t, path) })
	}
	opening.Wait()
	requireNumbered(t, db, before)
	requireSound(t, db, schema)
}

func TestABackupKeepsTheEntriesOfAnImport(t *testing.T) {
	directory := t.TempDir()
	path, backup := filepath.Join(directory, "perks.db"), filepath.Join(directory, "backup.db")
	db := openPath(t, path)
	schema := schemaOf(t, db)
	execute(t, db, numbered)
	noError(t, db.Backup(t.Context(), backup))
	target := filepath.Join(directory, "restored.db")
	restored := CarryOver{Former: func(*DB, error) {}, Restored: func(db *DB) error {
		requireNumbered(t, db, "0.0")
		return nil
	}}
	must(Restore(t.Context(), backup, target, time.Now(), restored))(t)
	requireSound(t, openPath(t, target), schema)
}

func TestARestoreDropsTheTablesOfAnImport(t *testing.T) {
	directory := t.TempDir()
	path, backup := filepath.Join(directory, "perks.db"), filepath.Join(directory, "backup.db")
	db := openPath(t, path)
	schema := schemaOf(t, db)
	importMany(t, db, manyPerks(0, manyMore, 1), store.Imported{Count: manyMore, Created: manyMore})
	var n atomic.Int64
	must(db.ImportPerks(betweenSlices{t.Context(), func() {
		if n.Add(1) == 60 {
			if err := db.Backup(t.Context(), backup); err != nil {
				t.Error(err)
			}
		}
	}}, manyPerks(300, manyMore, 2), nil, store.Operator, asOf))(t)
	target := filepath.Join(directory, "restored.db")
	must(Restore(t.Context(), backup, target, time.Now(), carryNothing))(t)
	restored := openPath(t, target)
	requireSound(t, restored, schema)
	storetest.Equal(t, "perks as before", countOf(t, restored, "round1"), manyMore)
}

func TestTablesOfAnImportAreDroppedWhenItIsDead(t *testing.T) {
	const (
		building = `CREATE TABLE next_token_perks (row INTEGER PRIMARY KEY, id TEXT); CREATE INDEX perks_title_asc_2
			ON next_token_perks (id)`
		replaced = `CREATE TABLE was_token_perks (row INTEGER PRIMARY KEY)`
		claim    = `INSERT INTO large_import VALUES (1, 'token', CAST(unixepoch('subsec') * 1000000 AS INTEGER) - `
	)
	for name, test := range map[string]struct {
		tables []string
		left   int64 // afterwards
	}{
		"replaced":  {[]string{replaced}, 0},
		"overtaken": {[]string{building}, 0},
		"silent":    {[]string{building, claim + `660000000)`}, 0},
		"living":    {[]string{building, replaced, claim + `540000000)`}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			for when, finish := range map[string]func(t *testing.T, db *DB, path string) error{
				"at the start": func(t *testing.T, _ *DB, path string) error { openPath(t, path); return nil },
				"each hour": func(t *testing.T, db *DB, _ string) error {
					_, err := db.PurgeIdempotencyKeys(t.Context(), asOf)
					return err
				},
			} {
				path := filepath.Join(t.TempDir(), "perks.db")
				db := openPath(t, path)
				execute(t, db, test.tables...)
				noError(t, finish(t, db, path))
				storetest.Equal(t, when+": tables left", left(t, db), test.left)
				storetest.Equal(t, when+": imports that may publish",
					value[int64](t, db, `SELECT count(*) FROM large_import`), test.left)
			}
		})
	}
}

// TestAnImportThatWritesIsAlive has another program open the file after a pause that was too long.
func TestAnImportThatWritesIsAlive(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	importing, serving := openPath(t, path), openPath(t, path)
	var n atomic.Int64
	if _, err := importing.ImportPerks(betweenSlices{t.Context(), func() {
		switch n.Add(1) {
		case 40:
			execute(t, serving, `UPDATE large_import SET written_at = 0`)
		case 50:
			openPath(t, path)
		}
	}}, manyPerks(0, manyMore, 1), nil, store.Operator, asOf); err != nil || n.Load() < 50 {
		t.Errorf("after %d pauses: %v", n.Load(), err)
	}
}

// TestOfTwoLargeImportsTheLaterIsDone begins a second import in the course of a first one. Even if the second ends
// early, the first may not publish, because it has lost tables or indexes.
func TestOfTwoLargeImportsTheLaterIsDone(t *testing.T) {
	for _, first := range []int64{15, 85} { // when the second one begins
		for _, second := range []int64{7, 13, 1000} { // when that is interrupted
			path := filepath.Join(t.TempDir(), "perks.db")
			one, other := openPath(t, path), openPath(t, path)
			schema := schemaOf(t, one)
			importMany(t, one, manyPerks(0, manyMore, 1), store.Imported{Count: manyMore, Created: manyMore})
			var n, m atomic.Int64
			var otherErr error
			ended := make(chan struct{}) // by a goroutine of database/sql, if that is who waits
			_, err := one.ImportPerks(betweenSlices{t.Context(), func() {
				if n.Add(1) != first {
					return
				}
				defer close(ended)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				_, otherErr = other.ImportPerks(betweenSlices{ctx, func() {
					if m.Add(1) == second {
						cancel()
					}
				}}, manyPerks(0, manyMore, 3), nil, store.Operator, asOf)
			}}, manyPerks(0, manyMore, 2), nil, store.Operator, asOf)
			<-ended
			if !isOvertaken(err) {
				t.Errorf("%d, %d: the first import returned %v", first, second, err)
			}
			requireSound(t, one, schema)
			rounds := [3]int64{countOf(t, one, "round1"), countOf(t, one, "round2"), countOf(t, one, "round3")}
			want := [3]int64{0, 0, manyMore}
			if otherErr != nil {
				want = [3]int64{manyMore, 0, 0}
			}
			if rounds != want || (otherErr == nil) != (second == 1000) {
				t.Errorf("%d, %d: the rounds have %d perks, want %d; the second import returned %v", first, second,
					rounds, want, otherErr)
			}
		}
	}
}
