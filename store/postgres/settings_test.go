package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/perks/api"
	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// weakRole is the address of a role that may own tables, whose settings would lose commits and cut off statements.
func weakRole(t *testing.T, server *storetest.PostgresServer, name string, settings ...string) string {
	t.Helper()
	address := must(server.CreateSchema(t.Context(), "postgres", name))(t)
	statements := []string{`ALTER ROLE ` + name + ` SET search_path = ` + name}
	for _, setting := range settings {
		statements = append(statements, `ALTER ROLE `+name+` SET `+setting)
	}
	storetest.Execute(t, server.DSN("postgres"), statements...)
	return address
}

func startServer(t *testing.T, options storetest.PostgresOptions) *storetest.PostgresServer {
	t.Helper()
	server := must(storetest.StartPostgres(t.Context(), options))(t)
	storetest.AtEnd(t, server.Stop)
	return server
}

// weakSettings cut off everything but a session that only just waits for its first statement.
var weakSettings = []string{"synchronous_commit = off", "statement_timeout = '50ms'", "lock_timeout = '20ms'",
	"idle_in_transaction_session_timeout = '30ms'", "idle_session_timeout = '5s'"}

// weakPoolSettings leave time for the statements outside transactions, for which nothing is set behind a pooler.
var weakPoolSettings = []string{"synchronous_commit = off", "statement_timeout = '10s'", "lock_timeout = '10s'",
	"idle_in_transaction_session_timeout = '10s'"}

// TestSettingsOfTheRoleNeitherLoseCommitsNorCutStatementsOff asks inside transactions: behind a pooler nothing else is
// set.
func TestSettingsOfTheRoleNeitherLoseCommitsNorCutStatementsOff(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{})
	bouncer := must(server.StartPgBouncer(t.Context()))(t)
	storetest.AtEnd(t, bouncer.Stop)
	tests := map[string]struct {
		settings []string
		isPooled bool
		asks     string
		want     string
	}{
		"weak":         {weakSettings, false, "", "on 0 0 0 0 off"},
		"weak_pool":    {weakPoolSettings, true, "", "on 0 0 0 0 off"},
		"applied":      {[]string{"synchronous_commit = remote_apply"}, false, "", "remote_apply 0 0 0 0 off"},
		"applied_pool": {[]string{"synchronous_commit = remote_apply"}, true, "", "remote_apply 0 0 0 0 off"},
		"written":      {[]string{"synchronous_commit = remote_write"}, false, "", "on 0 0 0 0 off"},
		"asked": {weakSettings, false,
			"&synchronous_commit=remote_apply&statement_timeout=30s&options=-c%20lock_timeout%3D10s%20-c%20jit%3Don",
			"remote_apply 30s 10s 0 0 on"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			direct := server.DSN("postgres") + "&search_path=" + name
			var address string
			if test.isPooled {
				address, direct = weakDatabase(t, server, bouncer, name, test.settings...), server.DSN(name)
			} else {
				address = weakRole(t, server, name, test.settings...) + test.asks
			}
			db := openAt(t, address)
			const shown = `SELECT concat_ws(' ', current_setting('synchronous_commit'),
				current_setting('statement_timeout'),
				current_setting('lock_timeout'),
				current_setting('idle_in_transaction_session_timeout'), current_setting('idle_session_timeout'),
				current_setting('jit'))`
			var written, read string
			noError(t, db.write(t.Context(), "ask for the settings", func(s *session) (err error) {
				written, err = store.One(s, store.ScanValue[string], shown)
				return err
			}))
			noError(t, db.snapshot(t.Context(), "", func(v view) (err error) {
				read, err = store.One(v, store.ScanValue[string], shown)
				return err
			}))
			if written != test.want || read != test.want {
				t.Errorf("a write has %q and a read %q, want %q", written, read, test.want)
			}
			fill(t, db, 1, 10)
			must(db.Redeem(t.Context(), attempt("1", "perk-0", "user-0")))(t)
			// Longer than the timeouts of the role, in a transaction that waits for a lock as it does for a standby.
			holder := begin(t, openAt(t, direct), `LOCK TABLE clients`)
			done := make(chan error, 1)
			go func() {
				done <- db.write(t.Context(), "wait", func(s *session) error { return s.exec(`LOCK TABLE clients`) })
			}()
			untilLocked(t, server.DSN("postgres"), name)
			commit(t, holder)
			storetest.Equal(t, "a write that waited", <-done, nil)
		})
	}
}

