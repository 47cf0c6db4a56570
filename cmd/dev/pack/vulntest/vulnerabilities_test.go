//go:build vulnerabilities

// Package vulntest tests `make vulnerabilities` with its own database, which has one invented report about the echo
// framework. `make vulnerabilities-test` runs it.
package vulntest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// database returns a database with one report: calls of echo.New are vulnerable before a version.
func database(t *testing.T, fixed string) (address string) {
	t.Helper()
	const day = "2026-01-02T03:04:05Z"
	directory := t.TempDir()
	const module = `"github.com/labstack/echo/v4"`
	for name, content := range map[string]string{
		"index/db.json": fmt.Sprintf(`{"modified":%q}`, day),
		"index/modules.json": fmt.Sprintf(`[{"path":%s,"vulns":[{"id":"GO-0000-0001","modified":%q,"fixed":%q}]}]`,
			module, day, fixed),
		"ID/GO-0000-0001.json": fmt.Sprintf(`{"schema_version":"1.3.1","id":"GO-0000-0001","modified":%q,
			"published":%[1]q,"summary":"Made up","details":"Made up",
			"database_specific":{"url":"https://example.com/GO-0000-0001"},
			"affected":[{"package":{"name":%[2]s,"ecosystem":"Go"},
				"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":%[3]q}]}],
				"ecosystem_specific":{"imports":[{"path":%[2]s,"symbols":["New"]}]}}]}`, day, module, fixed),
	} {
		path := filepath.Join(directory, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "file://" + directory
}

func TestACalledVulnerabilityIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		fixed     string
		dangerous bool
	}{
		"fixed in a later version":    {"4.999.0", true},
		"fixed in an earlier version": {"4.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command("make", "--no-print-directory", "-C", "../../../..", "vulnerabilities")
			cmd.Env = append(os.Environ(), "GOVULNDB="+database(t, test.fixed))
			said, err := cmd.CombinedOutput()
			named := strings.Contains(string(said), "GO-0000-0001") && strings.Contains(string(said), "calls echo.New")
			if dangerous := err != nil; dangerous != test.dangerous || named != test.dangerous {
				t.Errorf("make vulnerabilities exits with %v:\n%s", err, said)
			}
		})
	}
}
