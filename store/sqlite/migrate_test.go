package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestOpenMakesAFileOnlyItsOwnerCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%41&mode=ro.db")
	db := openAt(t, path)
	noError(t, db.Ready(t.Context()))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info := must(os.Stat(name))(t)
		storetest.Equal(t, "the mode of "+name, info.Mode().Perm(), 0o600)
	}
}

func TestEveryCommitIsOnTheDiskAndEveryReferenceIsChecked(t *testing.T) {
	db := openTemporary(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		noError(t, db.write(t.Context(), "look", func(s *session) error {
			got, err := store.One(s, store.ScanValue[string], `PRAGMA `+pragma)
			storetest.Equal(t, pragma, got, want)
			return err
		}))
	}
}

func TestAMigratedDatabaseIsOpenedBesideAWriter(t *testing.T) {
	db := openTemporary(t)
	noError(t, db.write(t.Context(), "hold the write lock", func(*session) error {
		beside, err := Open(context.Background(), db.file.path, Options{})
		if err != nil {
			return err
		}
		return beside.Close()
	}))
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	text := filepath.Join(t.TempDir(), "text.db")
	noError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	for path, want := range map[string]string{
		text: "file is not a database",
		filepath.Join(t.TempDir(), "missing", "perks.db"): "no such file or directory",
	} {
		if _, err := Open(t.Context(), path, Options{}); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("got %v, want %q and the path", err, want)
		}
	}
}

func TestNoMigrationOfAMissingOrEmptyFileIsApplied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	requirePending := func() {
		t.Helper()
		if known := must(Status(t.Context(), path))(t); len(store.Pending(known)) != len(knownMigrations()) {
			t.Errorf("the migrations are %v, want none applied", known)
		}
	}
	requirePending()
	storetest.Fails(t, "the missing file", errOf(os.Stat(path)), fs.ErrNotExist)
	noError(t, os.WriteFile(path, nil, 0o600))
	requirePending()
}

func TestALaterMigrationIsAppliedOnce(t *testing.T) {
	db := openTemporary(t)
	known := knownMigrations()
	later := append(known, store.Migration{Version: len(known) + 1, Name: fmt.Sprintf("9999_later.fits%d", len(known)),
		Script: `CREATE TABLE later (id TEXT PRIMARY KEY)`})
	for range 2 {
		s := must(db.file.session(t.Context()))(t)
		noError(t, errors.Join(s.migrate(later), s.close()))
	}
	storetest.Equal(t, "applied migrations", value[int64](t, db, `SELECT count(*) FROM migrations`), int64(len(later)))
}

func TestTheAgeOfASecretMadeBeforeTheMigrationIsThatInTheAuditLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	noError(t, os.WriteFile(path, nil, 0o600))
	s := must(must(newFile(path))(t).session(t.Context()))(t)
	noError(t, errors.Join(s.migrate(knownMigrations()[:2]),
		s.script(storetest.FormerClients(`zeroblob(32)`, "1000000", "2000000")), s.close()))
	storetest.RequireSecretAges(t, openAt(t, path))
}
