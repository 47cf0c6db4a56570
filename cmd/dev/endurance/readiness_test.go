package endurance

import (
	"testing"
	"time"

	"example.com/perks/cmd/dev/programs"
)

// TestReadinessFollowsTheDatabase has the database die and come back, while the server lives on.
func TestReadinessFollowsTheDatabase(t *testing.T) {
	parallel(t)
	database := startPostgres(t)
	server := programs.InstallOver(t, database.DSN("perks")).Start()
	readiness := watchReadiness(t, server)
	readiness.becomes(true)
	died := time.Now()
	if err := database.Kill(); err != nil {
		t.Fatal(err)
	}
	t.Logf("not ready %s after the database died", readiness.becomes(false).Sub(died).Round(time.Millisecond))
	if err := database.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	back := time.Now()
	t.Logf("ready %s after the database was back", readiness.becomes(true).Sub(back).Round(time.Millisecond))
	readiness.stop()
	server.Terminate()
}
