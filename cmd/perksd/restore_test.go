package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

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
	files, err := os.ReadDir(o.folder)
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
