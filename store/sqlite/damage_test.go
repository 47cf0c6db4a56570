package sqlite

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestDamageIsToldFromADiskThatFails reads a database whose pages were overwritten, and then the same error beside an
// intact one.
func TestDamageIsToldFromADiskThatFails(t *testing.T) {
	directory := t.TempDir()
	path := filepath.Join(directory, "perks.db")
	fill(t, path)
	db, logged := openLogged(t, path)
	overwriteMiddle(t, path)
	var damaged error
	for _, err := range db.ExportUsers(t.Context()) {
		damaged = err
	}
	const reported = "the disk failed, or the database is damaged"
	if api.CodeOf(damaged) != api.CodeUnavailable || !strings.Contains(damaged.Error(), reported) {
		t.Fatalf("reading what was overwritten gives %v", damaged)
	}
	db.writer.damage.checks.Wait()
	if text := logged.String(); !strings.Contains(text, "the database is damaged: stop the server and restore") {
		t.Errorf("the log of a damaged database is\n%s", text)
	}

	intact, logged := openLogged(t, filepath.Join(directory, "intact.db"))
	for range 1000 { // one check, however often the error comes
		intact.fault("read", damaged)
	}
	intact.writer.damage.checks.Wait()
	text := logged.String()
	if strings.Count(text, "the database is not damaged") != 1 || strings.Contains(text, "restore a backup") {
		t.Errorf("the log of an intact database is\n%s", text)
	}
}

func TestALogThatOnlyGrowsIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	db, logged := openLogged(t, path)
	held, release, done := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		done <- db.snapshot(t.Context(), func(q store.Querier) error { // as a program that forgets its transaction
			_, err := store.One(q, store.ScanValue[int64], `SELECT count(*) FROM users`)
			close(held)
			<-release
			return err
		})
	}()
	<-held
	db.writer.maxLog = 1 << 20
	for i := range 300 {
		noError(t, db.write(t.Context(), "add users", addUser(fmt.Sprintf("%d%s", i, strings.Repeat("u", 4000)))))
		later := func(*session) error {
			db.writer.logCheckedAt = db.writer.logCheckedAt.Add(-logInterval)
			return nil
		}
		noError(t, db.write(t.Context(), "look again", later))
	}
	if size := db.Stats().LogBytes; size < 1<<20 {
		t.Errorf("the log has %d bytes", size)
	}
	close(release)
	noError(t, <-done)
	if text := logged.String(); !strings.Contains(text, "the write-ahead log of the database keeps growing") {
		t.Errorf("the log is\n%s", text)
	}
}

func openLogged(t *testing.T, path string) (*DB, *bytes.Buffer) {
	t.Helper()
	var logged bytes.Buffer
	db := must(Open(t.Context(), path, Options{Logger: slog.New(slog.NewTextHandler(&logged, nil))}))(t)
	t.Cleanup(func() { db.Close() })
	return db, &logged
}

// fill makes a database with many pages of users.
func fill(t *testing.T, path string) {
	t.Helper()
	db := must(Open(t.Context(), path, Options{}))(t)
	defer db.Close()
	users := storetest.Numbered(5000, func(i int) store.User { return store.User{ID: fmt.Sprintf("user-%06d", i)} })
	must(db.ImportUsers(context.Background(), users, store.Operator, time.Now()))(t)
}

// overwriteMiddle destroys what is between the first and the last tenth of the file.
func overwriteMiddle(t *testing.T, path string) {
	t.Helper()
	file := must(os.OpenFile(path, os.O_RDWR, 0))(t)
	defer file.Close()
	info := must(file.Stat())(t)
	const page = 4096
	pages := info.Size() / page
	for n := pages / 2; n < pages*9/10; n++ {
		must(file.WriteAt(bytes.Repeat([]byte{0xff}, page), n*page))(t)
	}
}
