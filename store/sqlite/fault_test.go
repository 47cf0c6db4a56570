package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// Environment variables that turn this test program into one that works on the named database and says on standard
// output how it went.
const (
	commitTwo     = "COMMIT_TWO"
	restoreBeside = "RESTORE_BESIDE"
)

func TestMain(m *testing.M) {
	for mode, do := range map[string]func(path string) error{
		replaceOnInputOf: replaceOnInput, commitTwo: commitTwoTogether, restoreBeside: restoreFromBeside,
		importLarge: importRound2,
	} {
		if path := os.Getenv(mode); path != "" {
			fmt.Fprint(os.Stderr, do(path))
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// runWithFailingSync runs this test program in the mode under strace, which makes each fsync of the file fail, and
// returns the program's output.
func runWithFailingSync(t *testing.T, file, mode, path string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "strace", "--quiet=all", "-f", "-o", os.DevNull, "-P", file,
		"-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO", os.Args[0])
	cmd.Env = append(os.Environ(), mode+"="+path)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	said, err := cmd.Output()
	if err != nil {
		t.Fatalf("strace, which has to be installed and allowed to trace: %v: %s", err, &stderr)
	}
	return string(said)
}

// commitTwoTogether commits two writes in one transaction, and prints how often each ran and its error code.
func commitTwoTogether(path string) error {
	ctx := context.Background()
	db, err := Open(ctx, path, Options{})
	if err != nil {
		return err
	}
	held, gate, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- db.write(ctx, "hold", func(*session) error { close(held); <-gate; return nil })
	}()
	<-held
	var times [2]int
	var jobs [2]*job
	for i := range jobs {
		jobs[i] = &job{ctx: ctx, done: make(chan error, 1), work: func(s *session) error {
			times[i]++
			return addUser(fmt.Sprint(i))(s)
		}}
		if err := db.writer.enqueue(jobs[i]); err != nil {
			return err
		}
	}
	close(gate)
	if err := <-done; err != nil {
		return err
	}
	for i, j := range jobs {
		code := api.CodeOf(<-j.done)
		fmt.Printf("done %d times: %s\n", times[i], code)
	}
	return nil
}

// What a failed fsync leaves in the log may survive: the write must neither be repeated nor reported as failed.
func TestACommitThatCannotBeSyncedIsUnknown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := must(Open(t.Context(), path, Options{}))(t)
	noError(t, db.Close())
	want := strings.Repeat(fmt.Sprintf("done 1 times: %s\n", api.CodeUnavailable), 2)
	storetest.Equal(t, "two writes in one transaction", runWithFailingSync(t, path+logSuffix, commitTwo, path), want)
}

func restoreFromBeside(path string) error {
	_, err := Restore(context.Background(), filepath.Join(filepath.Dir(path), "backup.db"), path, time.Now(),
		carryNothing)
	fmt.Println(err)
	return nil
}

func TestARestoreThatCannotBeSyncedChangesNothing(t *testing.T) {
	path, _ := backedUp(t)
	db := must(Open(t.Context(), path, Options{}))(t)
	noError(t, errors.Join(db.write(t.Context(), "write", addUser("since")), db.Close()))
	if said := runWithFailingSync(t, path+".restoring", restoreBeside, path); !strings.Contains(said,
		"input/output error") {
		t.Errorf("the restore returned %q, want a failed sync", said)
	}
	db = must(Open(t.Context(), path, Options{}))(t)
	defer db.Close()
	storetest.Equal(t, "users afterwards", users(t, db), []string{"since"})
}

func TestACommitIntoADeletedFileIsNotAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := openAt(t, path)
	moveFile := func(s *session) error { return errors.Join(addUser("late")(s), os.Rename(path, path+".moved")) }
	if err := db.write(t.Context(), "write", moveFile); api.CodeOf(err) != api.CodeUnavailable ||
		!errors.Is(err, errReplaced) {
		t.Errorf("a write while the file was moved: %v, want unavailable because of that", err)
	}
	noError(t, os.Rename(path+".moved", path))
	storetest.Equal(t, "once it was put back", db.write(t.Context(), "write", addUser("next")), nil)
}

func TestAnImportIntoADeletedFileIsNotAcknowledged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db := openAt(t, path)
	for when, take := range map[string]func(moveFile func() error) error{
		"while rows arrive": func(moveFile func() error) error {
			_, err := db.ImportUsers(t.Context(), func(yield func(store.User, error) bool) {
				yield(store.User{ID: "ann"}, moveFile())
			}, store.Operator, time.Now())
			return err
		},
		"before the commit": func(moveFile func() error) error { return db.writer.doExclusive(t.Context(), moveFile) },
	} {
		err := take(func() error { return os.Rename(path, path+".moved") })
		if begun := when == "before the commit"; api.CodeOf(err) != api.CodeUnavailable ||
			!errors.Is(err, errReplaced) || isNotStarted(err) == begun {
			t.Errorf("the file was moved %s: %v, want unavailable because of that", when, err)
		}
		noError(t, os.Rename(path+".moved", path))
	}
}
