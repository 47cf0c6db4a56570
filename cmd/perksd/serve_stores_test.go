package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

const sandboxIsLive = "the sandbox needs a database of its own: --sandbox-database names the same one as --database"

// TestSwappedAddressesAreRefusedBeforeAMigration uses a live database that lacks a migration as the sandbox.
func TestSwappedAddressesAreRefusedBeforeAMigration(t *testing.T) {
	address := storetest.PostgresDatabase(t)
	live := newOperatorOf(t, address)
	live.must("client", "create", "--name", "Acme", "--id", "acme")
	executeIn(t, address, `DELETE FROM migrations WHERE version = 2`)
	swapped := newOperatorOf(t, storetest.PostgresDatabase(t))
	swapped.env["PERKSD_SANDBOX_DATABASE"] = address
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"migrate", "--sandbox"},
		{"import", "users", "--sandbox", swapped.file("users.csv", importable["users"])}} {
		if said := swapped.run(args...); said.code != exitUsage ||
			!strings.Contains(said.stderr, "--sandbox-database names a live database") {
			t.Errorf("%v: %+v, want a refusal", args, said)
		}
		if status := live.must("migrate", "--status"); !strings.Contains(status, "pending") {
			t.Fatalf("%v migrated the live database: %s", args, status)
		}
		swapped.hasNoDatabase()
	}
}

// withParameter adds a parameter to an address.
func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

// TestASecondServerOfAFileIsRefusedUntilTheFirstEnds starts a server beside another one, and again while the other
// finishes a request.
func TestASecondServerOfAFileIsRefusedUntilTheFirstEnds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	i := programs.InstallOver(t, "sqlite:"+path)
	first := i.Start()
	i.Refuses(fmt.Sprintf("process %d on ", first.PID()), "serve", "--addr", "127.0.0.1:0")
	i.Must("", "client", "create", "--name", "Beside") // operators' commands still work

	// A request whose body is still to come keeps the first from ending.
	finish := postPart(t, first.URL, "/v2/auth/token", "x", aForm)
	first.SendSIGTERM()
	for poll := time.NewTicker(10 * time.Millisecond); ; <-poll.C {
		if said, err := os.ReadFile(path + "-server"); err != nil || strings.Contains(string(said), "ending") {
			break
		}
	}
	second := i.Launch()
	second.WaitFor(t, "waiting for the former server")
	finish().Body.Close()
	first.WaitForExit()
	if status := programs.StatusOf(t, second.WaitForURL(t)+"/readyz", ""); status != http.StatusOK {
		t.Errorf("the second is not ready: %d", status)
	}
}

// TestAServerSaysThatASecondOneWouldNotBeNoticed puts a directory where the server's mark belongs.
func TestAServerSaysThatASecondOneWouldNotBeNoticed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "perks.db")
	if err := os.Mkdir(path+"-server", 0o700); err != nil {
		t.Fatal(err)
	}
	server := programs.InstallOver(t, "sqlite:"+path).Launch()
	server.WaitFor(t, "a second server of this database would not be noticed")
	server.WaitForURL(t)
}
