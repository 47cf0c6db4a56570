package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// linked makes a database in its own directory and returns the path of a link to it, and its real path.
func linked(t *testing.T) (link, path string) {
	t.Helper()
	directory, disk := t.TempDir(), t.TempDir()
	link, path = filepath.Join(directory, "perks.db"), filepath.Join(disk, "data.db")
	db := must(Open(t.Context(), path, Options{}))(t)
	noError(t, errors.Join(db.Close(), os.Symlink(path, link)))
	return link, path
}

func TestADatabaseBehindALinkAcceptsWrites(t *testing.T) {
	link, path := linked(t)
	db := openAt(t, link)
	for range 2 { // the first call caches the identity of the log
		noError(t, db.Ready(t.Context()))
	}
	noError(t, os.Rename(path+"-wal", path+"-moved"))
	storetest.Fails(t, "without its log", db.Ready(t.Context()), api.CodeUnavailable)
	noError(t, os.Rename(path+"-moved", path+"-wal"))
	storetest.Equal(t, "with its log again", db.Ready(t.Context()), nil)
	_, other := linked(t)
	noError(t, errors.Join(os.Remove(link), os.Symlink(other, link)))
	storetest.Fails(t, "when the link has another target", db.Ready(t.Context()), api.CodeUnavailable)
}

// A read that needs another connection while another file is at the path would return what that file says.
func TestReadsNeverSeeAnotherFile(t *testing.T) {
	db := openTemporary(t)
	path := db.file.path
	noError(t, db.write(t.Context(), "write", addUser("ann")))
	another := func(doing string) {
		t.Helper()
		_, err := store.All(db.latest(t.Context()), store.ScanValue[string], `SELECT id FROM users`)
		if err := fault("read", err); api.CodeOf(err) != api.CodeUnavailable || !errors.Is(err, errReplaced) {
			t.Errorf("with %s, a read of another connection returned %v, want unavailable because of that", doing, err)
		}
	}
	noError(t, db.snapshot(t.Context(), func(q store.Querier) error { // one connection is in use
		if err := os.Rename(path, path+".moved"); err != nil {
			return err
		}
		another("no file")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			return err
		}
		another("another file")
		if err := os.Rename(path+".moved", path); err != nil {
			return err
		}
		storetest.Equal(t, "users with the file put back", users(t, db), []string{"ann"})
		return nil
	}))
	noError(t, os.Rename(path, path+".moved"))
	defer os.Rename(path+".moved", path)
	storetest.Equal(t, "users on an open connection", users(t, db), []string{"ann"})
}

func TestRestoreBehindALinkReplacesItsTarget(t *testing.T) {
	link, path := linked(t)
	backup := filepath.Join(t.TempDir(), "backup.db")
	db := must(Open(t.Context(), link, Options{}))(t)
	noError(t, errors.Join(db.Backup(t.Context(), backup), db.Close()))
	before := must(os.Stat(path))(t)
	former := must(Restore(t.Context(), backup, link, time.Now(), carryNothing))(t)
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
