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

	"golang.org/x/sync/errgroup"

	"example.com/perks/store"
)

func TestOpenMakesAFileOnlyItsOwnerCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%41&mode=ro.db")
	db := openAt(t, path)
	noError(t, db.Ready(t.Context()))
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info := must(os.Stat(name))(t)
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, mode)
		}
	}
}

func TestEveryCommitIsOnTheDiskAndEveryReferenceIsChecked(t *testing.T) {
	db := openTemporary(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		noError(t, db.write(t.Context(), "look", func(s *session) error {
			got, err := store.One(s, store.ScanValue[string], `PRAGMA `+pragma)
			if got != want {
				t.Errorf("%s is %q, want %q", pragma, got, want)
			}
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

func TestManyOpenANewDatabaseAtOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	var group errgroup.Group
	for range 8 {
		group.Go(func() error {
			db, err := Open(context.Background(), path, Options{})
			if err != nil {
				return err
			}
			return errors.Join(db.Ready(context.Background()), db.Close())
		})
	}
	noError(t, group.Wait())
	requireStatus(t, path, true)
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	made := func(change string) (path string) {
		db := openTemporary(t)
		noError(t, errors.Join(db.write(t.Context(), "migrate", func(s *session) error {
			return s.exec(change)
		}), db.Close()))
		return db.file.path
	}
	newer := made(`INSERT INTO migrations VALUES (2, '0002_tomorrow', 0)`)
	older := made(`UPDATE migrations SET name = '0001_initial'`)
	text := filepath.Join(t.TempDir(), "text.db")
	noError(t, os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600))
	for _, test := range []struct{ name, path, want string }{
		{"a newer database", newer, "it is at version 2, and this program knows versions up to 1: use a newer perksd"},
		{"an older database", older, "its migration 0001_initial is not one of this program, which has 0001_schema"},
		{"a file that is not a database", text, "file is not a database"},
		{"a directory that is not there", filepath.Join(t.TempDir(), "missing", "perks.db"),
			"no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(t.Context(), test.path, Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("got %v, want %q and the path", err, test.want)
			}
		})
	}
	for _, path := range []string{newer, older} {
		if _, err := Status(t.Context(), path); err == nil {
			t.Errorf("there is a status of %s", path)
		}
	}
}

func TestStatusChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	requireStatus(t, path, false)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the missing file exists now (%v)", err)
	}
	noError(t, os.WriteFile(path, nil, 0o600))
	requireStatus(t, path, false)
	db := must(Open(t.Context(), path, Options{}))(t)
	requireStatus(t, path, true)
	noError(t, db.Close())
	requireStatus(t, path, true)
}

func requireStatus(t *testing.T, path string, applied bool) {
	t.Helper()
	migrations := must(Status(t.Context(), path))(t)
	if len(migrations) == 0 {
		t.Fatal("no migration is known")
	}
	for i, m := range migrations {
		if prefix := fmt.Sprintf("%04d_", i+1); m.Version != i+1 || !strings.HasPrefix(m.Name, prefix) {
			t.Errorf("migration %d is %d, %q, want a name that begins with %q", i+1, m.Version, m.Name, prefix)
		}
		if m.AppliedAt.IsZero() == applied {
			t.Errorf("migration %q was applied at %v, want applied: %t", m.Name, m.AppliedAt, applied)
		}
	}
}

func TestALaterMigrationIsAppliedOnce(t *testing.T) {
	db := openTemporary(t)
	later := append(knownMigrations(), store.Migration{
		Version: 2, Name: "0002_later.fits1", Script: `CREATE TABLE later (id TEXT PRIMARY KEY)`,
	})
	for range 2 {
		s := must(db.file.session(t.Context()))(t)
		noError(t, errors.Join(s.migrate(later), s.close()))
	}
	status, err := Status(t.Context(), db.file.path)
	if err != nil || len(store.Pending(status)) != 0 || len(status) != 2 || status[1].Name != later[1].Name {
		t.Errorf("to a program that passes over the migration, the status is %v, %v", status, err)
	}
	openPath(t, db.file.path)
}
