package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store/storetest"
)

func TestMigrateStatusChangesNothing(t *testing.T) {
	o := newOperator(t)
	status := o.must("migrate", "--status")
	if !strings.HasPrefix(status, "VERSION  NAME") || !strings.Contains(status, "pending") {
		t.Errorf("the status of a database without perksd is %q", status)
	}
	o.hasNoDatabase()
	if made := o.must("migrate"); strings.Contains(made, "pending") {
		t.Errorf("after migrate a migration is pending: %q", made)
	}
	if status := o.must("migrate", "--status"); strings.Contains(status, "pending") {
		t.Errorf("the status shows a pending migration: %q", status)
	}
	if list := o.must("migrate", "--status", "-o", "json"); !strings.HasPrefix(list, "[\n  {\"version\":1,") {
		t.Errorf("the status in JSON is %q", list)
	}
}

func TestMigrateStatusMakesNoFile(t *testing.T) {
	o := newSQLiteOperator(t)
	o.must("migrate", "--status")
	if _, err := os.Stat(o.path("perks.db")); err == nil {
		t.Error("a file was made")
	}
}

// TestMigrateLogsWhatItWaitsFor holds the lock of migrations, as another process that migrates does.
func TestMigrateLogsWhatItWaitsFor(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	other, err := pgx.Connect(t.Context(), o.env["PERKSD_DATABASE"])
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	if _, err := other.Exec(t.Context(), fmt.Sprintf(`SELECT pg_advisory_lock(%d)`, 0x7065726b73)); err != nil {
		t.Fatal(err)
	}
	stderr, out := io.Pipe()
	exited := make(chan int, 1)
	go func() {
		exited <- o.program("", io.Discard, out).run(context.Background(), []string{"migrate"})
		out.Close()
	}()
	lines := bufio.NewReader(stderr)
	said, err := lines.ReadString('\n')
	const want = "waiting for another process to finish migrating the database"
	if err != nil || !strings.Contains(said, want) {
		t.Errorf("it logs %q, %v, want %q", said, err, want)
	}
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(lines); err != nil || len(rest) > 0 {
		t.Errorf("after that it logs %q, %v", rest, err)
	}
	if code := <-exited; code != exitDone {
		t.Errorf("exit code %d", code)
	}
}
