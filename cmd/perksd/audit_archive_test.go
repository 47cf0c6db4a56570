package main

import (
	"bytes"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// fillAudit adds a client and so many entries of it, a minute apart from a time on.
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