// untilLocked returns when a session of the role or in the database has waited for a lock for longer than any of
// weakSettings.
func untilLocked(t *testing.T, address, name string) {
	t.Helper()
	conn := must(pgx.Connect(t.Context(), address))(t)
	defer conn.Close(t.Context())
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	for waits := false; !waits; {
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'
			AND query_start < now() - interval '100ms'
			AND query LIKE 'LOCK TABLE%' AND $1 IN (usename, datname))`, name).Scan(&waits); err != nil {
			t.Fatalf("no session waits: %v", err)
		}
	}
}

// weakDatabase is the address of a database with the settings behind the PgBouncer, which logs in as its own role.
func weakDatabase(
	t *testing.T, server *storetest.PostgresServer, bouncer *storetest.PgBouncer, name string, settings ...string,
) string {
	t.Helper()
	statements := []string{`CREATE DATABASE ` + name}
	for _, setting := range settings {
		statements = append(statements, `ALTER DATABASE `+name+` SET `+setting)
	}
	storetest.Execute(t, server.DSN("postgres"), statements...)
	return bouncer.DSN(name)
}

func TestAnAddressThatAsksForWeakCommitsIsRefused(t *testing.T) {
	for _, value := range []string{"off", "local", "false"} {
		_, err := Open(t.Context(), "postgres://perks@db.invalid/perks?synchronous_commit="+value, Options{})
		want := "the address of the database has synchronous_commit=" + value +
			", which loses acknowledged redemptions " +
			"in a crash: leave it out, or name on or remote_apply"
		if err == nil || err.Error() != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

func TestUnsafeSettingsAreFound(t *testing.T) {
	t.Parallel()
	unsafe := startServer(t, storetest.PostgresOptions{Settings: map[string]string{"data_sync_retry": "on"}})
	safe := startServer(t, storetest.PostgresOptions{Durable: true})
	bouncer := must(unsafe.StartPgBouncer(t.Context()))(t)
	storetest.AtEnd(t, bouncer.Stop)
	weak := weakRole(t, unsafe, "weak", weakSettings...)
	pooled := weakDatabase(t, unsafe, bouncer, "pooled", "statement_timeout = '500ms'")
	ofUnsafe := []string{"failed fsync", "warning full_page_writes", "warning data_sync_retry"}
	for address, want := range map[string][]string{
		safe.DSN("postgres"): nil,
		safe.DSN("postgres") + "&synchronous_commit=remote_apply": {"warning synchronous_commit"},
		safe.DSN("postgres") + "&synchronous_commit=remote_write": {"warning synchronous_commit"},
		safe.DSN("postgres") + "&lock_timeout=5s":                 {"warning lock_timeout"},
		weak:   ofUnsafe,
		pooled: append(slices.Clone(ofUnsafe), "warning statement_timeout"),
		strings.Replace(pooled, "simple_protocol", "exec", 1): append(slices.Clone(ofUnsafe), "warning pooler",
			"warning "+
				"statement_timeout"),
	} {
		findings := must(Settings(t.Context(), address))(t)
		var problems []string
		for _, f := range findings {
			if f.Outcome == store.OK {
				if f.Advice != "" {
					t.Errorf("%s is fine, and yet the advice is %q", f.Check, f.Advice)
				}
				continue
			}
			problems = append(problems, fmt.Sprint(f.Outcome, " ", f.Check))
			if f.Advice == "" {
				t.Errorf("%s: no advice", f.Check)
			}
		}
		if !slices.Equal(problems, want) {
			t.Errorf("%s: found %q, want %q", address, problems, want)
		}
	}
}

// TestACancelledStatementIsUnavailable has a person cancel the statements of a read and a write.
func TestACancelledStatementIsUnavailable(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	db := openAt(t, address)
	cancelled := func() error {
		_, err := store.Read(t.Context(), db.database, "read", func(q store.Querier) (string, error) {
			return store.One(q, store.ScanValue[string],
				`SELECT 'x' FROM pg_cancel_backend(pg_backend_pid()), pg_sleep(10)`)
		})
		return err
	}
	storetest.Fails(t, "a cancelled read", cancelled(), api.CodeUnavailable)
	tries := 0
	if err := db.write(t.Context(), "write", func(s *session) error {
		if tries++; tries == 1 {
			return s.exec(`SELECT 'x' FROM pg_cancel_backend(pg_backend_pid()), pg_sleep(10)`)
		}
		return nil
	}); err != nil || tries != 2 {
		t.Errorf("a cancelled write: %v after %d tries, want success at the second", err, tries)
	}
}

func TestReconnectingIsLoggedOnceInAWhile(t *testing.T) {
	var log strings.Builder
	r := newReconnects(slog.New(slog.NewTextHandler(&log, nil)))
	for range 653 {
		r.note(errOtherServer)
	}
	storetest.Equal(t, "lines of 653 reconnects", strings.Count(log.String(), "reconnecting to the database"), 1)
}
