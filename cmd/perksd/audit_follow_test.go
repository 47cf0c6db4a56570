package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

func TestAuditFilters(t *testing.T) {
	o := withRedemptions(t)
	o.operator = store.OperatorActor("root", "ann")
	o.must("redemption", "approve", "r-1")
	subjects := func(args ...string) string {
		t.Helper()
		var list []string
		for line := range strings.Lines(o.must(append([]string{"audit"}, args...)...)) {
			list = append(list, strings.Fields(line)[3])
		}
		return strings.Join(list[1:], " ")
	}
	o.now = testNow.Add(25 * time.Hour)
	for _, r := range []struct{ want, args string }{
		{"redemption/r-1", "--actor operator/*"},
		{"client/acme users perks redemption/r-1", "--actor operator*"},
		{"redemption/r-3 redemption/r-1", "--action redemption.* --limit 2"},
		{"redemption/r-2 redemption/r-3 redemption/r-1", "--since 2026-06-15T12:02:00Z"},
		{"redemption/r-2 redemption/r-3 redemption/r-1", "--since 24h58m"},
		{"redemption/r-2", "--since 24h58m --until 24h57m"},
		{"", "--until 2026-06-15"},
		{"", "--since 1d"},
		{"redemption/r-1", "--since 2d --subject redemption/r-1 --limit 1"},
	} {
		equal(t, r.args, r.want, subjects(strings.Fields(r.args)...))
	}
}

func TestAuditRefuses(t *testing.T) {
	o := withClient(t)
	const more = " (see 'perksd audit --help')"
	const times = " is not a time: write 2026-06-15T12:00:00Z, a day (2026-06-15) or an age (24h, 7d)"
	o.refuses(exitUsage, `--since "yesterday"`+times+more, "audit", "--since", "yesterday")
	o.refuses(exitUsage, `--until "-3h"`+times+more, "audit", "--until", "-3h")
	o.refuses(exitUsage, "--limit must not be negative"+more, "audit", "--limit", "-1")
	o.refuses(exitUsage, "--action allows * only as the last character"+more, "audit", "--action", "*.create")
	o.refuses(exitUsage, "--follow never ends, so it cannot print a JSON array: use -o jsonl"+more, "audit", "-f", "-o",
		"json")
	o.refuses(exitUsage, "--follow shows future entries, --until past ones: use only one of them"+more, "audit", "-f",
		"--until", "1h")
}

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
