package main

import (
	"net/url"
	"os"
	"strings"
	"testing"

	"example.com/perks/cmd/dev/programs"
	"example.com/perks/store/storetest"
)

const sandboxIsLive = "the sandbox needs a database of its own: --sandbox-database names the same one as --database"

func TestTheSandboxIsItsOwnFile(t *testing.T) {
	o := newSQLiteOperator(t)
	o.must("migrate")
	if err := os.Symlink(o.path("perks.db"), o.path("linked.db")); err != nil {
		t.Fatal(err)
	}
	for _, same := range []string{"perks.db", "./perks.db", "linked.db"} {
		o.refuses(exitUsage, sandboxIsLive, "serve", "--addr", "127.0.0.1:0", "--sandbox-database", "sqlite:"+o.folder+"/"+same)
	}
}

func TestTheSandboxIsItsOwnPostgresDatabase(t *testing.T) {
	live := storetest.PostgresDatabase(t)
	o := newOperatorOf(t, live)
	for name, same := range map[string]string{
		"the same address":                live,
		"the other scheme":                "postgresql" + live[len("postgres"):],
		"with another application_name":   withParameter(t, live, "application_name", "sandbox"),
		"through a schema without tables": withParameter(t, live, "search_path", "nowhere,public"),
	} {
		t.Run(name, func(t *testing.T) {
			o := *o
			o.t = t
			o.refuses(exitUsage, sandboxIsLive, "serve", "--addr", "127.0.0.1:0", "--sandbox-database", same,
				"--log-level", "error")
		})
	}

	s, stop := o.serve("--sandbox-database", storetest.PostgresDatabase(t))
	if status := programs.StatusOf(t, s.url+"/readyz", ""); status != 200 {
		t.Errorf("with two databases of one server: status %d", status)
	}
	stop()
}

// TestSwappedAddressesAreRefusedBeforeAMigration uses a live database that lacks a migration as the sandbox.
func TestSwappedAddressesAreRefusedBeforeAMigration(t *testing.T) {
	address := storetest.PostgresDatabase(t)
	live := newOperatorOf(t, address)
	live.must("client", "create", "--name", "Acme", "--id", "acme")
	executeIn(t, address, `DELETE FROM migrations WHERE version = 2`)
	swapped := newOperatorOf(t, storetest.PostgresDatabase(t))
	swapped.env["PERKSD_SANDBOX_DATABASE"] = address
	for _, args := range [][]string{{"serve", "--addr", "127.0.0.1:0"}, {"migrate", "--sandbox"}, {"import", "users", "--sandbox", swapped.file("users.csv", importable["users"])}} {
		if said := swapped.run(args...); said.code != exitUsage || !strings.Contains(said.stderr, "--sandbox-database names a live database") {
			t.Errorf("%v: %+v, want a refusal", args, said)
		}
		if status := live.must("migrate", "--status"); !strings.Contains(status, "pending") {
			t.Fatalf("%v migrated the live database: %s", args, status)
		}
		swapped.hasNoDatabase()
	}
}

// withParameter adds a parameter to an address.
func withParameter(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}
