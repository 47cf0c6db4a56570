package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/server/servertest"
)

// documentedAddress is where the documents suppose the server.
const documentedAddress = "127.0.0.1:8080"

// developAsDocumented starts perksd dev in the directory .dev, as the documents do.
func developAsDocumented(t *testing.T) (o *operator, address string, stop func()) {
	o = newOperatorOf(t, "")
	t.Chdir(o.directory)
	said, stop := o.develop(".dev")
	return o, regexp.MustCompile(`127\.0\.0\.1:[0-9]+`).FindString(said), stop
}

// example is a command of a document, with the lines that it prints, to stdout and stderr as a terminal shows them.
type example struct{ line, command, output string }

// document is text between examples, and the examples: text[i] comes before examples[i], and one more text after the
// last.
type document struct {
	text     []string
	examples []example
}

// parseDocument finds the commands, which follow "$ " in indented blocks; "> " continues one. What follows is its
// output.
func parseDocument(content string) (d document) {
	var text strings.Builder
	lines := strings.SplitAfter(content, "\n")
	for i := 0; i < len(lines); {
		if !strings.HasPrefix(lines[i], "    $ ") {
			text.WriteString(lines[i])
			i++
			continue
		}
		e := example{line: lines[i], command: strings.TrimPrefix(lines[i], "    $ ")}
		for i++; strings.HasPrefix(lines[i], "    > "); i++ {
			e.line += lines[i]
			e.command += strings.TrimPrefix(lines[i], "    > ")
		}
		for ; strings.HasPrefix(lines[i], "    ") && !strings.HasPrefix(lines[i], "    $ "); i++ {
			e.output += strings.TrimPrefix(lines[i], "    ")
		}
		d.text, d.examples = append(d.text, text.String()), append(d.examples, e)
		text.Reset()
	}
	d.text = append(d.text, text.String())
	return d
}

func (d document) String() string {
	var b strings.Builder
	for i, e := range d.examples {
		b.WriteString(d.text[i] + e.line)
		for line := range strings.Lines(e.output) {
			b.WriteString("    " + line)
		}
	}
	return b.String() + d.text[len(d.examples)]
}

// run runs all commands in one shell, and returns the document with what they print. A command that fails adds its exit
// code.
func (d document) run(t *testing.T, directory, address string) document {
	t.Helper()
	const separator = "\x1e"
	var script strings.Builder
	script.WriteString("set +e\n")
	for _, e := range d.examples {
		fmt.Fprintf(&script, "printf '\\036'\n%scode=$?; [ $code = 0 ] || echo \"# exit code $code\"\n",
			strings.ReplaceAll(e.command, documentedAddress, address))
	}
	output, err := developersShell(t, directory, script.String())
	printed := strings.Split(strings.ReplaceAll(output, address, documentedAddress), separator)
	if err != nil || len(printed) != len(d.examples)+1 {
		t.Fatalf("the shell ended with %v after %d of %d commands:\n%s", err, len(printed)-1, len(d.examples), output)
	}
	ran := document{text: d.text, examples: slices.Clone(d.examples)}
	for i := range ran.examples {
		ran.examples[i].output = strings.ReplaceAll(printed[i+1], filepath.Join(directory, "config"),
			"/home/alice/.config/perksctl")
	}
	return ran
}

// varying are the parts of an output that differ from run to run. Those that are numbered must be the same wherever
// they are the same in the document: the id that one command prints is the id that the next one names.
var varying = []struct {
	name     string
	pattern  *regexp.Regexp
	numbered bool
}{
	{"time", regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), false},
	{"date", regexp.MustCompile(`\d{4}-\d\d-\d\d`), false},
	{"id", regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), true},
	{"etag", regexp.MustCompile(`"[\w-]{20}\\?"`), true},
}

// settled replaces what varies by its name.
func (d document) settled() []string {
	numbers := map[string]int{}
	var outputs []string
	for _, e := range d.examples {
		for _, v := range varying {
			e.output = v.pattern.ReplaceAllStringFunc(e.output, func(found string) string {
				if !v.numbered {
					return "<" + v.name + ">"
				}
				if numbers[found] == 0 {
					numbers[found] = len(numbers) + 1
				}
				return fmt.Sprintf("<%s %d>", v.name, numbers[found])
			})
		}
		outputs = append(outputs, e.output)
	}
	return outputs
}

// TestEachCommandOfTheCookbookPrintsWhatItShows runs the whole cookbook in one shell against one server. What varies is
// told by varying.
func TestEachCommandOfTheCookbookPrintsWhatItShows(t *testing.T) {
	const path = "../../docs/cookbook.md"
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	written := parseDocument(string(content))
	if written.String() != string(content) || len(written.examples) < 40 {
		t.Fatalf("found only %d commands, or not the whole text", len(written.examples))
	}
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	o, address, stop := developAsDocumented(t)
	defer stop()
	ran := written.run(t, o.directory, address)
	want, got := written.settled(), ran.settled()
	if *update && !slices.Equal(want, got) {
		if err := os.WriteFile(home+"/"+path, []byte(ran.String()), 0o644); err != nil { // #nosec G306 -- a document
			t.Fatal(err)
		}
		return
	}
	for i, e := range written.examples {
		if diff := cmp.Diff(want[i], got[i]); diff != "" {
			t.Errorf("%s\nprints something else than the cookbook shows (-cookbook +printed):\n%s", e.command, diff)
		}
	}
}

// TestEachOperationHasACurlCommandThatWorks runs docs/curl.md through a proxy that checks every exchange against the
// API's description.
func TestEachOperationHasACurlCommandThatWorks(t *testing.T) {
	content, err := os.ReadFile("../../docs/curl.md")
	if err != nil {
		t.Fatal(err)
	}
	o, address, stop := developAsDocumented(t)
	defer stop()
	var mu sync.Mutex
	used := map[string]bool{}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: address})
	proxy.Transport = servertest.NewChecker(t, nil)
	proxy.ModifyResponse = func(r *http.Response) error {
		mu.Lock()
		defer mu.Unlock()
		if r.StatusCode >= http.StatusMultipleChoices {
			t.Errorf("%s %s: status %d", r.Request.Method, r.Request.URL, r.StatusCode)
		}
		used[servertest.OperationOf(r.Request)] = true
		return nil
	}
	checked := httptest.NewServer(proxy)
	defer checked.Close()
	var script strings.Builder
	for line := range strings.Lines(string(content)) {
		if command, indented := strings.CutPrefix(line, "    "); indented {
			script.WriteString(strings.ReplaceAll(command, documentedAddress,
				strings.TrimPrefix(checked.URL, "http://")))
		}
	}
	if output, err := developersShell(t, o.directory, script.String()); err != nil {
		t.Errorf("%v\n%s", err, output)
	}
	for _, operation := range servertest.Operations() {
		if !used[operation] {
			t.Errorf("docs/curl.md has no command for %s", operation)
		}
	}
}
