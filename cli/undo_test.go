package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofrs/flock"

	"example.com/perks/api"
	"example.com/perks/cli/session"
	"example.com/perks/cmd/dev/specserver"
	"example.com/perks/server/servertest"
)

// redeemed returns a terminal that has redeemed rows of a file, as a client with these scopes.
func redeemed(t *testing.T, rows string, scopes ...api.Scope) (x *terminal, file string) {
	t.Helper()
	server := servertest.Start(t)
	seed(server)
	id, secret := server.Client(append(scopes, api.ScopePerksRead, api.ScopePerksRedeem)...)
	x = newTerminal(t, map[string]string{session.EnvAPIURL: server.URL, session.EnvClientID: id,
		session.EnvClientSecret: secret})
	file = write(t, filepath.Join(t.TempDir(), "winners.csv"), rows)
	x.must("perk", "redeem", "--file", file)
	return x, file
}

// A client that may void, and not reject, takes back what it can.
func TestUndoNamesRowsThatItCannotTakeBack(t *testing.T) {
	x, file := redeemed(t, "perk,user\nspa-day,alice\ncoffee,alice\n", api.ScopeRedemptionsVoid,
		api.ScopeRedemptionsRead)
	results, err := os.ReadFile(file + ".results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(results), `"`)[5]
	unknown := fmt.Sprintf(`{"row":4,"key":"%s-4-00000000","outcome":"unknown","status":0,"code":"ambiguous",`+
		`"message":"","id":""}`+"\n", key[:36])
	if err := os.WriteFile(file+".results.jsonl", append(results, unknown...), 0o600); err != nil {
		t.Fatal(err)
	}
	r := x.run("bulk", "undo", "--results", file+".results.jsonl", "--reason", "mistake", "--yes")
	for _, want := range []string{
		"line 2 failed: It is pending, and your client may not reject it: that needs the scope redemptions:decide.",
		"line 4 failed: It is unknown whether this row was done. Resume the run to find out, and undo again.",
		"3 rows: 1 done, 2 failed.",
	} {
		if r.code != 7 || !strings.Contains(r.err, want) {
			t.Errorf("exit code %d, %q lacks %q", r.code, r.err, want)
		}
	}
}

// A run that is at work cannot be undone, and after a killed one it is not known what else it made.
func TestUndoLooksAtTheJournalOfTheRun(t *testing.T) {
	x, file := redeemed(t, "perk,user\ncoffee,alice\n", api.ScopeRedemptionsVoid)
	results, err := os.ReadFile(file + ".results.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	batch := strings.Split(string(results), `"`)[5][:36]
	journal := file + ".results.jsonl.journal"
	if err := os.WriteFile(journal, fmt.Appendf(nil, "{\"batch\":\"%s\"}\n{\"up_to\":513}\n", batch),
		0o600); err != nil {
		t.Fatal(err)
	}
	r := x.run("bulk", "undo", file, "--reason", "mistake", "--yes")
	for _, want := range []string{
		"The run was killed. Rows without a result may have been done, and this does not undo them.", "1 row: 1 done.",
		"The run was killed, so some of its changes may remain.",
	} {
		if r.code != 7 || !strings.Contains(r.err, want) {
			t.Errorf("exit code %d, %q lacks %q", r.code, r.err, want)
		}
	}
	lock := flock.New(journal)
	if locked, err := lock.TryLock(); err != nil || !locked {
		t.Fatalf("the journal of the killed run: %v, %v", locked, err)
	}
	defer lock.Close()
	if r := x.run("bulk", "undo", file, "--reason", "mistake", "--yes"); r.code != 6 ||
		!strings.Contains(r.err, "Another run is using ") {
		t.Errorf("while a run is at work: exit code %d, %q", r.code, r.err)
	}
}

func TestUndoAtAServerWithoutVoiding(t *testing.T) {
	x := atSpecification(t, specserver.Options{})
	file := x.writeRows()
	x.must("perk", "redeem", "--file", file)
	r := x.run("bulk", "undo", file, "--reason", "mistake", "--yes")
	want := "error: This service has no addresses of redemptions: the specification does not ask for it, and the " +
		"service is another one than perksd, or an older version.\n"
	if r.code != 5 || !strings.HasSuffix(r.err, want) || strings.Contains(r.err, "failed") {
		t.Errorf("exit code %d, %q", r.code, r.err)
	}
}
