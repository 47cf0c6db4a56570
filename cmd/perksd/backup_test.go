package main

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

// shell runs a command line in a shell, with PostgreSQL's programs and perksd.
func (o *operator) shell(line string) string {
	o.t.Helper()
	config, err := pgconn.ParseConfig(o.env["PERKSD_DATABASE"])
	if err != nil {
		o.t.Fatal(err)
	}
	return programs.InstallOver(o.t, o.env["PERKSD_DATABASE"]).Shell(line, "PGPASSWORD="+config.Password)
}

// TestThePrintedCommandsWorkForTheDocumentedRoles types them as a role that owns only the database, and as one that
// owns only a schema in somebody else's.
func TestThePrintedCommandsWorkForTheDocumentedRoles(t *testing.T) {
	server, err := storetest.StartPostgres(t.Context(), storetest.PostgresOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	schema, err := server.CreateSchema(t.Context(), "postgres", "lodger")
	if err != nil {
		t.Fatal(err)
	}
	executeIn(t, server.DSN("postgres"), `CREATE TABLE theirs (); REVOKE ALL ON theirs FROM PUBLIC`)
	executeIn(t, server.DSN("postgres"), `CREATE ROLE perks LOGIN`)
	executeIn(t, server.DSN("postgres"), `CREATE DATABASE perks OWNER perks TEMPLATE template0`)
	owner := strings.Replace(server.DSN("perks"), "postgres://postgres@", "postgres://perks@", 1)
	for role, address := range map[string]string{"perks": owner, "lodger": schema} {
		o := newOperatorOf(t, address)
		o.must("client", "create", "--name", "The leaver", "--id", "leaver", "--scope", "perks:read")
		o.typed("backup", o.path("copy.dump"))
		o.now = o.now.Add(time.Minute)
		o.must("client", "disable", "leaver")
		said := o.typed("restore", o.path("copy.dump"))
		if !strings.Contains(said, "client leaver stays disabled") {
			t.Errorf("%s: the printed commands say %q", role, said)
		}
	}
}

// typed runs the command line that a command prints, and returns what that prints.
func (o *operator) typed(args ...string) string {
	o.t.Helper()
	_, line, isPrinted := strings.Cut(strings.TrimSpace(o.run(args...).stderr), "with: ")
	if !isPrinted {
		o.t.Fatalf("%q prints no command line", args)
	}
	return o.shell(line)
}

// TestABackupGoesPastAPooler has a PgBouncer whose server is on a socket, so that only a person knows its host.
func TestABackupGoesPastAPooler(t *testing.T) {
	direct, err := url.Parse(storetest.PostgresDatabase(t))
	if err != nil {
		t.Fatal(err)
	}
	pooled := storetest.PgBouncerDatabase(t)
	name := strings.TrimPrefix(direct.Path, "/")
	bouncer, err := url.Parse(pooled)
	if err != nil {
		t.Fatal(err)
	}
	bouncer.Path = "/" + name
	o := newOperatorOf(t, bouncer.String())
	o.must("migrate")
	said := o.run("backup", o.path("copy.dump")).stderr
	if !strings.Contains(said, "PostgreSQL's own host (or the directory of its socket) in place of HOST") {
		t.Fatalf("it does not say what to replace: %s", said)
	}
	_, line, _ := strings.Cut(strings.TrimSpace(said), "with: ")
	o.shell(strings.Replace(line, "@HOST", "@"+url.PathEscape(direct.Query().Get("host")), 1))
}
