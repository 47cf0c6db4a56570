package bulk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
	"example.com/perks/cli/output"
)

func TestRowsAboutOneSubjectRunInOrder(t *testing.T) {
	s := newService()
	s.started, s.release = make(chan string), make(chan struct{})
	d := newFixture(t, s, "a", "a", "b", "a", "c")
	d.options.Concurrency = 3
	done := make(chan error)
	go func() {
		_, err := d.run(t.Context())
		done <- err
	}()
	first := []string{<-s.started, <-s.started, <-s.started}
	slices.Sort(first)
	if got := strings.Join(first, ""); got != "abc" {
		t.Errorf("%s run concurrently, want abc", got)
	}
	close(s.release)
	for range 2 {
		if got := <-s.started; got != "a" {
			t.Errorf("%s ran next, want a", got)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.want("2 ok a-1", "3 ok a-2", "4 ok b-1", "5 ok a-3", "6 ok c-1")
}

// TestInterruptFinishesRowsInProgress interrupts a run during two rows: they finish, and no other starts.
func TestInterruptFinishesRowsInProgress(t *testing.T) {
	s := newService()
	s.started, s.release = make(chan string), make(chan struct{})
	d := newFixture(t, s, "a", "b", "a", "c", "d")
	d.options.Concurrency = 2
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := d.run(ctx)
		done <- err
	}()
	<-s.started
	<-s.started
	interrupt()
	close(s.release)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the run returned %v", err)
	}
	d.want("2 ok a-1", "3 ok b-1")
	d.wantNoJournal()
	s.started = nil
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok a-2", "5 ok c-1", "6 ok d-1")
}

func TestAnInterruptedRunSaysWhatItWaitsFor(t *testing.T) {
	s := newService()
	s.started, s.release = make(chan string), make(chan struct{})
	d := newFixture(t, s, "a")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 9)
	r.streams.Err = command.EachLine(func(line string) { told <- line })
	ctx, interrupt := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.work(ctx) }()
	<-s.started
	interrupt()
	if line := <-told; !strings.Contains(line, "Ctrl+C again stops at once") {
		t.Errorf("it says %q", line)
	}
	close(s.release)
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the run returned %v", err)
	}
	if err := r.runState.close(); err != nil {
		t.Fatal(err)
	}
}

func TestSilentInputDoesNotBlockAnInterrupt(t *testing.T) {
	s := newService()
	d := newFixture(t, s, "a")
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	r.input.from = in
	fmt.Fprintln(out, "name\na")
	ctx, interrupt := context.WithCancel(t.Context())
	s.started = make(chan string)
	done := make(chan error)
	go func() { done <- r.work(ctx) }()
	<-s.started
	interrupt()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the run returned %v", err)
	}
	if err := r.runState.close(); err != nil {
		t.Fatal(err)
	}
	d.want("2 ok a-1")
}

// TestNoRowStartsAfterTheRunStopped reads rows after a run was stopped: none may be sent or be in the journal.
func TestNoRowStartsAfterTheRunStopped(t *testing.T) {
	s := newService()
	d := newFixture(t, s, "a")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	r.batch.Begin(t.Context())
	r.batch.Stop(errTooMany)
	r.input.from = strings.NewReader("name\na\nb\nb\n") // late rows of a silent input
	ended := make(chan struct{})
	rows := func(yield func(*operation.Row, error) bool) {
		defer close(ended)
		r.rows()(yield)
	}
	err = r.batch.Run(rows, func() {})
	if <-ended; err != errTooMany || r.journal.upTo > 0 {
		t.Errorf("%v with rows up to %d allowed", err, r.journal.upTo)
	}
	if len(s.sent) > 0 {
		t.Errorf("sent %v", s.sent)
	}
	if err := r.runState.close(); err != nil {
		t.Fatal(err)
	}
}

// TestRowReadDuringTheStopIsNotStarted stops a run between the reading of a row and its start.
func TestRowReadDuringTheStopIsNotStarted(t *testing.T) {
	for _, names := range [][]string{{"a"}, {"b", "b"}} {
		s := newService()
		d := newFixture(t, s, names...)
		r, err := d.open()
		if err != nil {
			t.Fatal(err)
		}
		parse, left := r.task.Parse, len(names)
		r.task.Parse = func(row rows.Row) (operation.Task, error) {
			if left--; left == 0 {
				r.batch.Stop(errTooMany)
			}
			return parse(row)
		}
		if err := r.work(t.Context()); !errors.Is(err, errTooMany) {
			t.Errorf("the run returned %v", err)
		}
		if got := len(s.sent); got > len(names)-1 {
			t.Errorf("sent %d of %v", got, names)
		}
		if err := r.runState.close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMaxErrorsStopsTheRun(t *testing.T) {
	s := newService()
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("n%d", i))
		s.faults[names[i]] = []fault{{err: refused}}
	}
	d := newFixture(t, s, names...)
	d.options.MaxErrors = 3
	_, err := d.run(t.Context())
	if !errors.Is(err, errTooMany) || len(s.sent) != 3 {
		t.Errorf("%v after %v", err, s.sent)
	}
	d.mustUnlimited()
	if got := len(d.results()); got != 20 || s.made["n0"] == nil {
		t.Errorf("%d results, made %v", got, s.made)
	}
}

