package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// TestConnectionErrors also checks that no message contains the password of the address.
func TestConnectionErrors(t *testing.T) {
	server := guardedServer(t)
	// as from version 15
	executeIn(t, server.DSN("postgres"), `CREATE ROLE plain LOGIN; REVOKE CREATE ON SCHEMA public FROM PUBLIC`)
	executeIn(t, server.DSN("postgres"), `CREATE SCHEMA old; CREATE FUNCTION old.current_setting(text) RETURNS text `+
		`LANGUAGE sql AS $$ SELECT '130022' $$`)
	directory, _ := server.Host()
	at := func(user, dbname string) string {
		return fmt.Sprintf("postgres://%s:hunter2@/%s?host=%s", user, dbname, directory)
	}
	tests := []struct {
		name, address string
		want          string
	}{
		{"no such database", at("postgres", "none"),
			fmt.Sprintf(`there is no database "none" at %s; make it with: createdb `+
				`--maintenance-db='postgres://postgres@/postgres?host=%s&port=5432' none`, directory,
				url.QueryEscape(directory))},
		{"a wrong password", at("guarded", "postgres"),
			fmt.Sprintf(`the password of "guarded" for the database "postgres" at %s is wrong or missing; give it in `+
				`PGPASSWORD or in ~/.pgpass`, directory)},
		{"a user without access", at("nobody", "postgres"),
			fmt.Sprintf(`PostgreSQL does not let "nobody" connect to the database "postgres" at %s: pg_hba.conf `+
				`rejects connection for host "[local]", user "nobody", database "postgres", no encryption`, directory)},
		{"a user who may not create tables", at("plain", "postgres"),
			fmt.Sprintf(`"plain" lacks a privilege in the database "postgres" at %s (permission denied for schema `+
				`public); make it the owner of that database`, directory)},
		{"an old server", at("postgres", "postgres") + "&search_path=old,pg_catalog",
			fmt.Sprintf(`open the database "postgres" at %s: it runs on PostgreSQL 13, and perksd needs PostgreSQL 14 `+
				`or newer: upgrade the server, or name another`, directory)},
		{"a read-only server", at("postgres", "postgres") + "&default_transaction_read_only=on", "PostgreSQL at " +
			directory + " is read-only; is it a standby? Name its primary"},
		{"no writable server", at("postgres", "postgres") +
			"&default_transaction_read_only=on&target_session_attrs=read-write",
			"PostgreSQL at " + directory + " is read-only; is it a standby? Name its primary"},
		{"a closed port", "postgres://perks:hunter2@127.0.0.1:" + freePort(t) + "/perks",
			"nothing listens at 127.0.0.1:PORT; is PostgreSQL running, and are host and port right?"},
		{"a missing socket", "postgres://perks:hunter2@/perks?host=/nowhere",
			"nothing listens at /nowhere; is PostgreSQL running, and are host and port right?"},
		{"an unknown host", "postgres://perks:hunter2@db.invalid/perks",
			`there is no host "db.invalid"; is the name in the address of the database right?`},
		{"another program", "postgres://perks:hunter2@" + otherProgram(t, "220 mail.example ESMTP\r\n") + "/perks",
			"the server at 127.0.0.1:PORT is not PostgreSQL; are host and port right?"},
		{"no reply", "postgres://perks:hunter2@" + otherProgram(t, "") + "/perks?connect_timeout=1",
			"127.0.0.1:PORT did not respond in time; are host and port right, and does a firewall let perksd through?"},
		{"a proxy without a server", "postgres://perks:hunter2@" + closingProgram(t) + "/perks",
			"127.0.0.1:PORT closed the connection without a word; if it is a proxy such as HAProxy, no server behind " +
				"it takes writes now: try again. Otherwise, is it PostgreSQL?"},
		{"a missing certificate",
			"postgres://perks:hunter2@db.example/perks?sslmode=verify-full&sslrootcert=/nowhere/ca.pem",
			"reading a file that the address of the database names: /nowhere/ca.pem does not exist"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := newOperatorOf(t, test.address).run("migrate")
			if host := hostOf(test.address); host != "" {
				got.stderr = strings.ReplaceAll(got.stderr, host, "127.0.0.1:PORT")
			}
			equal(t, "the message", "perksd: "+test.want+"\n", got.stderr)
			if got.code != exitFailure || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
		})
	}
}

