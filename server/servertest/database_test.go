package servertest_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"example.com/perks/server/servertest"
	"example.com/perks/store/postgres"
	"example.com/perks/store/sqlite"
)

func TestTheEnvironmentChoosesTheDatabase(t *testing.T) {
	for kind, want := range map[string]struct {
		prefix, part string
		isWanted     func(any) bool
	}{
		"":          {"sqlite:", "perks.db", is[*sqlite.DB]},
		"sqlite":    {"sqlite:", "perks.db", is[*sqlite.DB]},
		"postgres":  {"postgres://", "perks_test_", is[*postgres.DB]},
		"pgbouncer": {"postgres://", "default_query_exec_mode=simple_protocol", is[*postgres.DB]},
	} {
		t.Setenv("PERKS_TEST_DATABASE", kind)
		if address := servertest.DatabaseAddress(t); !strings.HasPrefix(address, want.prefix) ||
			!strings.Contains(address, want.part) {
			t.Errorf("%q chooses %s", kind, address)
		}
		if db := servertest.OpenStore(t); !want.isWanted(db) {
			t.Errorf("%q opens a %T", kind, db)
		}
	}
}

func is[T any](v any) bool { _, ok := v.(T); return ok }

// TestADatabase is run by the test below in its own process: it has to fail.
func TestADatabase(t *testing.T) { servertest.DatabaseAddress(t) }

func TestAnUnknownDatabaseFailsTheTest(t *testing.T) {
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestADatabase$")
	command.Env = append(os.Environ(), "PERKS_TEST_DATABASE=oracle")
	output, err := command.CombinedOutput()
	if want := `PERKS_TEST_DATABASE is "oracle", but only sqlite, postgres and pgbouncer can be chosen`; err == nil ||
		!strings.Contains(string(output), want) {
		t.Errorf("the test returned %v: %s", err, output)
	}
}
