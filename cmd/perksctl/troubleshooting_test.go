package main_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestTroubleshootingQuotesRealMessages checks that each quoted message is in one string of the programs, with anything
// for an ellipsis.
func TestTroubleshootingQuotesRealMessages(t *testing.T) {
	const document = "../../docs/troubleshooting.md"
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	messages := regexp.MustCompile("(?m)^### `(.*)`$").FindAllStringSubmatch(string(text), -1)
	if len(messages) < 15 {
		t.Fatalf("found only %d messages", len(messages))
	}
	found := programStrings(t)
	for _, message := range messages {
		pattern := regexp.MustCompile("(?s)" + strings.ReplaceAll(regexp.QuoteMeta(message[1]), "…", ".*"))
		if !slices.ContainsFunc(found, pattern.MatchString) {
			t.Errorf("%s quotes %q, but no program says that", document, message[1])
		}
	}
}

// programStrings returns the strings in the code of the programs, with whatever is added to them.
func programStrings(t *testing.T) (found []string) {
	t.Helper()
	for _, dir := range []string{"api", "cli", "cmd/perksd", "server", "store"} {
		err := filepath.WalkDir(filepath.Join("../..", dir), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(node ast.Node) bool {
				if expression, is := node.(ast.Expr); is {
					if text := sum(expression); text != "…" {
						found = append(found, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return found
}

// sum returns the text of a string, or of strings that are added up, with an ellipsis for everything else.
func sum(expression ast.Expr) string {
	switch e := expression.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); e.Kind == token.STRING && err == nil {
			return text
		}
	case *ast.BinaryExpr:
		if e.Op == token.ADD {
			return sum(e.X) + sum(e.Y)
		}
	}
	return "…"
}
