package bulk

import (
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
	"example.com/perks/cli/session"
)

// predict does a dry run and returns its output for each row.
func (d *fixture) predict() ([]string, error) {
	d.t.Helper()
	s, out, _ := command.BufferedStreams("")
	in, err := openInput(d.options, s.In)
	if err != nil {
		return nil, err
	}
	defer in.close()
	dry := session.New(s, func(string) string { return "" }, "test")
	dry.Output = output.Options{Format: output.JSONL, Fields: d.fields}
	err = newRun(d.options, d.service.work(), in, s).dryRun(d.t.Context(), dry, markOf("make", "here"))
	return strings.Split(strings.TrimSpace(out.String()), "\n"), err
}

func TestDryRunLimitsTheRateOfRequestsOnly(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	d.fields = []string{"row", "outcome", "code"}
	d.write("a", "b", "bad", "bad", "bad", "c")
	d.options.Rate = 1e-6 // one request, then none for days
	lines, err := d.predict()
	want := `{"row":2,"outcome":"ok","code":""}
{"row":3,"outcome":"ok","code":""}
{"row":4,"outcome":"failed","code":"invalid_row"}
{"row":5,"outcome":"failed","code":"invalid_row"}
{"row":6,"outcome":"failed","code":"invalid_row"}
{"row":7,"outcome":"ok","code":""}`
	if got := strings.Join(lines, "\n"); got != want || err == nil || err.Error() != "3 of 6 rows would fail." {
		t.Errorf("%v, and\n%s", err, got)
	}
}

// TestDryRunStopsWhileRowsAreRead is for the race detector: it reaches MaxErrors long before the last row is read.
func TestDryRunStopsWhileRowsAreRead(t *testing.T) {
	names := make([]string, 2000)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	names[0] = "bad"
	d := newFixture(t, newService(), names...)
	d.options.MaxErrors, d.options.Concurrency = 1, 64
	if lines, err := d.predict(); len(lines) != 1 || err == nil || err.Error() != "1 of 1 row would fail." {
		t.Errorf("%v, and %q", err, lines)
	}
}

// TestDryRunReportsRepeatedRows has rows about one record. If it can be made only once, the others fail.
func TestDryRunReportsRepeatedRows(t *testing.T) {
	for _, test := range []struct {
		once bool
		want string
	}{
		{false, "It would be made. Line 2, about the same record, comes first."},
		{true, "Line 2 makes it already."},
	} {
		s := newService()
		s.once = test.once
		d := newFixture(t, s, "a", "b", "a", "a")
		d.fields = []string{"row", "message"}
		lines, err := d.predict()
		want := []string{`{"row":2,"message":"It would be made."}`, `{"row":3,"message":"It would be made."}`}
		for _, row := range []string{"4", "5"} {
			want = append(want, `{"row":`+row+`,"message":"`+test.want+`"}`)
		}
		if diff := cmp.Diff(want, lines); diff != "" || (err != nil) != test.once {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}
