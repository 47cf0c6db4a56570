package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// TestTheServerIsInspected looks at a server with a standby, as a superuser and as a role with a database, and again
// when the standby has failed.
func TestTheServerIsInspected(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{Settings: map[string]string{
		"archive_mode": "on", "archive_command": "false", "max_connections": "12",
		"wal_receiver_status_interval": "1s"}})
	storetest.Execute(t, server.DSN("postgres"), `CREATE ROLE plain LOGIN`, `CREATE DATABASE perks OWNER plain`)
	standby := must(server.Standby(t.Context()))(t)
	t.Cleanup(func() { _ = standby.Stop() })
	plain := strings.Replace(server.DSN("perks"), "postgres@", "plain@", 1)
	common := []string{"ok server", "ok role", "not checked role's view", "ok encryption", "ok clock", "ok connections",
		"ok size"}
	check := func(when, address string, want ...string) {
		t.Helper()
		findings := must(Inspect(t.Context(), address))(t)
		var got []string
		for _, f := range findings {
			got = append(got, fmt.Sprint(f.Outcome, " ", f.Check))
			if (f.Outcome == store.OK) != (f.Advice == "") {
				t.Errorf("%s: %+v", when, f)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: found %q, want %q", when, got, want)
		}
	}
	ends := []string{"warning WAL archive", "not checked disk"}
	check("a role with a database", plain, slices.Concat(common, []string{"ok standbys", "ok slot standby"}, ends)...)
	super := slices.Delete(slices.Clone(common), 2, 3)
	super[1] = "warning role"
	check("a superuser", server.DSN("perks"),
		slices.Concat(super, []string{"ok standby walreceiver", "ok slot standby"}, ends)...)
	// Once a standby has all that there is, PostgreSQL knows no lag any more.
	storetest.Execute(t, server.DSN("postgres"), `DO $$ BEGIN
		WHILE EXISTS (SELECT FROM pg_stat_replication WHERE replay_lag IS NOT NULL) LOOP
			PERFORM pg_sleep(0.05), pg_stat_clear_snapshot();
		END LOOP; END $$`)
	check("an idle standby", server.DSN("perks"),
		slices.Concat(super, []string{"ok standby walreceiver", "ok slot standby"}, ends)...)
	noError(t, standby.Kill())
	storetest.Execute(t, server.DSN("postgres"), `ALTER SYSTEM SET synchronous_standby_names = ''`,
		`SELECT pg_reload_conf()`)
	check("without the standby", server.DSN("perks"),
		slices.Concat(super, []string{"ok standbys", "warning slot standby"}, ends)...)
}

func TestTheStateOfAServerIsJudged(t *testing.T) {
	now := time.Now()
	fine := serverStateRow{version: "15.3", major: 15, role: "perks", seesAll: true, isEncrypted: true, clock: now,
		connections: 8, connectionsLimit: 97, size: "12 MB"}
	for name, test := range map[string]struct {
		change func(*serverStateRow)
		check  string
	}{
		"an old version":     {func(s *serverStateRow) { s.major = 13 }, "server"},
		"a new version":      {func(s *serverStateRow) { s.major = 99 }, "server"},
		"a superuser":        {func(s *serverStateRow) { s.isSuperuser = true }, "role"},
		"in plain text":      {func(s *serverStateRow) { s.isRemote, s.isEncrypted = true, false }, "encryption"},
		"another time":       {func(s *serverStateRow) { s.clock = now.Add(-3 * time.Second) }, "clock"},
		"nearly no sessions": {func(s *serverStateRow) { s.connections = 78 }, "connections"},
		"nothing wrong":      {func(*serverStateRow) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := fine
			test.change(&s)
			found := ""
			for _, f := range s.findings(now) {
				if f.Outcome != store.OK {
					found += f.Check
				}
			}
			if found != test.check {
				t.Errorf("found wrong: %q, want %q", found, test.check)
			}
		})
	}
}
