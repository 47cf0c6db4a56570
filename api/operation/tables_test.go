package operation

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the tables in docs/architecture.md")

// The names of states and events in docs/architecture.md.
var (
	eventNames = []string{"accepted", "replayed", "refused", "unused", "taken", "silent", "lost", "found", "match",
		"absent",
		"unread", "unconfirmed", "passed", "given up", "reopened"}
	stepNames = []string{"", "look up", "wait", "confirm", "resend"}

	rowStateNames = []string{"untried", "sending", "maybe sent", "resuming", "failed", "unknown", "done"}
	rowEventNames = []string{"allowed", "invalid", "held", "confirmed", "refused", "lost", "left", "killed"}

	editStateNames = []string{"typing", "typing in doubt", "refreshing", "reviewing", "merging", "merging draft",
		"sending",
		"in doubt", "saved", "ended"}
	editEventNames = []string{"", "typed", "went back", "gave up", "confirmed", "decided", "found invalid",
		"found nothing",
		"found outdated", "found change", "found saved", "found part", "found unsaved", "found refused",
		"found failure",
		"found doubt", "found conflict", "found same"}
)

// docs/architecture.md shows the three tables as they are.
func TestArchitectureShowsTheTables(t *testing.T) {
	shown := table("an attempt", int(Made)+1, eventNames, func(state, event int) (from, to string) {
		next, step := State(state).Next(Event(event))
		if to = next.String(); stepNames[step] != "" {
			to += ", " + stepNames[step]
		}
		if next == State(state) && step == Stop {
			to = ""
		}
		return State(state).String(), to
	}) + table("an edit", int(editStates), editEventNames, func(state, event int) (from, to string) {
		next, follows := editTable()[state][EditEvent(event)]
		if follows {
			to = editStateNames[next]
		}
		return editStateNames[state], to
	}) + table("a row of a batch", int(RowDone)+1, rowEventNames, func(state, event int) (from, to string) {
		if next, follows := rowTable()[RowState(state)][RowEvent(event)]; follows {
			to = rowStateNames[next]
		}
		return rowStateNames[state], to
	})
	const path, begin, end = "../../docs/architecture.md", "<!-- tables -->\n", "<!-- end of tables -->\n"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), begin)
	old, after, found := strings.Cut(rest, end)
	switch {
	case !found:
		t.Fatalf("%s has no place for the tables", path)
	case *update:
		if err := os.WriteFile(path, []byte(before+begin+shown+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case old != shown:
		t.Errorf("%s differs from the tables of the engine: go test ./api/operation -update", path)
	}
}

// table has a line for each state, with the events that lead to each next state.
func table(of string, states int, events []string, next func(state, event int) (from, to string)) string {
	text := fmt.Sprintf("\n| %s is | and |\n|---|---|\n", of)
	for state := range states {
		var order []string
		by := map[string][]string{}
		name := ""
		for event, title := range events {
			from, to := next(state, event)
			if name = from; to == "" {
				continue
			}
			if by[to] == nil {
				order = append(order, to)
			}
			by[to] = append(by[to], title)
		}
		lines := make([]string, len(order))
		for i, to := range order {
			lines[i] = strings.Join(by[to], ", ") + " → **" + to + "**"
		}
		if len(lines) == 0 {
			lines = []string{"stays"}
		}
		text += fmt.Sprintf("| %s | %s |\n", name, strings.Join(lines, "<br>"))
	}
	return text + "\n"
}
