package sqlite

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestAnImportKeepsEveryIndexIntact imports in both modes: rebuilding the indexes, as the first and the last import do,
// and updating their entries.
func TestAnImportKeepsEveryIndexIntact(t *testing.T) {
	db := openTemporary(t)
	schema := schemaOf(t, db)
	for round, n := range []int{2600, 100, 3300} {
		must(db.ImportPerks(t.Context(), manyPerks(0, n, int64(round)), nil, store.Operator, time.Now()))(t)
		requireSound(t, db, schema)
	}
	for text, want := range map[string]int64{"round0": 0, "round1": 0, "round2": 3300, "round2 3299": 1} {
		storetest.Equal(t, "perks by "+text, countOf(t, db, text), want)
	}
}

// TestAnImportLeavesNothingOpen relies on SQLite, which removes the log when the last connection is closed.
func TestAnImportLeavesNothingOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := must(Open(t.Context(), path, Options{}))(t)
	must(db.ImportUsers(t.Context(), storetest.Rows(store.User{ID: "ann"}), store.Operator, time.Now()))(t)
	if _, err := os.Stat(path + logSuffix); err != nil {
		t.Fatalf("an open database has no log: %v", err)
	}
	noError(t, db.Close())
	storetest.Fails(t, "the log once the database is closed", errOf(os.Stat(path+logSuffix)), fs.ErrNotExist)
}
