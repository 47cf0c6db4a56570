package main

import (
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

func TestBackupOverwritesNothingAndCreatesNoDatabase(t *testing.T) {
	o := newSQLiteOperator(t)
	o.refuses(exitFailure, "perksd was never set up in the database "+o.path("perks.db")+"; name another with "+
		"--database, or set this one up with 'perksd migrate'",
		"backup", o.path("copy.db"))
	o.must("migrate")
	precious := o.file("precious", "precious")
	o.refuses(exitFailure,
		fmt.Sprintf("back up to %s: file already exists, and is not overwritten; choose another name", precious),
		"backup", precious)
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
	nowhere := o.path("nowhere/copy.db")
	o.refuses(exitFailure, fmt.Sprintf("back up to %s: there is no directory %s", nowhere, o.path("nowhere")),
		"backup", nowhere)
	o.refuses(exitUsage, "FILE is missing (see 'perksd backup --help')", "backup")
}

func TestBackupOfPostgresPrintsACommand(t *testing.T) {
	authority := servertest.NewAuthority(t, "database").File()
	tests := map[string]string{
		"postgres://perks:hunter2@db.example:5433/perks": "postgres://perks@db.example:5433/perks",
		"postgres://perks:hunter2@a.example,b.example/it's?sslmode=disable&password=hunter3&pool_max_conns=3": "" +
			"'postgres://perks@/it%27s?host=a.example%2Cb.example&port=5432%2C5432&sslmode=disable'",
		"postgresql:///perks?host=/run/postgresql&user=perks": "" +
			"'postgres://perks@/perks?host=%2Frun%2Fpostgresql&port=5432'",
		"postgres://perks@db.example/perks?sslmode=verify-full&sslrootcert=" + url.QueryEscape(authority) +
			"&sslpassword=hunter4&default_query_exec_mode=simple_protocol": "" +
			"'postgres://perks@db.example:5432/perks?sslmode=verify-full&sslrootcert=" + url.QueryEscape(authority) +
			"'",
	}
	for address, want := range tests {
		o := newOperatorOf(t, address)
		o.refuses(exitUsage, "perksd backup copies a file of SQLite; back PostgreSQL up with a pg_dump that is not "+
			"older than the server, with: pg_dump --format=custom --file='my copy.dump' --dbname="+want, "backup",
			"my copy.dump")
	}
}

// shell runs a command line in a shell, with PostgreSQL's programs and perksd.
func (o *operator) shell(line string) string {
	o.t.Helper()
	config, err := pgconn.ParseConfig(o.env["PERKSD_DATABASE"])
	if err != nil {
		o.t.Fatal(err)
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		o.t.Fatal(err)
	}
	perksd := filepath.Dir(programs.InstallOver(o.t, o.env["PERKSD_DATABASE"]).Command().Path)
	shell := exec.Command("sh", "-c", line)
	shell.Env = []string{"PGPASSWORD=" + config.Password,
		"PATH=" + strings.Join(append(debian, perksd, os.Getenv("PATH")), ":")}
	output, err := shell.CombinedOutput()
	if err != nil {
		o.t.Fatalf("%s: %v\n%s", line, err, output)
	}
	return string(output)
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
	if !strings.Contains(said, "PostgreSQL's own host (or the folder of its socket) in place of HOST") {
		t.Fatalf("it does not say what to replace: %s", said)
	}
	_, line, _ := strings.Cut(strings.TrimSpace(said), "with: ")
	o.shell(strings.Replace(line, "@HOST", "@"+url.PathEscape(direct.Query().Get("host")), 1))
}

func TestRestoreRefusesIncompleteBackups(t *testing.T) {
	o := newSQLiteOperator(t)
	o.must("import", "users", o.file("users.csv", importable["users"]))
	users := o.must("export", "users")
	o.must("backup", o.path("copy.db"))
	whole, err := os.ReadFile(o.path("copy.db"))
	if err != nil {
		t.Fatal(err)
	}
	half := o.file("half.db", string(whole[:len(whole)/2]))
	text := o.file("text.db", strings.Repeat("perks ", 1000))
	empty := o.file("empty.db", "")
	for path, want := range map[string]string{
		o.path("nowhere.db"): "restore from " + o.path("nowhere.db") + ": it does not exist",
		half:                 "restore from " + half + ": ",
		text:                 "it is not a SQLite database",
		empty:                "it is a database, but not of perksd",
	} {
		if said := o.run("restore", path); said.code != exitFailure || !strings.Contains(said.stderr, want) {
			t.Errorf("restoring %s: exit code %d, %q, want %q", path, said.code, said.stderr, want)
		}
	}
	if now := o.must("export", "users"); now != users {
		t.Errorf("after refused restores the users are %q", now)
	}
	files, err := os.ReadDir(o.directory)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Name(), ".restoring") || strings.Contains(f.Name(), ".before-") {
			t.Errorf("%s was left", f.Name())
		}
	}
}

func TestRestoreKeepsTheFormerDatabase(t *testing.T) {
	o := newSQLiteOperator(t)
	o.must("import", "users", o.file("users.csv", importable["users"]))
	then := o.must("export", "users")
	o.must("backup", o.path("copy.db"))
	o.must("import", "users", o.file("more.csv", "id\nzoe\n"))
	later := o.must("export", "users")
	said := o.must("restore", o.path("copy.db"))
	_, former, _ := strings.Cut(strings.TrimSuffix(said, ".\n"), "The former one is ")
	if now := o.must("export", "users"); now != then {
		t.Errorf("the users are %q, want those of the backup", now)
	}
	if kept := o.must("export", "users", "--database", "sqlite:"+former); kept != later {
		t.Errorf("the former database has %q", kept)
	}
	o.refuses(exitFailure, fmt.Sprintf("restore %s: %s exists already, from this same second; restore again",
		o.path("perks.db"), former),
		"restore", o.path("copy.db"))
	if err := os.WriteFile(o.path("perks.db"), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(former); err != nil { // made within the same second of the test's clock
		t.Fatal(err)
	}
	o.must("restore", o.path("copy.db"))
	if now := o.must("export", "users"); now != then {
		t.Errorf("after replacing a damaged database the users are %q", now)
	}
}

func TestRestoreOfPostgresPrintsACommand(t *testing.T) {
	o := newOperatorOf(t, "postgres://perks:hunter2@db.example:5433/perks")
	o.refuses(exitUsage, "perksd restore works on a file of SQLite; a backup of PostgreSQL goes into a new database, "+
		"which --database has to name from then on. Stop all servers first; then create it, fill it, and copy "+
		"clients and signing keys to it, with: createdb --maintenance-db=postgres://perks@db.example:5433/perks "+
		"--template=template0 --encoding=UTF8 perks_restored && pg_restore --exit-on-error --no-owner "+
		"--dbname=postgres://perks@db.example:5433/perks_restored 'my copy.dump' && perksd restore "+
		"--database=postgres://perks@db.example:5433/perks_restored "+
		"--former=postgres://perks@db.example:5433/perks", "restore", "my copy.dump")
}
