package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/perks/store/postgres/cluster"
)

func TestBackupOverwritesNothingAndMakesNoDatabase(t *testing.T) {
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

func TestBackupOfPostgresSaysWhatToType(t *testing.T) {
	tests := map[string]string{
		"postgres://perks:hunter2@db.example:5433/perks":                                                      "--host=db.example --port=5433 --username=perks perks",
		"postgres://perks:hunter2@a.example,b.example/it's?sslmode=disable&password=hunter3&pool_max_conns=3": `--host=a.example,b.example --port=5432,5432 --username=perks 'it'\''s'`,
		"postgresql:///perks?host=/run/postgresql&user=perks":                                                 "--host=/run/postgresql --port=5432 --username=perks perks",
	}
	for address, want := range tests {
		o := newOperatorOf(t, address)
		o.refuses(exitUsage, "perksd backup copies a file of SQLite; back PostgreSQL up with: pg_dump --format=custom --file='my copy.dump' "+want, "backup", "my copy.dump")
	}
}

func TestWhatBackupSaysToTypeWorks(t *testing.T) {
	o := newOperatorOf(t, cluster.Database(t))
	o.must("import", "users", o.file("users.csv", importable["users"]))
	said := o.run("backup", o.path("copy.dump"))
	_, line, _ := strings.Cut(strings.TrimSpace(said.stderr), "with: ")

	config, err := pgconn.ParseConfig(o.env["PERKSD_DATABASE"])
	if err != nil {
		t.Fatal(err)
	}
	debian, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-c", line)
	shell.Env = []string{"PGPASSWORD=" + config.Password, "PATH=" + strings.Join(append(debian, os.Getenv("PATH")), ":")}
	if output, err := shell.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, output)
	}
	if dump, err := os.ReadFile(o.path("copy.dump")); err != nil || !bytes.HasPrefix(dump, []byte("PGDMP")) {
		t.Errorf("%s makes no dump: %.10q, %v", line, dump, err)
	}
}
