package postgres

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/perks/store"
	"example.com/perks/store/storetest"
)

// pretend makes the server at the address say that it is of another version, and returns the address where it does.
func pretend(t *testing.T, address string, version int) string {
	t.Helper()
	storetest.Execute(t, address, `CREATE SCHEMA pretended`,
		fmt.Sprintf(`CREATE FUNCTION pretended.current_setting(text) RETURNS text LANGUAGE sql AS $$
		SELECT CASE $1 WHEN 'server_version_num' THEN '%d' ELSE pg_catalog.current_setting($1) END $$`, version))
	return address + "&search_path=" + url.QueryEscape("public,pretended,pg_catalog")
}

func TestAServerThatIsTooOldIsRefused(t *testing.T) {
	t.Parallel()
	address := storetest.PostgresDatabase(t)
	_, err := Open(t.Context(), pretend(t, address, 130022), Options{})
	const want = "it runs on PostgreSQL 13, and perksd needs PostgreSQL 14 or newer: upgrade the server, or name " +
		"another"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("opening it: %v, want %q", err, want)
	}
	if known := must(Status(t.Context(), address))(t); len(store.Pending(known)) != len(known) {
		t.Errorf("the migrations are %v, want none applied", known)
	}
}

func TestAServerThatIsNewerThanTestedIsLogged(t *testing.T) {
	t.Parallel()
	for version, want := range map[int]string{
		140000: "", 189999: "",
		190000: `level=WARN msg="this PostgreSQL is newer than the versions that perksd was tested with" ` +
			`version=19 tested="14 to 18"`,
	} {
		var log bytes.Buffer
		db := must(Open(t.Context(), pretend(t, storetest.PostgresDatabase(t), version),
			Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}))(t)
		noError(t, db.Close())
		if said := log.String(); !strings.Contains(said, want) || want == "" && said != "" {
			t.Errorf("version %d: the log is %q, want %q", version, said, want)
		}
	}
}

// TestTheVersionsAreTheSameEverywhere compares what is documented, and what make postgres-versions runs, with the code.
func TestTheVersionsAreTheSameEverywhere(t *testing.T) {
	span := fmt.Sprintf("%d to %d", oldestVersion, newestVersion)
	var all []string
	for version := oldestVersion; version <= newestVersion; version++ {
		all = append(all, fmt.Sprint(version))
	}
	for file, want := range map[string]string{
		"docs/postgresql.md": `PostgreSQL ` + span, "README.md": `PostgreSQL ` + span,
		"docs/contributing.md": `PostgreSQL ` + span,
		"Makefile":             `POSTGRES_VERSIONS \?= ` + strings.Join(all, " ") + "\n",
	} {
		text := must(os.ReadFile("../../" + file))(t)
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("%s lacks %q", file, want)
		}
	}
}

// TestTheIdentityNeedsNoPrivilege has a role that may not ask for the server's number, as on managed services.
func TestTheIdentityNeedsNoPrivilege(t *testing.T) {
	t.Parallel()
	server := startServer(t, storetest.PostgresOptions{})
	address := server.DSN("postgres")
	restricted := must(server.CreateSchema(t.Context(), "postgres", "restricted"))(t)
	identity := func(address string) Identity {
		t.Helper()
		return must(readAt(t.Context(), "read the identity", address, identityIn))(t)
	}
	openAt(t, restricted)
	openAt(t, address) // the other tables of the database
	storetest.Execute(t, address, `REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC`)
	known, unknown := identity(address+"&search_path=restricted"), identity(restricted)
	if known.server == "" || unknown.server != "" {
		t.Fatalf("the server's number is %q for the superuser and %q for a role that may not read it", known.server,
			unknown.server)
	}
	for _, a := range []Identity{known, unknown} {
		for _, b := range []Identity{known, unknown} {
			if !a.IsSame(b) {
				t.Errorf("%+v and %+v are of the same tables", a, b)
			}
		}
		if other := identity(address); a.IsSame(other) {
			t.Errorf("%+v and %+v are of two schemas", a, other)
		}
	}
	if elsewhere := (Identity{server: known.server + "1", tables: known.tables}); known.IsSame(elsewhere) {
		t.Errorf("%+v and %+v are of two servers", known, elsewhere)
	}
}
