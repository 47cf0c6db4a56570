package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"io"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestAuditFollowShowsOldAndNewEntries(t *testing.T) {
	o := withRedemptions(t)
	// so that a poll which already printed what comes next does not block the tick after it
	o.ticks = make(chan time.Time, 1)
	ctx, interrupt := context.WithCancel(context.Background())
	defer interrupt()
	out, in := io.Pipe()
	var stderr bytes.Buffer
	exited := make(chan int)
	go func() {
		code := o.program("", in, &stderr).run(ctx,
			[]string{"audit", "--follow", "--limit", "2", "--action", "redemption.*"})
		in.Close()
		exited <- code
	}()
	lines := bufio.NewScanner(out)
	next := func(want string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatalf("the output stopped before %q: %s", want, stderr.String())
		}
		equal(t, "line", want, lines.Text())
	}
	next("AT                    ACTOR                     ACTION                 SUBJECT")
	next("2026-06-15T12:02:00Z  client/acme               redemption.create      redemption/r-2")
	next("2026-06-15T12:03:00Z  client/acme               redemption.create      redemption/r-3")
	o.must("redemption", "approve", "r-1")
	o.must("client", "disable", "acme") // filtered out
	o.ticks <- testNow
	next("2026-06-15T12:03:00Z  operator                  redemption.approve     redemption/r-1")
	o.ticks <- testNow // with nothing new
	o.must("redemption", "reject", "r-3")
	o.ticks <- testNow
	next("2026-06-15T12:03:00Z  operator                  redemption.reject      redemption/r-3")
	interrupt()
	if code := <-exited; code != exitDone || stderr.Len() > 0 {
		t.Errorf("interrupted, it exited with %d and printed %q", code, stderr.String())
	}
}

// unread is an output that blocks until released is closed.
type unread struct {
	bytes.Buffer
	came     chan struct{} // receives once for each blocked write
	released chan struct{}
}

func (u *unread) Write(text []byte) (int, error) {
	select {
	case u.came <- struct{}{}:
		<-u.released
	case <-u.released:
	}
	return u.Buffer.Write(text)
}

