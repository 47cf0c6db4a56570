package cli_test

import (
	"path/filepath"
	"testing"
)

// TestExportedPropertyRoundTrips exports a property as CSV, changes it, and imports the file again.
func TestExportedPropertyRoundTrips(t *testing.T) {
	x, _ := loggedIn(t)
	for i, title := range []string{"=1+1", "'=1+1", "''=1", "x;=1+1;y", "'x;'=1", "-3.5", "'-3.5", "+44 113", "a\r\n=b",
		`"=1"`} {
		for _, raw := range [][]string{nil, {"--raw"}} {
			path := filepath.Join(t.TempDir(), "exported.csv")
			x.must("property", "update", "42", "--title", title, "--description", title, "--set",
				`images=["https://a.example/1,2.png","https://a.example/3.png"]`)
			before := x.must("property", "get", "42", "-o", "json", "--quiet").out
			exported := x.must(append([]string{"property", "get", "42", "--quiet", "-o", "csv", "--fields",
				"propertyId,title,description,images"}, raw...)...).out
			write(t, path, exported)
			x.must("property", "update", "42", "--title", "T", "--description", "D", "--set", "images=")
			x.must("property", "update", "--file", path)
			if after := x.must("property", "get", "42", "-o", "json", "--quiet").out; after != before {
				t.Errorf("%d: exported\n%s\n%s\nbecame\n%s", i, exported, before, after)
			}
		}
	}
}
