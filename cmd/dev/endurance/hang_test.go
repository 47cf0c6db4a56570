package endurance

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// answeredWithin bounds a request, whatever the database does: the timeout of 15 s, and a margin.
const answeredWithin = 17 * time.Second

// TestAHangingDatabaseDelaysRequestsBriefly suspends PostgreSQL: connections stay open, and queries get no reply. There
// are more requests than connections.
func TestAHangingDatabaseDelaysRequestsBriefly(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	i := programs.InstallOver(t, database.DSN("perks"))
	server := i.Start()
	ready := watchReadiness(t, server)
	ready.becomes(true)
	load := startLoad(t, i, server)
	load.awaitReplies(100)

	if err := database.Freeze(); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	t.Logf("not ready %s after the database hung", ready.becomes(false).Sub(frozen).Round(time.Millisecond))
	many := newRedeemer(t, load.redeemer.token, 3*connectionsEach)
	begun := time.Now()
	var asking sync.WaitGroup
	for n := range 3 * connectionsEach {
		asking.Go(func() {
			if n%2 == 0 {
				late := attempt{perk: "rush", user: userNumber(loadUsers - 1 - n)}
				if _, err := many.redeem(server.URL, late); err == nil || !strings.Contains(err.Error(), "status 503") {
					t.Errorf("a redemption got %v", err)
				}
				return
			}
			if status, err := programs.Get(server.URL+"/v2/partners/perks", load.redeemer.token); err != nil ||
				status != http.StatusServiceUnavailable {
				t.Errorf("a read got %d, %v", status, err)
			}
		})
	}
	asking.Wait()
	took := time.Since(begun)
	t.Logf("%d requests were answered within %s", 3*connectionsEach, took.Round(time.Millisecond))
	if took > answeredWithin {
		t.Errorf("that is more than %s", answeredWithin)
	}

	if err := database.Thaw(); err != nil {
		t.Fatal(err)
	}
	thawed := time.Now()
	t.Logf("ready %s after the database resumed", ready.becomes(true).Sub(thawed).Round(time.Millisecond))
	if err := load.redeemUntilReply(load.nextAttempt(), 0); err != nil {
		t.Error(err)
	}
	load.awaitReplies(100)
	load.finish()
	load.replies.check(t, i.Redemptions(), loadUsers)
	load.replies.onlyRefused(t)
	ready.stop()
	server.Terminate()
}

// TestAServerWithoutItsDatabaseDoesNotStart: the supervisor restarts it.
func TestAServerWithoutItsDatabaseDoesNotStart(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	i := programs.InstallOver(t, database.DSN("perks"))
	if err := database.Kill(); err != nil {
		t.Fatal(err)
	}
	i.Refuses("is PostgreSQL running, and are host and port right?", "serve", "--addr", "127.0.0.1:0")
	if err := database.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	i.Start().Terminate()
}