// TestAuditFollowHoldsNoTransactionWhileItsOutputBlocks checks the database while the first poll cannot be printed.
func TestAuditFollowHoldsNoTransactionWhileItsOutputBlocks(t *testing.T) {
	for name, open := range map[string]func(*testing.T) (o *operator, readers func() int){
		"sqlite": func(t *testing.T) (*operator, func() int) {
			o := newSQLiteOperator(t)
			return o, func() (busy int) {
				o.must("client", "create", "--name", "Later", "--id", "later") // which an older snapshot does not see
				db, err := sql.Open("sqlite", o.path("perks.db"))
				if err != nil {
					t.Fatal(err)
				}
				defer db.Close()
				if err := db.QueryRow(`PRAGMA wal_checkpoint(TRUNCATE)`).Scan(&busy, new(int), new(int)); err != nil {
					t.Fatal(err)
				}
				return busy
			}
		},
		"postgres": func(t *testing.T) (*operator, func() int) {
			o := newOperatorOf(t, storetest.PostgresDatabase(t))
			return o, func() (busy int) {
				conn, err := pgx.Connect(t.Context(), o.env["PERKSD_DATABASE"])
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close(context.Background())
				if err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
					WHERE datname = current_database() AND pid <> pg_backend_pid() AND xact_start IS NOT NULL
						AND backend_type = 'client backend'`).Scan(&busy); err != nil {
					t.Fatal(err)
				}
				return busy
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			o, readers := open(t)
			for range 25 {
				o.must("client", "create", "--name", strings.Repeat("A long name ", 8))
			}
			o.ticks = make(chan time.Time)
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			out := &unread{came: make(chan struct{}), released: make(chan struct{})}
			exited := make(chan int)
			go func() {
				exited <- o.program("", out, io.Discard).run(ctx, []string{"audit", "--follow", "-o", "jsonl"})
			}()
			<-out.came
			if n := readers(); n != 0 {
				t.Errorf("%d transactions are open", n)
			}
			close(out.released)
			o.ticks <- testNow // received once the first poll is done
			interrupt()
			if code := <-exited; code != exitDone || strings.Count(out.String(), "A long name") < 25 ||
				out.Len() < 2*4096 {
				t.Errorf("it exited with %d and printed %d bytes: %s", code, out.Len(), out.String())
			}
		})
	}
}

// fillAudit adds a client and entries of it, a minute apart from a time on.
func fillAudit(t *testing.T, db store.Store, entries int, from time.Time) {
	t.Helper()
	client := store.Client{ID: "acme", Name: "Acme", CreatedAt: from}
	if err := db.CreateClient(t.Context(), client, store.Operator); err != nil {
		t.Fatal(err)
	}
	for i := range entries - 1 {
		at := from.Add(time.Duration(i+1) * time.Minute)
		if err := db.SetClientDisabled(t.Context(), "acme", i%2 == 0, store.Operator, at); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAnArchiveThatIsKilledLosesNothing kills the command later and later, and checks each time that every entry is in
// the database or in the file.
func TestAnArchiveThatIsKilledLosesNothing(t *testing.T) {
	for name, address := range map[string]string{
		"over SQLite":     "sqlite:" + filepath.Join(t.TempDir(), "perks.db"),
		"over PostgreSQL": storetest.PostgresDatabase(t),
	} {
		t.Run(name, func(t *testing.T) { killArchives(t, address) })
	}
}

func killArchives(t *testing.T, address string) {
	i := programs.InstallOver(t, address)
	i.Must("", "migrate")
	target, err := parseDatabase(address)
	if err != nil {
		t.Fatal(err)
	}
	db, err := target.open(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const entries = 800
	fillAudit(t, db, entries, time.Now().Add(-100*24*time.Hour).UTC().Truncate(time.Second))
	path := filepath.Join(t.TempDir(), "old.gz")
	before := time.Now().Add(-72 * time.Hour).UTC().Format(time.RFC3339)
	count := func(entries iter.Seq2[store.AuditEntry, error], all map[time.Time]bool) (n int) {
		t.Helper()
		for e, err := range entries {
			if err != nil {
				t.Fatal(err)
			}
			if e.Action != store.ActionArchiveAudit {
				n++
				all[e.At.UTC()] = true
			}
		}
		return n
	}
	kills := 0
	for delay := 30 * time.Millisecond; ; delay += delay / 4 {
		command := i.Command("audit", "archive", "--before", before, path)
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		timer := time.AfterFunc(delay, func() { _ = command.Process.Kill() })
		err := command.Wait()
		timer.Stop()
		if err != nil && !strings.Contains(err.Error(), "killed") {
			t.Fatalf("the command failed: %v\n%s", err, output.String())
		}
		all, inFile := map[time.Time]bool{}, 0
		inDatabase := count(db.Audit(t.Context(), store.AuditQuery{}), all)
		if _, err := os.Stat(path); err == nil {
			inFile = count(archivedAudit(path, store.AuditQuery{}), all)
		}
		if len(all) != entries || inFile != 0 && inFile != entries {
			t.Fatalf("killed after %s: there are %d entries in the database, %d in the file, and %d in all",
				delay, inDatabase, inFile, len(all))
		}
		if err == nil {
			if inDatabase != 0 || inFile != entries {
				t.Errorf("at the end there are %d entries in the database, and %d in the file", inDatabase, inFile)
			}
			break
		}
		kills++
	}
	if archives := strings.Count(i.Must("", "audit", "--action", "audit.archive"), "audit.archive"); archives != 1 {
		t.Errorf("%d archives are recorded", archives)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 || kills == 0 {
		t.Errorf("after %d kills there are %d files: %v", kills, len(left), err)
	}
}
