package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/server/servertest"
	"example.com/perks/store/storetest"
)

func TestBackupOverwritesNothingAndCreatesNoDatabase(t *testing.T) {
	o := newSQLiteOperator(t)
	o.refuses(exitFailure, "perksd was never set up in the database "+o.path("perks.db")+"; name another with --database, or set this one up with 'perksd migrate'",
		"backup", o.path("copy.db"))
	o.must("migrate")
	precious := o.file("precious", "precious")
	o.refuses(exitFailure, fmt.Sprintf("back up to %s: file already exists, and is not overwritten; choose another name", precious), "backup", precious)
	if text, err := os.ReadFile(precious); err != nil || string(text) != "precious" {
		t.Errorf("the file holds %q (%v)", text, err)
	}
	o.refuses(exitFailure, fmt.Sprintf("back up to %s: there is no folder %s", o.path("nowhere/copy.db"), o.path("nowhere")), "backup", o.path("nowhere/copy.db"))
	o.refuses(exitUsage, "FILE is missing (see 'perksd backup --help')", "backup")
}

func TestBackupOfPostgresPrintsACommand(t *testing.T) {
	authority := servertest.NewAuthority(t, "database").File()
	tests := map[string]string{
		"postgres://perks:hunter2@db.example:5433/perks":                                                      "postgres://perks@db.example:5433/perks",
		"postgres://perks:hunter2@a.example,b.example/it's?sslmode=disable&password=hunter3&pool_max_conns=3": "'postgres://perks@/it%27s?host=a.example%2Cb.example&port=5432%2C5432&sslmode=disable'",
		"postgresql:///perks?host=/run/postgresql&user=perks":                                                 "'postgres://perks@/perks?host=%2Frun%2Fpostgresql&port=5432'",
		"postgres://perks@db.example/perks?sslmode=verify-full&sslrootcert=" + url.QueryEscape(authority) + "&sslpassword=hunter4&default_query_exec_mode=simple_protocol": "'postgres://perks@db.example:5432/perks?sslmode=verify-full&sslrootcert=" +
			url.QueryEscape(authority) + "'",
	}
	for address, want := range tests {
		o := newOperatorOf(t, address)
		o.refuses(exitUsage, "perksd backup copies a file of SQLite; back PostgreSQL up with a pg_dump that is not older than the server, with: pg_dump --format=custom --file='my copy.dump' --dbname="+want, "backup", "my copy.dump")
	}
}

func TestThePrintedBackupCommandWorks(t *testing.T) {
	o := newOperatorOf(t, storetest.PostgresDatabase(t))
	o.must("import", "users", o.file("users.csv", importable["users"]))
	said := o.run("backup", o.path("copy.dump"))
	_, line, _ := strings.Cut(strings.TrimSpace(said.stderr), "with: ")
	if !regexp.MustCompile(`with a pg_dump of version (\d+) or newer, as the server is of version \d+, with: `).MatchString(said.stderr) {
		t.Errorf("it does not name the version of pg_dump: %s", said.stderr)
	}
	o.shell(line)
	if dump, err := os.ReadFile(o.path("copy.dump")); err != nil || !bytes.HasPrefix(dump, []byte("PGDMP")) {
		t.Errorf("%s makes no dump: %.10q, %v", line, dump, err)
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
	shell.Env = []string{"PGPASSWORD=" + config.Password, "PATH=" + strings.Join(append(debian, perksd, os.Getenv("PATH")), ":")}
	output, err := shell.CombinedOutput()
	if err != nil {
		o.t.Fatalf("%s: %v\n%s", line, err, output)
	}
	return string(output)
}
