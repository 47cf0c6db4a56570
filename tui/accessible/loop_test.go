package accessible

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui"
	"example.com/perks/tui/screen"
)

func TestBatchesRunCompletely(t *testing.T) {
	var out strings.Builder
	s := &session{out: &out, messages: make(chan message), done: make(chan struct{})}
	defer close(s.done)
	s.app = tui.New(tui.Options{After: s.later})
	say := func(text string) tea.Cmd { return screen.Tell(screen.Note, "%s", text) }
	s.run(tea.Batch(say("first"), nil, tea.Batch(say("second"), say("third"))))
	if err := s.waitForCommands(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.sayMessages()
	texts := strings.Fields(out.String())
	slices.Sort(texts)
	if !slices.Equal(texts, []string{"first", "second", "third"}) {
		t.Errorf("got\n%s", out.String())
	}
}

func TestPanicIsReportedAsError(t *testing.T) {
	kept := ""
	accounts := faulty{}
	err := Run(t.Context(), strings.NewReader(""), &strings.Builder{}, nil, tui.Options{
		Accounts: accounts, Crash: func(report string) (string, error) { kept = report; return "crash.txt", nil },
	})
	if err == nil || !strings.Contains(err.Error(), "crash.txt") || !strings.Contains(kept, "out of order") {
		t.Errorf("Run returned %v, report %q", err, kept)
	}
}

type faulty struct{ screen.Accounts }

func (faulty) Connect(string) (screen.Account, error) { panic("out of order") }

func TestOnlyChangesAreSaid(t *testing.T) {
	before := []string{"1. a. Chosen.", "2. b.", "3. c."}
	for name, test := range map[string]struct{ now, want []string }{
		"no change":      {before, nil},
		"cursor":         {[]string{"1. a.", "2. b. Chosen.", "3. c."}, []string{"2. b. Chosen."}},
		"new line":       {append([]string{"Problem."}, before...), []string{"Problem."}},
		"duplicate line": {append([]string{"2. b."}, before...), []string{"2. b."}},
		"new mark":       {[]string{"1. a. Chosen.", "2. b. Marked.", "3. c."}, []string{"2. b. Marked."}},
	} {
		if got := added(test.now, before); strings.Join(got, "|") != strings.Join(test.want, "|") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
