package endurance

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
)

func TestABackupUnderLoadIsASnapshot(t *testing.T) {
	parallel(t)
	dir := t.TempDir()
	i := programs.InstallOver(t, "sqlite:"+dir+"/perks.db")
	server := i.Start()
	load := startLoad(t, i, server)
	load.awaitReplies(100)
	before := load.replies.copy()
	i.Must("", "backup", dir+"/copy.db")
	after := load.replies.count()
	load.awaitReplies(100)
	load.finish()
	load.check(i)

	// A database in use is not replaced. After its server is killed, the copy replaces it, with its log.
	i.Refuses("is in use; stop the server", "restore", dir+"/copy.db")
	server.Kill()
	i.Must("", "restore", dir+"/copy.db")
	copied := i
	stored := copied.Redemptions()
	before.check(t, stored, loadUsers)
	if len(stored) > after+loadWorkers {
		t.Errorf("the copy has %d redemptions, and %d were acknowledged when it was complete", len(stored), after)
	}
	former, err := filepath.Glob(dir + "/perks.db.before-*Z")
	if err != nil || len(former) != 1 {
		t.Fatalf("want one file of the former database, got %q, %v", former, err)
	}
	original := programs.InstallOver(t, "sqlite:"+former[0])
	load.check(original)
	if original.Must("", "export", "users") != copied.Must("", "export", "users") {
		t.Error("the users of the copy are not those of the original")
	}
	t.Logf("%d redemptions were acknowledged before the backup, %d are in it, %d were acknowledged after it",
		before.count(), len(stored), after)

	servesFrom(t, copied, len(stored))
}

// servesFrom starts a server on the restored database, where that many units were redeemed: exactly one more can be.
func servesFrom(t *testing.T, copied *programs.Installation, redeemed int) {
	t.Helper()
	copied.ImportCSV("perks", perkCSV("rush", redeemed+1))
	second := copied.Start()
	redeemer := newRedeemer(t, copied.Token(second.URL), 1)
	for n, want := range []int{http.StatusCreated, http.StatusConflict} {
		answer, err := redeemer.redeem(second.URL, attempt{perk: "rush", user: userNumber(loadUsers - 1 - n)})
		if err != nil || answer.status != want {
			t.Errorf("the copy, at redemption %d for one remaining unit: %+v, %v", n+1, answer, err)
		}
	}
}

// TestAPostgresBackupUnderLoadIsASnapshot runs the commands that perksd suggests.
func TestAPostgresBackupUnderLoadIsASnapshot(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	i := programs.InstallOver(t, database.DSN("perks"))
	load := startLoad(t, i, i.StartTogether(2)...)
	load.awaitReplies(100)
	before := load.replies.copy()
	dump := filepath.Join(t.TempDir(), "perks.dump")
	runSuggested(t, i, "backup", dump)
	after := load.replies.count()
	load.awaitReplies(100)
	load.finish()
	load.check(i)

	runSuggested(t, i, "restore", dump)
	restored := programs.InstallOver(t, database.DSN("perks_restored"))
	stored := restored.Redemptions()
	before.check(t, stored, loadUsers)
	if len(stored) > after+loadWorkers {
		t.Errorf("the copy has %d redemptions, and %d were acknowledged when it was complete", len(stored), after)
	}
	t.Logf("%d redemptions were acknowledged before the backup, %d are in it, %d were acknowledged after it",
		before.count(), len(stored), after)
	servesFrom(t, restored, len(stored))
}

// runSuggested runs the command line that perksd prints.
func runSuggested(t *testing.T, i *programs.Installation, args ...string) {
	t.Helper()
	said, err := i.Command(args...).CombinedOutput()
	if err == nil {
		t.Fatalf("perksd %s prints no command: %s", strings.Join(args, " "), said)
	}
	_, line, _ := strings.Cut(strings.TrimSpace(string(said)), "with: ")
	i.Shell(line)
}
