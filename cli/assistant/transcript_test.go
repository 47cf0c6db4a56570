package assistant_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/cli/session"
)

var update = flag.Bool("update", false, "rewrite the transcript in docs/assistants.md")

const call = "    > " // begins a call in the document; its result follows, indented

// TestTheTranscriptIsTrue makes the calls of the document, and compares their results.
func TestTheTranscriptIsTrue(t *testing.T) {
	const path = "../../docs/assistants.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t)
	s := f.serve(true)
	n := names{f: f, examples: map[string]string{}}
	var replayed strings.Builder
	lines := strings.SplitAfter(string(text), "\n")
	for i := 0; i < len(lines); {
		line := lines[i]
		replayed.WriteString(line)
		i++
		if !strings.HasPrefix(line, call) {
			continue
		}
		tool, raw, _ := strings.Cut(strings.TrimSpace(line[len(call):]), " ")
		with := args{}
		if err := json.Unmarshal([]byte(n.real(raw)), &with); err != nil {
			t.Fatal(line, err)
		}
		got, _ := s.try(tool, with)
		replayed.WriteString(n.example(t, got))
		for i < len(lines) && strings.HasPrefix(lines[i], "    ") && !strings.HasPrefix(lines[i], call) {
			i++
		}
	}
	if *update {
		if err := os.WriteFile(path, []byte(replayed.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(text), replayed.String()); diff != "" {
		t.Errorf("the transcript differs. Run go test ./cli/assistant -run Transcript -update, and read the diff\n%s", diff)
	}
}

// names replace what is another at each run by examples.
type names struct {
	f        *fixture
	examples map[string]string // by the real id
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`)
	etags = regexp.MustCompile(`"if_match":"\\"[^"]+\\""`)
)

// example is a result in the document.
func (n names) example(t *testing.T, text string) string {
	t.Helper()
	text = uuids.ReplaceAllStringFunc(text, func(id string) string {
		if n.examples[id] == "" {
			n.examples[id] = fmt.Sprintf("00000000-0000-7000-8000-%012d", len(n.examples)+1)
		}
		return n.examples[id]
	})
	text = strings.NewReplacer(n.f.URL, "https://perks.example/v2", n.f.env[session.EnvClientID], "desk").Replace(text)
	text = times.ReplaceAllString(text, "2026-03-02T09:00:00Z")
	text = etags.ReplaceAllString(text, `"if_match":"\"1f2e3d\""`)
	var out bytes.Buffer
	if err := json.Indent(&out, []byte(text), "    ", "  "); err != nil {
		t.Fatal(err)
	}
	return "    " + out.String() + "\n"
}

// real replaces the ids of examples in a call.
func (n names) real(text string) string {
	for id, example := range n.examples {
		text = strings.ReplaceAll(text, example, id)
	}
	return text
}