// mustUnlimited runs to the end without a limit on failures.
func (d *fixture) mustUnlimited() {
	d.options.MaxErrors = 0
	d.must()
}

func TestFailedRowsAreInputForAnotherRun(t *testing.T) {
	for name, test := range map[string]struct{ input, want string }{
		"rows.csv": {
			"name\na\nb\n\"bad\"\nc\nx,y\nq\"uote\n\"open,\"\"\n\nz\n",
			"name,failed_because\nb,Already redeemed.\nbad,The name is bad.\n" +
				"x,y,\"has 2 cells, but the header names 1 columns\"\n" +
				"q\"uote,\"has a quote inside a cell that does not begin with one; put the cell in quotes and write the inner quote twice\"\n" +
				"\"open,\"\"\n\nz,\"has a quote that is never closed, so the lines up to 10 belong to it\"\n",
		},
		"rows.jsonl": {
			"{\"n\":\"a\"}\n {\"n\" : \"b\"}\nno\n{\"m\":1e3,\"failed_because\":\"before\"}\n",
			"{\"n\":\"b\",\"failed_because\":\"Already redeemed.\"}\n" +
				"{\"unreadable_line\":\"no\",\"failed_because\":\"is not valid JSON: column 2 has an unexpected \\\"o\\\"\"}\n" +
				"{\"m\":1e3,\"failed_because\":\"Already redeemed.\"}\n",
		},
	} {
		s := newService()
		for _, row := range []string{"b", `{"n" : "b"}`, `{"m":1e3,"failed_because":"before"}`} {
			s.faults[row] = []fault{{err: refused}}
		}
		s.faults["c"] = []fault{{err: timedOut}} // unknown, for another run to check: not a failure
		d := newFixture(t, s)
		d.options.File = filepath.Join(t.TempDir(), name)
		d.options.Failed = d.options.File + ".failed"
		if err := os.WriteFile(d.options.File, []byte(test.input), 0o600); err != nil {
			t.Fatal(err)
		}
		d.must()
		got, err := os.ReadFile(d.options.Failed)
		if string(got) != test.want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A spreadsheet may save the file with other separators between two runs, because a row is what its cells say.
func TestSeparatorsDoNotChangeTheRows(t *testing.T) {
	d := newFixture(t, newService())
	write := func(text string) {
		if err := os.WriteFile(d.options.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("name,note\na,\"1; 2\"\nb,\nbad,\n")
	d.kill([]string{"a", "b"})
	write("name;note\na;\"1; 2\"\nb;\nbad;\nx,y;z;w\n")
	d.options.Failed = d.options.File + ".failed"
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 failed invalid_row", "5 failed invalid_row")
	if got := d.service.all(); got != "a:1 b:1" {
		t.Error(got)
	}
	got, err := os.ReadFile(d.options.Failed)
	if want := "name;note;failed_because\nbad;;The name is bad.\nx,y;z;w;\"has 3 cells, but the header names 2 columns\"\n"; string(got) != want || err != nil {
		t.Errorf("failed rows %q, %v", got, err)
	}
}

// A row that cannot be read stays unreadable in the file of failed rows, and does not affect the rows after it.
func TestUnreadableRowsStayUnreadableInFailedRows(t *testing.T) {
	d := newFixture(t, newService())
	d.options.Failed = filepath.Join(t.TempDir(), "failed.csv")
	for _, broken := range []string{"x,y", "q\"uote", "\"after\" it", "\"open", "\"open \"\"", "\"open\n\nb\"\"",
		"\"open,\"\"", ",,,\"\"\""} {
		text := "name\nbad\n" + broken
		for range 3 { // then with the failed rows as input, twice
			if err := os.WriteFile(d.options.File, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			_ = os.Remove(d.options.File + ".results.jsonl")
			d.must()
			got, err := os.ReadFile(d.options.Failed)
			if err != nil {
				t.Fatal(err)
			}
			var outcomes []string
			for row, err := range rows.NewReader(strings.NewReader(string(got)+"c,behind\n"), rows.CSV).Rows() {
				if err != nil {
					outcomes = append(outcomes, "broken")
					continue
				}
				outcomes = append(outcomes, row.Cells[0])
			}
			if strings.Join(outcomes, " ") != "bad broken c" {
				t.Errorf("%q became %q, which has %v", text, got, outcomes)
			}
			if text != "name\nbad\n"+broken && withoutReason(text) != withoutReason(string(got)) {
				t.Errorf("another run wrote %q for %q", got, text)
			}
			text = string(got)
		}
	}
}

// withoutReason cuts off the reason of the last row, which may change.
func withoutReason(text string) string { return text[:strings.LastIndex(text, `,"`)] }

func TestShortenedFileIsRefused(t *testing.T) {
	d := newFixture(t, newService(), "a", "b", "bad")
	d.must()
	d.write("a", "b") // the last row failed
	d.must()
	d.write("a")
	d.wantRefused("ends before line 3, and " + d.options.resultsPath() + " says that this row is done")
}

func TestFileWithoutRowsIsRefused(t *testing.T) {
	for text, name := range map[string]string{
		"": "rows.csv", "demo-000283,z1\n": "rows.csv", "foo,bar": "rows.csv", strings.Repeat("\x00", 1000): "rows.csv",
		"\n\n": "rows.jsonl", " ": "rows.jsonl",
	} {
		d := newFixture(t, newService())
		d.options.File = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(d.options.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		want := "has no rows"
		if text == "" {
			want = "is empty: its first line must name the columns"
		}
		d.wantRefused(want)
		d.options.AllowEmpty = true
		if _, err := d.run(t.Context()); err != nil {
			t.Errorf("%q with AllowEmpty: %v", text, err)
		}
	}
}

func TestStreamWithoutRowsIsRefused(t *testing.T) {
	for _, allow := range []bool{false, true} {
		d := newFixture(t, newService(), "a")
		d.options.AllowEmpty = allow
		r, err := d.open()
		if err != nil {
			t.Fatal(err)
		}
		r.input.from, r.input.allowEmpty = strings.NewReader("name\n"), allow
		if err := r.work(t.Context()); output.ExitCode(err) != map[bool]int{false: 2, true: 0}[allow] {
			t.Errorf("allowed %t: %v", allow, err)
		}
		if err := r.abandon(); err != nil {
			t.Error(err)
		}
	}
}

func TestUnreadableFileIsWrongUsage(t *testing.T) {
	for _, text := range []string{"\xff\xfea\x00", "a,a\n1,2\n", "a,,b\n1,2,3\n", "\"a\n"} {
		d := newFixture(t, newService())
		if err := os.WriteFile(d.options.File, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		d.wantRefused("cannot be read as csv")
	}
}

// socket returns the path of a file that is not regular, and that a test may safely replace.
func socket(t *testing.T) string {
	dir, err := os.MkdirTemp("", "s") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	listener, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return filepath.Join(dir, "s")
}

func TestResultsNeedTheirOwnRegularFile(t *testing.T) {
	d := newFixture(t, newService(), "a")
	for _, path := range []string{socket(t), t.TempDir()} {
		d.options.Results = path
		d.wantRefused("is not a regular file")
	}
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := openRunState(Flags{Results: file.Name()}, file, 1, d.now); err == nil ||
		!strings.Contains(err.Error(), "is standard output") {
		t.Errorf("standard output under another name: %v", err)
	}
	d.options.Results, d.options.Failed = "", "-"
	d.wantRefused("--failed needs a file")
	d.options.Failed = filepath.Join(t.TempDir(), "failed.jsonl")
	d.wantRefused("Name it " + strings.TrimSuffix(d.options.Failed, "jsonl") + "csv")
}

func TestRateLimitsRowsAboutOneSubject(t *testing.T) {
	d := newFixture(t, newService(), "a", "a", "a", "a")
	d.options.Rate = 100
	start := time.Now()
	d.must()
	if took := time.Since(start); took < 30*time.Millisecond {
		t.Errorf("four rows at 100 a second took %s", took)
	}
}

func TestFindFormat(t *testing.T) {
	for _, test := range []struct{ file, flag, text, want string }{
		{"x.csv", "", "{", "csv"}, {"x.JSONL", "", "", "jsonl"}, {"x.ndjson", "", "", "jsonl"},
		{"x", "", "\ufeff \n{}", "jsonl"},
		{"x", "", "a,b", "csv"}, {"x", "", "", "csv"}, {"x.csv", "jsonl", "", "jsonl"}, {"x.json", "", "", ""},
		{"x", "xml", "", ""},
	} {
		path := filepath.Join(t.TempDir(), test.file)
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		in, err := openInput(Flags{File: path, Format: test.flag}, nil)
		if (err == nil) != (test.want != "") || err == nil && string(in.format) != test.want {
			t.Errorf("%+v: %+v, %v", test, in, err)
		}
		if err == nil {
			in.close()
		}
	}
}

// TestRowIsHeldBackBehindAnUnknownOutcome loses the reply to the first of two rows about one record.
func TestRowIsHeldBackBehindAnUnknownOutcome(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: timedOut}}
	d := newFixture(t, s, "a", "a", "b")
	d.options.Failed = filepath.Join(t.TempDir(), "failed.csv")
	d.must()
	d.want("2 unknown outcome_unknown", "3 failed held_back", "4 ok b-1")
	if text, err := os.ReadFile(d.options.Failed); len(text) > 0 || err != nil {
		t.Errorf("a row that was held back is in the failed rows: %q, %v", text, err)
	}
	d.must()
	d.want("2 ok a-1", "3 ok a-2", "4 ok b-1")
}

func TestScanOfLongFileIsInterrupted(t *testing.T) {
	d := newFixture(t, newService(), slices.Repeat([]string{"a"}, 5000)...)
	in, err := openInput(d.options, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	if total, _, err := in.scan(ctx, streamResults(nil), &journal{}); !errors.Is(err, context.Canceled) ||
		total >= 5000 {
		t.Errorf("read %d rows, %v", total, err)
	}
}
