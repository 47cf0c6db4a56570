package sqlite

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// backedUp makes a database and a backup of it.
func backedUp(t *testing.T) (path, backup string) {
	t.Helper()
	directory := t.TempDir()
	path, backup = filepath.Join(directory, "perks.db"), filepath.Join(directory, "backup.db")
	db := must(Open(t.Context(), path, Options{}))(t)
	noError(t, errors.Join(db.Backup(t.Context(), backup), db.Close()))
	return path, backup
}

// carryNothing is for tests where a restore carries nothing over.
var carryNothing = CarryOver{Former: func(*DB, error) {}, Restored: func(*DB) error { return nil }}

func TestOnlyOneRestoreRunsAtATimeWithoutADatabase(t *testing.T) {
	path, backup := backedUp(t)
	target := must(newFile(filepath.Join(filepath.Dir(path), "new.db")))(t)
	end := must(target.lockDirectory())(t)
	storetest.Fails(t, "a restore beside another one",
		errOf(Restore(t.Context(), backup, target.path, time.Now(), carryNothing)), ErrInUse)
	end()
	storetest.Equal(t, "after it", errOf(Restore(t.Context(), backup, target.path, time.Now(), carryNothing)), nil)
}

func TestADatabaseIsNotRestoredFromItself(t *testing.T) {
	path, _ := backedUp(t)
	linked := path + ".linked"
	noError(t, os.Link(path, linked))
	for _, backup := range []string{path, linked} {
		storetest.Fails(t, "from "+backup,
			errOf(Restore(t.Context(), backup, path, time.Now(), carryNothing)), "itself")
	}
}

// halfRestored makes a database whose restore stopped after moving the log and before replacing the database. The entry
// of the actor "committed last" is in the log alone.
func halfRestored(t *testing.T) (left file, backup string) {
	t.Helper()
	path, backup := backedUp(t)
	db := must(Open(t.Context(), path, Options{}))(t)
	noError(t, db.AuditRestore(t.Context(), store.Restored{}, "committed last", time.Now()))
	// What a killed server leaves: the last commit is in the log alone.
	directory := t.TempDir()
	left = file{path: filepath.Join(directory, "perks.db")}
	for _, suffix := range []string{"", logSuffix} {
		content := must(os.ReadFile(path + suffix))(t)
		noError(t, os.WriteFile(left.path+suffix, content, 0o600))
	}
	noError(t, db.Close())
	content := must(os.ReadFile(backup))(t)
	ready := file{path: left.path + ".restoring"}
	noError(t, os.WriteFile(ready.path, content, 0o600))
	must(left.keepFormer(ready, time.Now().Add(-time.Hour)))(t)
	return left, backup
}

func TestAnInterruptedRestoreIsResumed(t *testing.T) {
	left, backup := halfRestored(t)
	if _, err := Open(t.Context(), left.path, Options{}); !errors.Is(err, errHalfRestored) {
		t.Fatalf("a server that starts now: %v, want %v", err, errHalfRestored)
	}
	carried := carryNothing
	carried.Former = func(former *DB, err error) {
		if err != nil {
			t.Errorf("the former database: %v", err)
		} else if entries := actors(t, former); !slices.Contains(entries, "committed last") {
			t.Errorf("the restore sees entries of %q, want the last commit", entries)
		}
	}
	former := must(Restore(t.Context(), backup, left.path, time.Now(), carried))(t)
	for path, want := range map[string]bool{left.path: false, former: true} {
		db := must(Open(t.Context(), path, Options{}))(t)
		if entries := actors(t, db); slices.Contains(entries, "committed last") != want {
			t.Errorf("%s has entries of %q", path, entries)
		}
		noError(t, db.Close())
	}
	if kept, err := filepath.Glob(left.path + ".before-*Z"); err != nil || len(kept) != 1 {
		t.Errorf("the former database is kept as %q, want once", kept)
	}
}

func TestARestoreKeepsTheLogOfAnInterruptedOne(t *testing.T) {
	left, backup := halfRestored(t)
	noError(t, os.WriteFile(left.path+logSuffix, []byte("of another program"), 0o600))
	storetest.Fails(t, "beside a log of another program",
		errOf(Restore(t.Context(), backup, left.path, time.Now(), carryNothing)), left.path+logSuffix)
	noError(t, os.Remove(left.path+logSuffix))
	former := must(Restore(t.Context(), backup, left.path, time.Now(), carryNothing))(t)
	db := openAt(t, former)
	if entries := actors(t, db); !slices.Contains(entries, "committed last") {
		t.Errorf("the former database has entries of %q, want the last commit", entries)
	}
}

func TestARestoreStopsWhenItCannotRemoveTheLog(t *testing.T) {
	path, backup := backedUp(t)
	target := filepath.Join(filepath.Dir(path), "new.db")
	noError(t, os.MkdirAll(filepath.Join(target+logSuffix, "not empty"), 0o700))
	if _, err := Restore(t.Context(), backup, target, time.Now(), carryNothing); err == nil {
		t.Error("the restore ignored a log that it could not remove")
	}
	storetest.Fails(t, "the database", errOf(os.Stat(target)), fs.ErrNotExist)
}

func actors(t *testing.T, db *DB) (list []string) {
	t.Helper()
	for entry, err := range db.Audit(t.Context(), store.AuditQuery{}) {
		noError(t, err)
		list = append(list, string(entry.Actor))
	}
	return list
}

// replaceOnInputOf names the environment variable that turns this test program into one that locks the named database,
// reports it, and replaces it by the backup beside it when it reads a line.
const replaceOnInputOf = "REPLACE_ON_INPUT"

func replaceOnInput(path string) error {
	target, err := newFile(path)
	if err != nil {
		return err
	}
	locked, err := target.lockFile()
	if err != nil {
		return err
	}
	defer locked.Close()
	fmt.Println("locked")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	_, err = target.replaceBy(file{path: filepath.Join(filepath.Dir(path), "backup.db")}, time.Now())
	return err
}

func TestAServerThatStartsDuringARestoreOpensTheNewDatabase(t *testing.T) {
	path, _ := backedUp(t)
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), replaceOnInputOf+"="+path)
	said := must(cmd.StdoutPipe())(t)
	tell := must(cmd.StdinPipe())(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	noError(t, cmd.Start())
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "locked\n" {
		t.Fatalf("the other process says %q, %v", line, err)
	}
	type outcome struct {
		db  *DB
		err error
	}
	opened := make(chan outcome, 1)
	go func() {
		db, err := Open(t.Context(), path, Options{})
		opened <- outcome{db, err}
	}()
	for !hasOpen(path) {
		runtime.Gosched()
	}
	must(fmt.Fprintln(tell))(t)
	o := <-opened
	if err := cmd.Wait(); err != nil || stderr.String() != "<nil>" {
		t.Fatalf("the other process: %v, %s", err, &stderr)
	}
	if o.err != nil {
		t.Fatal(o.err)
	}
	defer o.db.Close()
	storetest.Equal(t, "the opened database accepts no writes", o.db.Ready(t.Context()), nil)
}

// hasOpen reports whether this process has the file open, or true where that is unknown.
func hasOpen(path string) bool {
	files, err := os.ReadDir("/proc/self/fd")
	for _, f := range files {
		if target, err := os.Readlink("/proc/self/fd/" + f.Name()); err == nil && target == path {
			return true
		}
	}
	return err != nil
}
