package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestAnImportKeepsEveryIndexIntact imports in both modes: rebuilding the indexes, as the first and the last import do,
// and updating their entries.
func TestAnImportKeepsEveryIndexIntact(t *testing.T) {
	db := openTemporary(t)
	before := indexes(t, db)
	for round, n := range []int{2600, 100, 3300} {
		must(db.ImportPerks(t.Context(), manyPerks(0, n, int64(round)), nil, store.Operator, time.Now()))(t)
		if after := indexes(t, db); after != before {
			t.Fatalf("round %d: the indexes are now\n%s\nand were\n%s", round, after, before)
		}
		if verdict, err := store.One(db.latest(t.Context()), store.ScanValue[string],
			`PRAGMA integrity_check`); verdict != "ok" {
			t.Errorf("round %d: SQLite finds: %s (%v)", round, verdict, err)
		}
		if err := db.write(t.Context(), "check the words", func(s *session) error {
			return s.exec(`INSERT INTO perk_words (perk_words) VALUES ('integrity-check')`)
		}); err != nil {
			t.Errorf("round %d: %v", round, err)
		}
	}
	for text, want := range map[string]int64{"round0": 0, "round1": 0, "round2": 3300, "round2 3299": 1} {
		list, err := db.ListPerks(t.Context(), store.PerkQuery{PerkFilter: api.PerkFilter{Query: text}, At: time.Now(),
			Window: store.Window{Page: 1, PerPage: 1}})
		if err != nil || list.Total != want {
			t.Errorf("%q finds %d perks (%v), want %d", text, list.Total, err, want)
		}
	}
}

func indexes(t *testing.T, db *DB) string {
	t.Helper()
	return must(store.One(db.latest(t.Context()), store.ScanValue[string], `
		SELECT group_concat(sql, char(10) ORDER BY name) FROM sqlite_schema WHERE type = 'index'`))(t)
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
	if _, err := os.Stat(path + logSuffix); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("once the database is closed its log is still there (%v): a connection is open", err)
	}
}
