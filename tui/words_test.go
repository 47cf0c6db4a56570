package tui_test

import (
	"flag"
	"fmt"
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

	"example.com/perks/tui/actions"
)

// plainWords is what the screens say, and what they do not. Where a word has another meaning too, only phrases are listed.
var plainWords = []struct{ write, not string }{
	{"expired, valid until", `\b(is|are|was) over\b|at its end\b`},
	{"retry, check again", `\blook(s|ed)? again\b|\bsen(d|ds|t) (it|them) again\b`},
	{"unknown outcome; reply lost", `nobody knows|what became of|no answer`},
	{"unlimited, at most N", `\btwice as many\b`},
	{"resume, continue", `\bgo(es)? on\b|\btak(e|es|en) (it )?up\b`},
	{"idempotency key", `\b(same|another|its|that) key\b|\b(honours?|heeds?) keys\b`},
	{"discard", `\bthr(ow|ows|own|ew) (it )?away\b`},
	{"draft", `\btext from before\b`},
	{"dialog, footer, toast, panel", `\blies over\b|\brooms?\b|\bstages?\b`},
	{"throttle, limit", `\bguess(es)?\b|\bcrowd(ed|ing)?\b`},
	{"state, store, cache, queue, slot", `\bbooks?\b|\bplaces?\b|\bways?\b|\bturns?\b|\bhires?\b|\bsits?\b|\baway\b`},
	{"package, dependency", `\bhouses?\b|\bdoors?\b|\barrows?\b`},
}

// The most words of a hint in the footer, of the button of a dialog, and of the name of an action.
const (
	mostInHint   = 3
	mostInButton = 3
	mostInName   = 6
)

// said is a text in the source of the screens.
type said struct {
	file, text     string
	hint, isButton bool
}

// isShown tells texts for people from names of keys, fields and styles.
var isShown = regexp.MustCompile(`[A-Za-z]{2,}[^A-Za-z]* [^A-Za-z]*[A-Za-z]|^[A-Z][a-z]+`)

// sayings returns every text in the source of the screens.
func sayings(t *testing.T) (all []said) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && slices.Contains([]string{"tuitest", "testdata", "background"}, entry.Name()):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err == nil {
			all = append(all, textsOf(filepath.ToSlash(path), file)...)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func textsOf(path string, file *ast.File) (all []said) {
	hints, buttons := map[ast.Node]bool{}, map[ast.Node]bool{}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.CallExpr:
			if f, ok := node.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "WithHint" {
				for _, argument := range node.Args {
					ast.Inspect(argument, func(n ast.Node) bool { hints[n] = n != nil; return true })
				}
			}
		case *ast.KeyValueExpr:
			if key, ok := node.Key.(*ast.Ident); ok && key.Name == "Yes" {
				buttons[node.Value] = true
			}
		case *ast.BasicLit:
			if node.Kind != token.STRING {
				break
			}
			if text, _ := strconv.Unquote(node.Value); hints[node] || buttons[node] || isShown.MatchString(text) {
				all = append(all, said{path, text, hints[node], buttons[node]})
			}
		}
		return true
	})
	return all
}

// TestWordsOfTheScreens keeps every text of the screens in a golden file, so that a change of words is reviewed, and holds each against
// the rules: plain words, and few of them where people choose.
func TestWordsOfTheScreens(t *testing.T) {
	var golden strings.Builder
	file := ""
	for _, s := range sayings(t) {
		if s.file != file {
			file = s.file
			fmt.Fprintf(&golden, "== %s\n", file)
		}
		fmt.Fprintf(&golden, "%q\n", s.text)
		checkWords(t, s.file, s.text)
		switch words := len(strings.Fields(s.text)); {
		case s.hint && words > mostInHint:
			t.Errorf("%s: the hint %q has %d words, more than %d", s.file, s.text, words, mostInHint)
		case s.isButton && words > mostInButton:
			t.Errorf("%s: the button %q has %d words, more than %d", s.file, s.text, words, mostInButton)
		}
	}
	for _, a := range actions.Default().Actions() {
		if words := len(strings.Fields(a.Hint)); words > mostInHint {
			t.Errorf("the hint %q has %d words, more than %d", a.Hint, words, mostInHint)
		}
		if words := len(strings.Fields(a.Name)); words > mostInName {
			t.Errorf("the name %q has %d words, more than %d", a.Name, words, mostInName)
		}
	}
	path := filepath.Join("testdata", "golden", "words.txt")
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != golden.String() {
		t.Errorf("the texts differ from %s; write it with -update, and review the difference", path)
	}
}

func checkWords(t *testing.T, where, text string) {
	t.Helper()
	for _, rule := range plainWords {
		if found := regexp.MustCompile("(?i)" + rule.not).FindString(text); found != "" {
			t.Errorf("%s: %q says %q; write %s", where, text, found, rule.write)
		}
	}
}

// mostInFooter is how many words a hint in a footer has, with what the screen adds: its key, and how much is marked.
const mostInFooter = 8

// TestFootersOfGoldenScreens reads the last line of every golden screen.
func TestFootersOfGoldenScreens(t *testing.T) {
	screens := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".plain.txt") || strings.HasPrefix(path, "widget") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, frame := range strings.Split(string(text), "== ")[1:] {
			screens++
			lines := strings.Split(strings.TrimRight(frame, "\n"), "\n")
			for _, hint := range strings.Split(lines[len(lines)-1], "  ") {
				if words := len(strings.Fields(hint)); words > mostInFooter && !strings.HasPrefix(lines[0], "30x8") {
					t.Errorf("%s: %q in the footer has %d words", path, hint, words)
				}
				checkWords(t, path, hint)
			}
		}
		return err
	})
	if err != nil || screens < 400 {
		t.Errorf("read %d screens: %v", screens, err)
	}
}
