package endurance

import (
	"database/sql"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// diskSize, in KiB, holds the database of a test several times.
const diskSize = 32 << 10

// TestAFullDiskRefusesChangesUntilThereIsSpace fills the disk of a SQLite database during redemptions, and then
// frees it.
func TestAFullDiskRefusesChangesUntilThereIsSpace(t *testing.T) {
	parallel(t)
	disk := programs.NewDisk(t, diskSize)
	i := programs.InstallOn(t, disk)
	server := i.Start()
	ready := watchReadiness(t, server)
	ready.becomes(true)
	load := startLoad(t, i, server)
	load.awaitReplies(100)

	disk.Fill(0)
	full := time.Now()
	t.Logf("not ready %s after the disk was full", ready.becomes(false).Sub(full).Round(time.Millisecond))
	says := server.WaitFor(t, "the disk of the database is full")
	if !strings.Contains(says, filepath.Join(disk.Dir, "perks.db")) || !strings.Contains(says, "free space on it") {
		t.Errorf("the log does not say where, or what to do: %s", says)
	}
	late := load.nextAttempt()
	requireRefusal(t, server, load.redeemer.token, late.user)
	requireReads(t, server, load.redeemer.token)
	requireUnchanged(t, i, disk)

	disk.Free()
	freed := time.Now()
	t.Logf("ready %s after there was space", ready.becomes(true).Sub(freed).Round(time.Millisecond))
	server.WaitFor(t, "the database takes writes again")
	if err := load.redeemUntilReply(late, 0); err != nil {
		t.Error(err)
	}
	load.awaitReplies(100)
	load.finish()
	load.check(i)
	ready.stop()
	server.Terminate()
	requireShortLog(t, server)
}

// TestALargeImportOnAFullDiskLeavesNothing leaves too little space for the catalog that the import builds.
func TestALargeImportOnAFullDiskLeavesNothing(t *testing.T) {
	parallel(t)
	disk := programs.NewDisk(t, 3*diskSize)
	i := programs.InstallOn(t, disk)
	i.Must("", "demo-data", "--perks", "12000")
	export := i.Must("", "export", "perks", "-o", "jsonl")
	changed := filepath.Join(t.TempDir(), "perks.jsonl")
	if err := os.WriteFile(changed, []byte(strings.ReplaceAll(export, `"title":"`, `"title":"Again: `)),
		0o600); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", disk.Path("perks.db")+"?mode=ro")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, space := range []int{1 << 10, 4 << 10} {
		disk.Fill(space)
		i.Refuses("the disk is full: a large import needs", "import", "perks", changed)
		if i.Must("", "export", "perks", "-o", "jsonl") != export {
			t.Errorf("with %d KiB left, the import changed perks", space)
		}
		var tables int
		err = db.QueryRow(`SELECT count(*) FROM sqlite_schema WHERE name GLOB 'next_*'`).Scan(&tables)
		if err != nil || tables != 0 {
			t.Errorf("with %d KiB left, %d tables of the import are left (%v)", space, tables, err)
		}
		disk.Free()
	}
}

// requireRefusal redeems until it is refused, and checks that the refusal is as documented.
func requireRefusal(t *testing.T, server *programs.Server, token, user string) {
	t.Helper()
	eventually(t, atLast, "a redemption was refused", func() bool {
		response, body, err := asClient(token).send(http.MethodPost, server.URL+"/v2/partners/perks/rush/redeem",
			`{"user_id":"`+user+`"}`, map[string]string{"Idempotency-Key": "key-of-" + user})
		if err != nil {
			t.Fatal(err)
		}
		header := response.Header
		if response.StatusCode != http.StatusServiceUnavailable {
			return false
		}
		if header.Get("Retry-After") == "" || header.Get("Content-Type") != "application/problem+json" ||
			!strings.Contains(string(body), `"code":"unavailable"`) {
			t.Errorf("a redemption is refused with %s and %v", body, header)
		}
		return true
	})
}

// readPaths lead to one record or page of each kind.
var readPaths = []string{
	"/v2/partners/perks", "/v2/partners/perks?sort=title&q=ru", "/v2/partners/perks/rush",
	"/v2/partners/perks/users/u-0000?type=redeemed", "/v2/partners/perks/users/u-0000?type=available",
}

// requireReads requires that all readPaths are served.
func requireReads(t *testing.T, server *programs.Server, token string) {
	t.Helper()
	for _, path := range readPaths {
		if status := programs.StatusOf(t, server.URL+path, token); status != http.StatusOK {
			t.Errorf("%s got %d", path, status)
		}
	}
}

