package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
)

// linked makes a database in a folder of its own and returns the name of a link to it, and its own.
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

func TestADatabaseBehindALinkTakesWrites(t *testing.T) {
	link, path := linked(t)
	db, err := Open(t.Context(), link, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 { // what is checked of the log is known after the first
		if err := db.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(path+"-wal", path+"-away"); err != nil {
		t.Fatal(err)
	}
	if err := db.Ready(t.Context()); api.CodeOf(err) != api.CodeUnavailable {
		t.Errorf("without its log: %v, want that it is unavailable", err)
	}
	if err := os.Rename(path+"-away", path+"-wal"); err != nil {
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
		t.Errorf("when the link leads elsewhere: %v, want that it is unavailable", err)
	}
}

func TestRestoreBehindALinkReplacesWhatItLeadsTo(t *testing.T) {
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
		t.Errorf("the former one is %v, %v, want the file itself", kept, err)
	}
	is, err := os.Stat(path)
	if err != nil || os.SameFile(is, before) {
		t.Errorf("where the link leads to is the former one still, or %v", err)
	}
	if behind, err := os.Stat(link); err != nil || !os.SameFile(is, behind) {
		t.Errorf("the link leads elsewhere, or %v", err)
	}
}
