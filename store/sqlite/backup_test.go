package sqlite

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestABackupIsASnapshot(t *testing.T) {
	db := openAt(t, filepath.Join(t.TempDir(), "perks.db"))
	importPerk(t, db, "p")
	path := filepath.Join(t.TempDir(), "o'copy?.db")
	noError(t, db.Backup(t.Context(), path))
	importPerk(t, db, "later")
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the copy is %v (%v), want mode 600", info, err)
	}
	list := must(openAt(t, path).ListPerks(t.Context(), store.PerkQuery{PerkFilter: api.PerkFilter{Query: "p"},
		At: time.Now(), Window: store.Window{Page: 1, PerPage: 10}}))(t)
	if list.Total != 1 || list.Items[0].ID != "p" {
		t.Errorf("the copy has %+v, want perk p", list)
	}
}

func TestABackupOverwritesNothing(t *testing.T) {
	db := openAt(t, filepath.Join(t.TempDir(), "perks.db"))
	path := filepath.Join(t.TempDir(), "precious")
	noError(t, os.WriteFile(path, []byte("precious"), 0o600))
	storetest.Fails(t, "a backup to a file that exists", db.Backup(t.Context(), path), fs.ErrExist)
	if text, err := os.ReadFile(path); string(text) != "precious" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
}

func TestABackupThatFailsLeavesNoFile(t *testing.T) {
	db := openAt(t, filepath.Join(t.TempDir(), "perks.db"))
	path := filepath.Join(t.TempDir(), "copy.db")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	storetest.Fails(t, "a cancelled backup", db.Backup(ctx, path), context.Canceled)
	storetest.Fails(t, "the file", errOf(os.Stat(path)), fs.ErrNotExist)
}

func importPerk(t *testing.T, db *DB, id string) {
	t.Helper()
	perk := store.PerkRecord{Perk: api.Perk{ID: id, Title: id, Description: id, City: "Leeds"}}
	must(db.ImportPerks(t.Context(), storetest.Rows(perk), nil, store.Operator, time.Now()))(t)
}

func openAt(t *testing.T, path string) *DB {
	t.Helper()
	db := must(Open(t.Context(), path, Options{}))(t)
	storetest.AtEnd(t, db.Close)
	return db
}