// TestServeRefusesADatabaseWithoutFsync has a server whose settings lose data in a power cut.
func TestServeRefusesADatabaseWithoutFsync(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	delete(o.env, "PERKSD_ALLOW_FSYNC_OFF")
	o.refuses(exitFailure, "the database "+o.database().name()+" has fsync = off: a crash of the machine loses "+
		"acknowledged redemptions and can damage the database. "+
		`Set it: psql -c "ALTER SYSTEM SET fsync = on" -c "SELECT pg_reload_conf()". `+
		"For a trial whose data may be lost, add --allow-fsync-off",
		"serve", "--addr", "127.0.0.1:0")
	o.hasNoDatabase()
	_, stop := o.serve("--allow-fsync-off")
	code, log := stop()
	for _, setting := range []string{"fsync = off", "full_page_writes = off"} {
		warning := `level=WARN msg="a setting of the database is not safe: ` + setting
		if code != exitDone || !strings.Contains(log, warning) ||
			!strings.Contains(log, "ALTER SYSTEM SET "+setting[:5]) {
			t.Errorf("exit code %d, and the log does not warn of %s:\n%s", code, setting, log)
		}
	}
}

// TestRolesWithOnlyASchemaAreEnough has two roles, of the live database and of the sandbox, with nothing but a schema
// each in a database of a third. They may not ask for the number by which PostgreSQL tells servers apart.
func TestRolesWithOnlyASchemaAreEnough(t *testing.T) {
	server, err := storetest.StartPostgres(t.Context(), storetest.PostgresOptions{Durable: true}) // no warnings
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	executeIn(t, server.DSN("postgres"),
		`REVOKE CREATE ON SCHEMA public FROM PUBLIC; REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC`)
	schema := func(name string) string {
		address, err := server.CreateSchema(t.Context(), "postgres", name)
		if err != nil {
			t.Fatal(err)
		}
		return address
	}
	live := schema("live")
	o := withLiveRecords(t, newOperatorOf(t, live))
	o.env["PERKSD_SANDBOX_DATABASE"] = live
	o.leaveLiveAlone(o, sandboxIsLive, []string{"sandbox", "reset", "--yes"})
	o.env["PERKSD_SANDBOX_DATABASE"] = schema("trials")
	before := o.everything()
	o.must("demo-data", "--sandbox", "--perks", "3", "--users", "2")
	s, stop := o.serve()
	if status := programs.StatusOf(t, s.url+"/readyz", ""); status != http.StatusOK {
		t.Errorf("/readyz: status %d", status)
	}
	if code, log := stop(); code != exitDone || strings.Contains(log, "level=WARN") ||
		strings.Contains(log, "level=ERROR") {
		t.Errorf("exit code %d, and the log has warnings or errors:\n%s", code, log)
	}
	if said := o.must("sandbox", "reset", "--yes"); !strings.Contains(said, " of 3 perks, ") {
		t.Errorf("reset says %q", said)
	}
	equal(t, "the live schema", before, o.everything())
	equal(t, "the sandbox", "id\n", o.must("export", "users", "--sandbox"))
}

func TestOtherTablesAreNotChanged(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	executeIn(t, o.env["PERKSD_DATABASE"],
		`CREATE TABLE migrations (id serial PRIMARY KEY, migration text, batch integer)`)
	for _, args := range [][]string{{"migrate"}, {"migrate", "--status"}, {"client", "list"},
		{"serve", "--addr", "127.0.0.1:0", "--log-level", "error"}} {
		o.refuses(exitFailure, "the database "+o.database().name()+" has a table migrations that is not perksd's; "+
			"give perksd a database of its own", args...)
	}
}

// executeIn runs a statement in the database at an address.
func executeIn(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// guardedServer asks user "guarded" for a password and refuses user "nobody".
func guardedServer(t *testing.T) *storetest.PostgresServer {
	t.Helper()
	directory, err := os.MkdirTemp("", "perks-hba-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(directory) })
	rules := filepath.Join(directory, "pg_hba.conf")
	if err := os.WriteFile(rules, []byte("local all postgres,plain trust\nlocal all nobody reject\nlocal all all "+
		"scram-sha-256\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(directory, 0o755); err != nil {
		t.Fatal(err)
	}
	server, err := storetest.StartPostgres(t.Context(),
		storetest.PostgresOptions{Settings: map[string]string{"hba_file": rules}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(); err != nil {
			t.Error(err)
		}
	})
	return server
}

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// otherProgram returns the address of a program that is not PostgreSQL: it sends a greeting, which may be empty, and
// waits.
func otherProgram(t *testing.T, greeting string) string {
	return listening(t, func(conn net.Conn) {
		_, _ = io.WriteString(conn, greeting)
		t.Cleanup(func() { conn.Close() })
	})
}

// closingProgram returns the address of a program that closes each connection at once, as HAProxy does without a
// server.
func closingProgram(t *testing.T) string { return listening(t, func(conn net.Conn) { conn.Close() }) }

// listening returns the address of a program that does this with each connection.
func listening(t *testing.T, handle func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
			handle(conn)
		}
	}()
	return l.Addr().String()
}

// hostOf returns the host and port of an address on loopback, or "".
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Hostname() != "127.0.0.1" {
		return ""
	}
	return u.Host
}