// requireUnchanged runs the commands of an operator on the full disk, and checks that they change nothing.
func requireUnchanged(t *testing.T, i *programs.Installation, disk *programs.Disk) {
	t.Helper()
	const full = "the disk is full"
	i.Refuses(full, "backup", filepath.Join(disk.Dir, "copy.db"))
	users := strings.Count(i.Must("", "export", "users"), "\n")
	newcomers := filepath.Join(t.TempDir(), "users.csv")
	if err := os.WriteFile(newcomers,
		[]byte("id\n"+strings.Repeat("newcomer", 8)+"\n"+strings.ReplaceAll(usersCSV(loadUsers)[len("id\n"):], "u-",
			"new-")), 0o600); err != nil {
		t.Fatal(err)
	}
	i.Refuses(full, "import", "users", newcomers)
	if now := strings.Count(i.Must("", "export", "users"), "\n"); now != users {
		t.Errorf("there were %d users, and after an import to a full disk there are %d", users, now)
	}
	files, err := os.ReadDir(disk.Path(""))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		known := []string{"ballast", "perks.db", "perks.db-wal", "perks.db-shm", "perks.db-server"}
		if name := f.Name(); !slices.Contains(known, name) {
			t.Errorf("%s was left on the full disk", name)
		}
	}
	i.Refuses(full, "serve", "--addr", "127.0.0.1:0", "--database", "sqlite:"+filepath.Join(disk.Dir, "new.db"))
}

// requireShortLog checks that thousands of failures leave few lines in the log.
func requireShortLog(t *testing.T, server *programs.Server) {
	t.Helper()
	requests, others := 0, 0
	for line := range strings.Lines(server.Rest()) {
		if strings.Contains(line, "msg=request ") {
			requests++
		} else {
			others++
		}
	}
	t.Logf("the log has %d lines for requests, and %d others", requests, others)
	if others > 100 {
		t.Errorf("the log has %d lines besides those for requests", others)
	}
}

// TestAFullDiskOfPostgresRefusesChangesUntilThereIsSpace puts the tables of two servers on a disk that fills up.
func TestAFullDiskOfPostgresRefusesChangesUntilThereIsSpace(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	dir, _ := database.Host()
	disk := programs.NewDiskOf(t, dir, diskSize)
	execute(t, database, `CREATE TABLESPACE small LOCATION '`+disk.Path("")+`'`,
		`CREATE DATABASE small TABLESPACE small TEMPLATE template0`)
	i := programs.InstallOver(t, database.DSN("small"))
	servers := i.StartTogether(2)
	load := startLoad(t, i, servers...)
	load.awaitReplies(100)
	var watches []*readinessWatch
	for _, s := range servers {
		watches = append(watches, watchReadiness(t, s))
		watches[len(watches)-1].becomes(true)
	}

	disk.Fill(0)
	full := time.Now()
	late := load.nextAttempt()
	for n, s := range servers {
		t.Logf("not ready %s after the disk was full", watches[n].becomes(false).Sub(full).Round(time.Millisecond))
		s.WaitFor(t, "a disk of PostgreSQL is full, so changes are refused: free space on it")
		requireRefusal(t, s, load.redeemer.token, late.user)
		requireReads(t, s, load.redeemer.token)
		if status := programs.StatusOf(t, s.URL+"/readyz", ""); status != http.StatusServiceUnavailable {
			t.Errorf("/readyz says %d while redemptions are refused", status)
		}
	}

	disk.Free()
	freed := time.Now()
	for n, s := range servers {
		t.Logf("ready %s after there was space", watches[n].becomes(true).Sub(freed).Round(time.Millisecond))
		s.WaitFor(t, "PostgreSQL has free disk space again")
	}
	if err := load.redeemUntilReply(late, 0); err != nil {
		t.Error(err)
	}
	load.awaitReplies(100)
	load.finish()
	load.check(i)
	for n, s := range servers {
		watches[n].stop()
		s.Terminate()
		requireShortLog(t, s)
	}
}

// TestALogOnAFullDiskDoesNotStopTheServer writes stderr to a file on a full disk.
func TestALogOnAFullDiskDoesNotStopTheServer(t *testing.T) {
	parallel(t)
	disk := programs.NewDisk(t, 64)
	log, err := os.OpenFile(disk.Path("log"), os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	i := programs.InstallOver(t, "sqlite:"+filepath.Join(t.TempDir(), "perks.db"))
	server := i.StartLoggingTo(log)
	disk.Fill(0)
	load := startLoad(t, i, server)
	load.awaitReplies(200)
	load.finish()
	load.check(i)
	disk.Free()
	before, err := log.Stat()
	if err != nil {
		t.Fatal(err)
	}
	requireReads(t, server, load.redeemer.token)
	if after, err := log.Stat(); err != nil || after.Size() <= before.Size() {
		t.Errorf("the log does not continue when there is space: %v", err)
	}
}
