package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "example.com/perks/"

// goPackage is the output of go list for a package.
type goPackage struct {
	ImportPath, Dir  string
	Imports, GoFiles []string
}

func (p goPackage) name() string { return strings.TrimPrefix(p.ImportPath, module) }

// row is a row of the table of packages in docs/architecture.md. Its patterns are for path.Match.
type row struct {
	pattern string
	imports []string
	seen    map[string]bool // imports that some package has
}

var (
	tableRow     = regexp.MustCompile("(?m)^\\| `([a-z/*-]+)` \\|.*\\|([^|]*)\\|$")
	quoted       = regexp.MustCompile("`([a-z/*-]+)`")
	smallPackage = regexp.MustCompile("(?m)^- `([a-z/-]+)` is small: ")
)

// TestPackagesMatchArchitecture checks that packages have only the imports listed in docs/architecture.md, and that the
// document lists all packages and imports.
func TestPackagesMatchArchitecture(t *testing.T) {
	text, err := os.ReadFile("../../docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var table []row
	for _, match := range tableRow.FindAllStringSubmatch(string(text), -1) {
		r := row{pattern: match[1], seen: map[string]bool{}}
		for _, name := range quoted.FindAllStringSubmatch(match[2], -1) {
			r.imports = append(r.imports, name[1])
		}
		table = append(table, r)
	}
	packages := map[string]goPackage{}
	for _, p := range ownPackages(t) {
		packages[p.name()] = p
		i := slices.IndexFunc(table, func(r row) bool { return matches(r.pattern, p.name()) })
		if i < 0 {
			t.Errorf("%s is not in the table", p.name())
			continue
		}
		table[i].seen[""] = true
		for _, imported := range p.Imports {
			imported, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			allowed := slices.IndexFunc(table[i].imports,
				func(pattern string) bool { return matches(pattern, imported) })
			if allowed < 0 {
				t.Errorf("%s must not import %s", p.name(), imported)
				continue
			}
			table[i].seen[table[i].imports[allowed]] = true
		}
	}
	for _, r := range table {
		if !r.seen[""] {
			t.Errorf("%s in the table does not exist", r.pattern)
		}
		for _, imported := range r.imports {
			if !r.seen[imported] {
				t.Errorf("the table allows %s to import %s, but it does not", r.pattern, imported)
			}
		}
	}
	var explained []string
	for _, match := range smallPackage.FindAllStringSubmatch(string(text), -1) {
		explained = append(explained, match[1])
	}
	for name, p := range packages {
		if small := isSmall(t, p); small != slices.Contains(explained, name) {
			t.Errorf("%s is one file of less than 60 lines: %t; the document explains it: %t", name, small, !small)
		}
	}
}

func matches(pattern, name string) bool {
	matched, err := path.Match(pattern, name)
	return err == nil && matched
}

// isSmall reports whether a package is one file of less than 60 lines, without its tests.
func isSmall(t *testing.T, p goPackage) bool {
	t.Helper()
	if len(p.GoFiles) != 1 {
		return false
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, p.GoFiles[0]))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(text), "\n") < 60
}

func ownPackages(t *testing.T) (packages []goPackage) {
	t.Helper()
	output, err := exec.Command("go", "list", "-deps", "-json=ImportPath,Dir,Imports,GoFiles", "../../...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		if strings.HasPrefix(p.ImportPath, module) {
			packages = append(packages, p)
			// go test caches results by the files that the test itself reads, not those of go list.
			if _, err := os.ReadDir(p.Dir); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestClientDoesNotImportServerLibraries keeps perksctl small and quick to start.
func TestClientDoesNotImportServerLibraries(t *testing.T) {
	output, err := exec.Command("go", "list", "-deps", module+"cmd/perksctl").Output()
	if err != nil {
		t.Fatal(err)
	}
	for name := range strings.Lines(string(output)) {
		name = strings.TrimSpace(name)
		for _, unwanted := range []string{
			"github.com/prometheus/", "go.opentelemetry.io/", "google.golang.org/", "github.com/labstack/",
			"github.com/jackc/", "modernc.org/", "github.com/modelcontextprotocol/", "encoding/gob",
			"github.com/spf13/cobra/doc", "github.com/cpuguy83/go-md2man/",
			module + "server", module + "store",
		} {
			if strings.HasPrefix(name, unwanted) || name == "testing" {
				t.Errorf("perksctl depends on %s", name)
			}
		}
	}
}
