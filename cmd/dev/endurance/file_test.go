package endurance

import (
	"database/sql"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the database/sql driver "sqlite"

	"example.com/perks/cmd/dev/programs"
)

// TestNothingIsAcknowledgedIntoALostFile removes or replaces the files of a SQLite database during redemptions. Those
// acknowledged before are in the file, wherever it is now; later ones are refused.
func TestNothingIsAcknowledgedIntoALostFile(t *testing.T) {
	parallel(t)
	t.Run("moved and put back", func(t *testing.T) {
		g := newLostFile(t)
		g.lose(func() { g.must(os.Rename(g.path, g.path+".moved")) })
		g.must(os.Rename(g.path+".moved", g.path))
		g.watch.becomes(true)
		g.log("the database takes writes again")
		g.checkServed()
	})
	t.Run("replaced by a copy", func(t *testing.T) {
		g := newLostFile(t)
		g.installed.Must("", "backup", g.path+".copy")
		g.must(os.Link(g.path, g.path+".kept"))
		g.lose(func() { g.must(os.Rename(g.path+".copy", g.path)) })
		g.watch.stop()
		g.server.Terminate()
		g.must(os.Rename(g.path+".kept", g.path))
		g.restart()
	})
	t.Run("without its log", func(t *testing.T) {
		g := newLostFile(t)
		g.lose(func() { g.must(os.Remove(g.path + "-wal")) })
		g.watch.stop()
		g.server.Kill() // a checkpoint has moved the log into the file by now
		g.restart()
	})
}

// lostFile is a server over a file that is moved, replaced or damaged.
type lostFile struct {
	*testing.T
	path      string
	installed *programs.Installation
	server    *programs.Server
	watch     *readinessWatch
	load      *load
	late      attempt // made while the file was gone
}

func newLostFile(t *testing.T) *lostFile {
	g := &lostFile{T: t, path: filepath.Join(t.TempDir(), "perks.db")}
	g.installed = programs.InstallOver(t, "sqlite:"+g.path)
	g.server = g.installed.Start()
	g.watch = watchReadiness(t, g.server)
	g.watch.becomes(true)
	g.load = startLoad(t, g.installed, g.server)
	g.load.awaitReplies(50)
	return g
}

func (g *lostFile) must(err error) {
	g.Helper()
	if err != nil {
		g.Fatal(err)
	}
}

func (g *lostFile) log(text string) {
	g.Helper()
	g.server.WaitFor(g.T, text)
}

// lose removes the file, and waits until the server has noticed. Changes are refused. So are reads if they need another
// connection.
func (g *lostFile) lose(remove func()) {
	g.Helper()
	remove()
	g.watch.becomes(false)
	g.log("the database file was deleted or replaced while the server was using it")
	g.late = g.load.nextAttempt()
	requireRefusal(g.T, g.server, g.load.redeemer.token, g.late.user)
	for _, path := range readPaths {
		if status := programs.StatusOf(g.T, g.server.URL+path, g.load.redeemer.token); status != http.StatusOK &&
			status != http.StatusServiceUnavailable {
			g.Errorf("%s got %d", path, status)
		}
	}
}

// restart starts another server at the address of the first, and checks that attempts that wait get a reply.
func (g *lostFile) restart() {
	g.Helper()
	server := g.installed.Start("--addr", strings.TrimPrefix(g.server.URL, "http://"))
	g.checkServed()
	server.Terminate()
}

// checkServed checks that all attempts get a reply, even the refused one, and that the database has all of them.
func (g *lostFile) checkServed() {
	g.Helper()
	g.must(g.load.redeemUntilReply(g.late, 0))
	g.load.awaitReplies(50)
	g.load.finish()
	g.load.check(g.installed)
}

// TestDamageToAFileIsReportedAndDoesNotSpread overwrites the one page of a table.
func TestDamageToAFileIsReportedAndDoesNotSpread(t *testing.T) {
	parallel(t)
	path := filepath.Join(t.TempDir(), "perks.db")
	i := programs.InstallOver(t, "sqlite:"+path)
	i.ImportCSV("users", usersCSV(10))
	i.ImportCSV("perks", perkCSV("rush", 10))
	owner, _ := i.Client("Owner")
	i.Must("propertyId,title,price_pw\n7,House,100\n", "import", "properties", "--format", "csv", "--owner", owner, "-")
	damage(t, path, "properties")

	server := i.Start()
	redeemer := newRedeemer(t, i.Token(server.URL), 1)
	if status := programs.StatusOf(t, server.URL+"/v2/get-property/7",
		redeemer.token); status != http.StatusServiceUnavailable {
		t.Errorf("a damaged table got %d, want 503", status)
	}
	server.WaitFor(t, "the database is damaged: stop the server and restore a backup with 'perksd restore'")
	if answer, err := redeemer.redeem(server.URL, attempt{perk: "rush", user: "u-0001"}); err != nil ||
		answer.status != http.StatusCreated {
		t.Errorf("an intact table got %+v, %v", answer, err)
	}
	requireReads(t, server, redeemer.token)
	server.Terminate()
}

// damage overwrites the first page of a table.
func damage(t *testing.T, path, table string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	var page, size int64
	if err := db.QueryRow(`SELECT rootpage, (SELECT page_size FROM pragma_page_size) FROM sqlite_schema WHERE name = ?`,
		table).Scan(&page, &size); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil { // removes the log
		t.Fatal(err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := io.CopyN(io.NewOffsetWriter(file, (page-1)*size), zeroes{}, size); err != nil {
		t.Fatal(err)
	}
}

// zeroes is an endless reader.
type zeroes struct{}

func (zeroes) Read(into []byte) (int, error) {
	clear(into)
	return len(into), nil
}
