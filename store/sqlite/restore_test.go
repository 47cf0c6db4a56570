package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// backedUp makes a database and a backup of it.
func backedUp(t *testing.T) (path, backup string) {
	t.Helper()
	folder := t.TempDir()
	path, backup = filepath.Join(folder, "perks.db"), filepath.Join(folder, "backup.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Backup(t.Context(), backup), db.Close()); err != nil {
		t.Fatal(err)
	}
	return path, backup
}

func TestOneRestoreWorksAtATimeWhereThereIsNoDatabaseYet(t *testing.T) {
	path, backup := backedUp(t)
	target, err := newFile(filepath.Join(filepath.Dir(path), "new.db"))
	if err != nil {
		t.Fatal(err)
	}
	end, err := target.restoreAlone()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Restore(t.Context(), backup, target.path, time.Now()); !errors.Is(err, ErrInUse) {
		t.Errorf("beside another one: %v, want %v", err, ErrInUse)
	}
	end()
	if _, err := Restore(t.Context(), backup, target.path, time.Now()); err != nil {
		t.Errorf("after it: %v", err)
	}
}

func TestADatabaseIsNotRestoredFromItself(t *testing.T) {
	path, _ := backedUp(t)
	linked := path + ".linked"
	if err := os.Link(path, linked); err != nil {
		t.Fatal(err)
	}
	for _, backup := range []string{path, linked} {
		if _, err := Restore(t.Context(), backup, path, time.Now()); err == nil || !strings.Contains(err.Error(), "itself") {
			t.Errorf("from %s: %v, want a refusal", backup, err)
		}
	}
}
