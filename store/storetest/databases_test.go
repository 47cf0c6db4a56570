package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/perks/store/storetest"
)

func wantIn(t *testing.T, text, part string) {
	t.Helper()
	if !strings.Contains(text, part) {
		t.Errorf("want %q in: %s", part, text)
	}
}

var databases = map[string]func(testing.TB) string{"directly": storetest.PostgresDatabase,
	"behind a bouncer": storetest.PgBouncerDatabase}

func TestEachDatabaseIsNewAndEmptyAndDroppedAfterItsTest(t *testing.T) {
	for name, database := range databases {
		t.Run(name, func(t *testing.T) {
			var dropped string
			t.Run("inside", func(t *testing.T) {
				address := database(t)
				conn := connect(t, address)
				dropped = one[string](t, conn, `SELECT current_database()`)
				storetest.Equal(t, "tables of a new database", one[int](t, conn, `SELECT count(*) FROM pg_class
					WHERE relnamespace = 'public'::regnamespace`), 0)
				execute(t, conn, `CREATE TABLE rows (n int)`)
				if other := database(t); other == address {
					t.Errorf("%s was used twice", address)
				} else if n := one[int](t, connect(t, other),
					`SELECT count(*) FROM pg_class WHERE relname = 'rows'`); n != 0 {
					t.Error("a database has the tables of another")
				}
			})
			if one[bool](t, connect(t, storetest.PostgresDatabase(t)),
				`SELECT EXISTS (SELECT FROM pg_database WHERE datname = '`+dropped+`')`) {
				t.Error("the database exists after its test")
			}
		})
	}
}

// TestReportServer is run by the tests below in its own process, because a process chooses its server once.
func TestReportServer(t *testing.T) {
	for name, database := range databases {
		t.Log(name, one[string](t, connect(t, database(t)), `SHOW unix_socket_directories`))
	}
}

func reportServer(t *testing.T, environment ...string) (string, error) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestReportServer$", "-test.v")
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	return string(output), err
}

func TestANamedServerIsUsed(t *testing.T) {
	c := start(t, storetest.PostgresOptions{})
	directory, _ := c.Host()
	said, err := reportServer(t, "PERKS_TEST_POSTGRES="+c.DSN("postgres"))
	if err != nil {
		t.Fatal(said)
	}
	for name := range databases {
		wantIn(t, said, name+" "+directory)
	}
	conn := connect(t, c.DSN("postgres"))
	storetest.Equal(t, "databases left on the server",
		one[int](t, conn, `SELECT count(*) FROM pg_database WHERE datname LIKE 'perks%'`), 0)
}

func TestATestFailsWithoutAServer(t *testing.T) {
	for what, r := range map[string]struct{ environment, says string }{
		"an address that cannot be read": {"PERKS_TEST_POSTGRES=postgres://u:s3cret@[",
			"PERKS_TEST_POSTGRES must hold an address of the form postgres://"},
		"an address of something else": {"PERKS_TEST_POSTGRES=mysql://u:s3cret@db",
			"PERKS_TEST_POSTGRES must hold an address of the form postgres://"},
		"a server that is not there": {"PERKS_TEST_POSTGRES=postgres://u:s3cret@127.0.0.1:1/d",
			"create the database perks_test_"},
	} {
		t.Run(what, func(t *testing.T) {
			said, err := reportServer(t, r.environment)
			if err == nil {
				t.Fatalf("the test passed: %s", said)
			}
			wantIn(t, said, r.says)
			if strings.Contains(said, "s3cret") {
				t.Errorf("the password is in the output: %s", said)
			}
		})
	}
}

func TestAMigratedDatabaseIsRestoredForReuse(t *testing.T) {
	made := 0
	databases := storetest.MigratedDatabases{Migrate: func(_ context.Context, address string) error {
		made++
		execute(t, connect(t, address),
			`CREATE TABLE first (n int)`, `INSERT INTO first VALUES (42)`,
			`CREATE TABLE rows (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)`,
			`CREATE TABLE others (id int REFERENCES rows)`,
			`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$`,
			`CREATE TRIGGER refused BEFORE DELETE OR TRUNCATE ON rows FOR EACH STATEMENT EXECUTE FUNCTION refuse()`)
		return nil
	}}
	for range 2 {
		for name, acquire := range map[string]func(testing.TB) string{"directly": databases.Direct,
			"behind a bouncer": databases.BehindPgBouncer} {
			t.Run(name, func(t *testing.T) {
				address := acquire(t)
				conn := connect(t, address)
				eventually(t, "the end of an earlier test's query", func() bool {
					return one[int](t, conn, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
						AND query LIKE '%-- busy'`) == 0
				})
				storetest.Equal(t, "the first row", one[int](t, conn, `SELECT sum(n) FROM first`), 42)
				execute(t, conn, `INSERT INTO rows DEFAULT VALUES`, `UPDATE first SET n = 43`,
					`INSERT INTO first VALUES (1)`)
				storetest.Equal(t, "the sum of the ids", one[int](t, conn, `SELECT sum(id) FROM rows`), 1)
				execute(t, conn, `INSERT INTO others VALUES (1)`)
				if _, err := conn.Exec(t.Context(), `DELETE FROM rows`); code(err) != "P0001" {
					t.Errorf("deleting rows returned %v, want the trigger's error", err)
				}
				if other := acquire(t); other == address {
					t.Errorf("%s was in use twice at once", address)
				}
				keepBusy(t, address)
			})
		}
	}
	want := 2
	if os.Getenv("PERKS_TEST_POSTGRES") != "" {
		want = 8
	}
	if made != want {
		t.Errorf("%d databases were made, want %d", made, want)
	}
}
