package main

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
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

// deleteProperty deletes a property as its owner, like the server.
func (o *operator) deleteProperty(id int64) {
	o.t.Helper()
	db := o.store()
	defer db.Close()
	anyone := func(store.PropertyRecord) error { return nil }
	if err := db.DeleteProperty(context.Background(), id, store.ClientActor("acme"), o.now, anyone); err != nil {
		o.t.Fatal(err)
	}
}

func TestPropertyRestore(t *testing.T) {
	o := withClient(t)
	o.must("import", "properties", o.file("odd.json", "["+odd["properties"]+"]"))
	before := o.must("export", "properties", "-o", "jsonl")
	o.deleteProperty(1)
	equal(t, "restore", "Restored property 1. It belongs to client acme.\n", o.must("property", "restore", "1"))
	equal(t, "the properties", before, o.must("export", "properties", "-o", "jsonl"))

	o.deleteProperty(1)
	if restored := o.must("property", "restore", "1", "-o", "json"); !strings.Contains(restored,
		`"price_pw": "120.50"`) || !strings.Contains(restored, `"owner": "acme"`) {
		t.Errorf("restore prints %s", restored)
	}
	o.refuses(exitFailure, "Property 1 exists; there is nothing to restore.", "property", "restore", "1")
	o.refuses(exitFailure, "There is no property 2.", "property", "restore", "2")
	o.refuses(exitUsage, `a property's id is a whole number above 0, not "one" (see 'perksd property restore --help')`,
		"property", "restore", "one")
}

func TestAuditShowsActorsAndActions(t *testing.T) {
	o := withRedemptions(t)
	o.must("import", "properties", o.file("properties.csv", importable["properties"]))
	o.must("redemption", "approve", "r-1")
	o.deleteProperty(2)
	o.must("property", "restore", "2")
	o.must("client", "rotate-secret", "acme")
	o.must("client", "disable", "acme")
	o.must("client", "enable", "acme")
	equal(t, "the log", `AT                    ACTOR        ACTION                SUBJECT
2026-06-15T12:00:00Z  operator     client.create         client/acme
2026-06-15T12:00:00Z  operator     users.import          users
2026-06-15T12:00:00Z  operator     perks.import          perks
2026-06-15T12:01:00Z  client/acme  redemption.create     redemption/r-1
2026-06-15T12:02:00Z  client/acme  redemption.create     redemption/r-2
2026-06-15T12:03:00Z  client/acme  redemption.create     redemption/r-3
2026-06-15T12:03:00Z  operator     properties.import     properties
2026-06-15T12:03:00Z  operator     redemption.approve    redemption/r-1
2026-06-15T12:03:00Z  client/acme  property.delete       property/2
2026-06-15T12:03:00Z  operator     property.restore      property/2
2026-06-15T12:03:00Z  operator     client.rotate-secret  client/acme
2026-06-15T12:03:00Z  operator     client.disable        client/acme
2026-06-15T12:03:00Z  operator     client.enable         client/acme
`, o.must("audit"))
	golden(t, "audit_property.json", o.must("audit", "--subject", "property/2", "-o", "json"))
	golden(t, "audit_property.jsonl", o.must("audit", "--subject", "property/2", "-o", "jsonl"))
	equal(t, "the log of nothing", "[]\n", o.must("audit", "--subject", "property/9", "-o", "json"))
}

func TestKeysRotateAddsAKeyAndLetsTheOldOnesExpire(t *testing.T) {
	o := withClient(t)
	first := o.must("keys", "rotate")
	if !strings.HasPrefix(first, "Key ") || !strings.Contains(first, " signs new tokens from ") ||
		!strings.HasSuffix(first, ". Older keys expire at 2026-06-16T14:00:00Z at the latest.\n") {
		t.Errorf("keys rotate prints %q", first)
	}
	o.must("keys", "rotate")
	db := o.store()
	defer db.Close()
	keys, err := db.SigningKeys(context.Background(), o.now)
	if err != nil || len(keys) != 2 {
		t.Fatalf("the keys are %d, %v", len(keys), err)
	}
	expiring := 0
	for _, key := range keys {
		if !key.ExpiresAt.IsZero() {
			expiring++
		}
		if strings.Contains(o.must("audit", "-o", "json"), base64.StdEncoding.EncodeToString(key.Secret)) {
			t.Error("the audit log holds a key")
		}
	}
	if expiring != 1 {
		t.Errorf("%d of 2 keys expire, want the older one", expiring)
	}
}

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

func TestAuditArchive(t *testing.T) {
	o := newOperator(t)
	o.newClient("first") // makes the database
	fillAudit(t, o.store(), 20, testNow.Add(-100*24*time.Hour))
	all := o.must("audit", "-o", "jsonl")
	path := o.path("old.gz")
	o.refuses(exitUsage, "--before is missing (see 'perksd audit archive --help')", "audit", "archive", path)
	o.refuses(exitUsage, "--before must be at least two days ago, because servers still read newer entries "+
		"(see 'perksd audit archive --help')", "audit", "archive", "--before", "1d", path)
	o.refuses(exitUsage, "--follow shows future entries, and an archive has none: use only one of --follow and --file "+
		"(see 'perksd audit --help')", "audit", "--follow", "--file", path)
	equal(t, "nothing", "No entry from before 2020-01-01T00:00:00Z can be archived.\n",
		o.must("audit", "archive", "--before", "2020-01-01", path))
	const done = "Archived 20 entries from before 2026-06-01T00:00:00Z in "
	equal(t, "archive", done+path+"; 20 entries removed now.\n",
		o.must("audit", "archive", "--before", "2026-06-01", path))
	equal(t, "again", done+path+"; 0 entries removed now.\n",
		o.must("audit", "archive", "--before", "2026-06-01", path))
	o.refuses(exitFailure, path+" is there already, with entries from before 2026-06-01T00:00:00Z: name another file, "+
		"or finish that archive with --before 2026-06-01T00:00:00Z", "audit", "archive", "--before", "2026-06-02", path)

	left := o.must("audit", "-o", "jsonl")
	record, rest, _ := strings.Cut(left, "\n")
	if !strings.Contains(record, `"client.create","subject":"client/first"`) || strings.Count(rest, "\n") != 1 ||
		!strings.Contains(rest, `"audit.archive","subject":"audit"`) || !strings.Contains(rest, `"file":"old.gz"`) {
		t.Errorf("what is left is\n%s", left)
	}
	archived := o.must("audit", "--file", path, "-o", "jsonl")
	equal(t, "the archive and what was left", all, archived+record+"\n")
	for filter, want := range map[string]int{
		"--limit 3": 3, "--action client.dis*": 10, "--actor nobody": 0, "--since 2026-03-07T12:10:00Z": 10,
		"--until 2026-03-07T12:10:00Z -o json": 10, "--subject client/acme --limit 2": 2,
	} {
		filters := strings.Fields(filter)
		got := o.must(append([]string{"audit", "--file", path}, filters...)...)
		if n := strings.Count(got, "client."); n != want {
			t.Errorf("%q: want %d entries, got\n%s", filters, want, got)
		}
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, damaged := range map[string][]byte{
		"cut": text[:len(text)-20], "changed": bytes.Replace(text, text[60:64], []byte("????"), 1),
	} {
		broken := o.file(what+".gz", string(damaged))
		if got := o.run("audit", "--file", broken); got.code != exitFailure ||
			!strings.Contains(got.stderr, "damaged") {
			t.Errorf("%s: %d, %s", what, got.code, got.stderr)
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
