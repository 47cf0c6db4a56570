package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
)

// linked makes a database in its own folder and returns the path of a link to it, and its real path.
func linked(t *testing.T) (link, path string) {
	t.Helper()
	folder, disk := t.TempDir(), t.TempDir()
	link, path = filepath.Join(folder, "perks.db"), filepath.Join(disk, "data.db")
	db, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Close(), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	return link, path
}

func TestADatabaseBehindALinkAcceptsWrites(t *testing.T) {
	link, path := linked(t)
	db, err := Open(t.Context(), link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 { // the first call caches the identity of the log
		if err := db.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path+"-wal", path+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("without its log: %v, want unavailable", err)
	}
	if err := os.Rename(path+"-moved", path+"-wal"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); err != nil {
		t.Errorf("with its log again: %v", err)
	}
	_, other := linked(t)
	if err := errors.Join(os.Remove(link), os.Symlink(other, link)); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("when the link has another target: %v, want unavailable", err)
	}
}

func TestRestoreBehindALinkReplacesItsTarget(t *testing.T) {
	link, path := linked(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	db, err := Open(t.Context(), link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Backup(t.Context(), backup), db.Close()); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	former, err := Restore(t.Context(), backup, link, time.Now(), carryNothing)
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.Lstat(former); err != nil || !os.SameFile(kept, before) {
		t.Errorf("the former database is %v, %v, want the file itself", kept, err)
	}
	is, err := os.Stat(path)
	if err != nil || os.SameFile(is, before) {
		t.Errorf("the link's target is still the former database, or %v", err)
	}
	if behind, err := os.Stat(link); err != nil || !os.SameFile(is, behind) {
		t.Errorf("the link has another target, or %v", err)
	}
}
