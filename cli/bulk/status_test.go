package bulk

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

// wantStatus compares the counts, and checks that looking changes nothing.
func (d *fixture) wantStatus(when string, want Status) {
	d.t.Helper()
	files := func() (text [2]string) {
		for i, suffix := range []string{"", ".journal"} {
			file, _ := os.ReadFile(d.options.resultsPath() + suffix)
			text[i] = string(file)
		}
		return text
	}
	before := files()
	s, _, _ := command.BufferedStreams("")
	got, err := d.options.status(d.t.Context(), s)
	if err != nil {
		d.t.Fatal(err)
	}
	want.Results, want.Undo = d.options.resultsPath(), Actions{}
	if want.OK > 0 {
		want.Undo[operation.Created] = want.OK
	}
	if got.Began == nil && !want.Running {
		d.t.Errorf("%s: nothing says when the run began", when)
	}
	got.Began = nil
	if diff := cmp.Diff(want, got); diff != "" {
		d.t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	if diff := cmp.Diff(before, files()); diff != "" {
		d.t.Errorf("%s: looking changed the files:\n%s", when, diff)
	}
}

func TestStatusCountsEveryRowOnce(t *testing.T) {
	s := newService()
	s.faults["b"] = []fault{{err: timedOut}}
	d := newFixture(t, s, "a", "b", "bad", "x,y")
	quiet, _, _ := command.BufferedStreams("")
	if _, err := d.options.status(t.Context(), quiet); output.ExitCode(err) != command.ExitNotFound {
		t.Errorf("before the run: %v", err)
	}
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	d.wantStatus("while a run is at work", Status{Rows: 4, NotTried: 4, Running: true, Codes: map[string]int64{}})
	if err := r.abandon(); err != nil {
		t.Fatal(err)
	}
	d.kill(nil)
	d.append(`{"up_to":3}`)
	d.wantStatus("after a run was killed", Status{Rows: 4, Unknown: 4, Codes: map[string]int64{interrupted: 4}})
	d.must()
	d.wantStatus("after the run", Status{Rows: 4, OK: 1, Failed: 2, Unknown: 1,
		Codes: map[string]int64{invalidRow: 2, "outcome_unknown": 1}})
	d.must()
	d.wantStatus("after it resumed", Status{Rows: 4, OK: 2, Failed: 2, Codes: map[string]int64{invalidRow: 2}})
	d.options.File = d.options.File + ".gone"
	d.options.Results = d.options.File[:len(d.options.File)-len(".gone")] + resultsSuffix
	d.wantStatus("without the file", Status{Rows: 4, OK: 2, Failed: 2, Codes: map[string]int64{invalidRow: 2}})
}
