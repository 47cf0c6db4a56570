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
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestOpenMakesAFileOnlyItsOwnerCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a b?c#d%41&mode=ro.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 {
			t.Errorf("%s has mode %o, want 600", name, mode)
		}
	}
}

func TestEveryCommitIsOnTheDiskAndEveryReferenceIsChecked(t *testing.T) {
	db := openTemporary(t)
	for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} {
		if err := db.write(t.Context(), "look", func(s *session) error {
			got, err := store.One(s, store.ScanValue[string], `PRAGMA `+pragma)
			if got != want {
				t.Errorf("%s is %q, want %q", pragma, got, want)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAMigratedDatabaseIsOpenedBesideAWriter(t *testing.T) {
	db := openTemporary(t)
	if err := db.write(t.Context(), "hold the write lock", func(*session) error {
		beside, err := Open(context.Background(), db.file.path, Options{})
		if err != nil {
			return err
		}
		return beside.Close()
	}); err != nil {
		t.Fatal(err)
	}
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
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	requireStatus(t, path, true)
}

func TestOpenRefusesOtherFiles(t *testing.T) {
	newer := filepath.Join(t.TempDir(), "newer.db")
	db, err := Open(t.Context(), newer, Options{})
	if err != nil {
		t.Fatal(err)
	}
	version := len(knownMigrations()) + 1
	if err := errors.Join(db.write(t.Context(), "migrate", func(s *session) error {
		return s.exec(`INSERT INTO migrations VALUES (?, 'of tomorrow', 0)`, version)
	}), db.Close()); err != nil {
		t.Fatal(err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte(strings.Repeat("not a database\n", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, path, want string }{
		{"a newer database", newer, fmt.Sprintf("it is at version %d, and this program knows versions up to %d: use a newer perksd", version, version-1)},
		{"a file that is no database", text, "file is not a database"},
		{"a folder that is not there", filepath.Join(t.TempDir(), "missing", "perks.db"), "no such file or directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Open(t.Context(), test.path, Options{})
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.path) {
				t.Errorf("got %v, want %q and the path", err, test.want)
			}
		})
	}
	if _, err := Status(t.Context(), newer); err == nil {
		t.Error("Status succeeded on a newer database")
	}
}

func TestStatusChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	requireStatus(t, path, false)
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the missing file exists now (%v)", err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	requireStatus(t, path, false)
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	requireStatus(t, path, true)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	requireStatus(t, path, true)
}

func requireStatus(t *testing.T, path string, applied bool) {
	t.Helper()
	migrations, err := Status(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
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

func TestTheAuditLogCannotBeChanged(t *testing.T) {
	db := openTemporary(t)
	err := db.write(t.Context(), "audit", func(s *session) error {
		return s.exec(`INSERT INTO audit (at, actor, action, subject) VALUES (1, 'a', 'b', 'c')`)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`UPDATE audit SET actor = 'x'`, `DELETE FROM audit`} {
		err := db.write(t.Context(), "audit", func(s *session) error { return s.exec(text) })
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v, want a refusal", text, err)
		}
	}
}

// TestListingsWithoutWordBitsAreListed migrates a file of the version that knew words, but not their bits.
func TestListingsWithoutWordBitsAreListed(t *testing.T) {
	path := fileOfVersion(t, 8, `
		INSERT INTO clients VALUES ('owner', 'Owner', x'', '', 0, 0, 0);
		INSERT INTO properties VALUES (1, 'owner', 'Flat', '', '', 'Köln', '', '[]', '100.50', 1, 1, NULL, NULL, 0, 'köln', '''flat'' ''köln''', '3100.5')`)
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	unkeyed, err := store.One(db.latest(t.Context()), store.ScanValue[int], `SELECT count(*) FROM properties WHERE word_bits IS NULL`)
	if err != nil || unkeyed != 0 {
		t.Errorf("the migration left %d listings without bits, %v", unkeyed, err)
	}
	list, err := db.ListProperties(t.Context(), store.PropertyQuery{PropertyFilter: api.PropertyFilter{Query: "flat köl"}, Window: store.Window{Page: 1, PerPage: 5}})
	if err != nil || len(list.Items) != 1 {
		t.Errorf("it lists %+v, %v", list, err)
	}
}

// fileOfVersion makes a file with the first migrations, and runs a script there.
func fileOfVersion(t *testing.T, version int, script string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "perks.db")
	given, err := newFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	older, err := given.session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range knownMigrations()[:version] {
		if err := older.apply(m); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(older.script(script), older.close()); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestPropertiesOfAnOlderFileAreListed migrates a file whose listings have no keys, and whose idempotency keys are in the old table.
func TestPropertiesOfAnOlderFileAreListed(t *testing.T) {
	path := fileOfVersion(t, 6, `
		INSERT INTO clients VALUES ('owner', 'Owner', x'', '', 0, 0, 0);
		INSERT INTO audit (at, actor, action, subject) VALUES (1, 'operator', 'property.delete', 'property/70');
		INSERT INTO properties VALUES (1, 'owner', 'Flat', '', '', 'Köln', '', '[]', '100.50', 1, 1, NULL, NULL, 0);
		INSERT INTO perks (row, id, created_at, updated_at, approval, title_fold, city_fold, title, city, description) VALUES (1, 'p', 0, 0, 'auto', '', '', '', '', '');
		INSERT INTO users VALUES ('ann');
		INSERT INTO redemptions VALUES (1, 'r', 1, 'ann', 'owner', 0, 'approved', 'approved', '{}', 0, NULL, NULL);
		INSERT INTO idempotency_keys VALUES ('owner', 'k', zeroblob(32), 1, 0)`)
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, filter := range []api.PropertyFilter{{City: "KÖLN"}, {Query: "fla"}} {
		list, err := db.ListProperties(t.Context(), store.PropertyQuery{PropertyFilter: filter, Window: store.Window{Page: 1, PerPage: 5}})
		if err != nil || len(list.Items) != 1 {
			t.Errorf("%+v lists %+v, %v", filter, list, err)
		}
	}
	if created, err := db.CreateProperty(t.Context(), store.PropertyCreation{Owner: "owner"}); err != nil || created.Property.ID != 71 {
		t.Errorf("the new listing has the id %d, %v, want one above that of the deleted one", created.Property.ID, err)
	}
	again, err := db.Redeem(t.Context(), store.RedeemAttempt{ID: "r2", PerkID: "p", UserID: "ann", ClientID: "owner", Key: &store.IdempotencyKey{Key: "k"}, At: time.UnixMicro(1)})
	if err != nil || again.Redemption.ID != "r" || !again.Replayed {
		t.Errorf("the key from before replays %+v, %v", again, err)
	}
}

func TestEntriesAreWholeWhileServersOfTheVersionBeforeMayReadThem(t *testing.T) {
	db := openTemporary(t)
	if err := db.write(t.Context(), "make it older", func(s *session) error {
		return s.script(`UPDATE migrations SET applied_at = applied_at - 3600000000 WHERE version = 1`)
	}); err != nil {
		t.Fatal(err)
	}
	storetest.UpdatesAreWholeForADay(t, openPath(t, db.file.path))
}
