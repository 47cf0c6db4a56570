package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDeleteFileAsksOnATerminal(t *testing.T) {
	x, facts := loggedIn(t)
	path := filepath.Join(t.TempDir(), "closed.csv")
	write(t, path, "propertyId,description\n42,\"two\nlines\"\n43,\n")
	question := "Delete the properties in " + path + " (2 rows) at " + facts["API_URL"] + " (profile default)? [y/N] "
	no := x.typing("n\n", "property", "delete", "--file", path)
	if no.code != 3 || no.err != question+"error: Cancelled; nothing was changed.\n" || no.out != "" {
		t.Errorf("no: %+v", no)
	}
	if _, err := os.Stat(path + ".results.jsonl"); !os.IsNotExist(err) {
		t.Errorf("results exist: %v", err)
	}
	yes := x.typing("y\n", "property", "delete", "--file", path)
	if yes.code != 0 || !strings.HasPrefix(yes.err, question) || !strings.Contains(yes.err, "2 rows: 2 done.") {
		t.Errorf("yes: %+v", yes)
	}
	if r := x.run("property", "get", "42"); r.code != 5 {
		t.Errorf("the property still exists: %+v", r)
	}

	// The question does not wait for an unknown number of rows.
	unnamed := filepath.Join(t.TempDir(), "closed")
	write(t, unnamed, "propertyId\n42\n")
	if r := x.typing("n\n", "property", "delete", "--file", unnamed); !strings.HasPrefix(r.err,
		"Delete the properties in "+unnamed+" at ") {
		t.Errorf("a file without an extension: %+v", r)
	}
	if r := x.typing("n\n", "property", "delete", "--file", unnamed, "--format", "csv"); !strings.Contains(r.err,
		unnamed+" (1 row) at ") {
		t.Errorf("a file with --format: %+v", r)
	}
	if r := x.typing("y\n", "property", "delete", "--file", "-"); r.code != 2 || strings.Contains(r.err, "[y/N]") {
		t.Errorf("rows and an answer from standard input: %+v", r)
	}
}
