package bulk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/operation"
	"example.com/perks/api/rows"
	"example.com/perks/cli/command"
)

// fixture runs a batch in a temporary directory, with a fixed clock that skips every wait.
type fixture struct {
	t       *testing.T
	service *service
	options Flags
	now     time.Time
	waits   []time.Duration
	fields  []string // of dry runs
}

func newFixture(t *testing.T, service *service, names ...string) *fixture {
	d := &fixture{t: t, service: service, now: time.Now().Add(time.Minute)}
	d.options = Flags{File: filepath.Join(t.TempDir(), "rows.csv"), Concurrency: 1}
	d.write(names...)
	return d
}

func (d *fixture) write(names ...string) {
	d.t.Helper()
	if err := os.WriteFile(d.options.File, []byte("name\n"+strings.Join(names, "\n")+"\n"), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// run processes the input and closes everything, as a process that exits normally.
func (d *fixture) run(ctx context.Context) (*run, error) {
	d.t.Helper()
	r, err := d.open()
	if err != nil {
		return nil, err
	}
	err = r.work(ctx)
	return r, errors.Join(err, r.runState.close(), d.finish(r))
}

func (d *fixture) finish(r *run) error {
	if r.failedRows == nil {
		return nil
	}
	return r.failedRows.finish(r.partial)
}

func (d *fixture) open() (*run, error) {
	d.t.Helper()
	s, _, _ := command.BufferedStreams("")
	in, err := openInput(d.options, s.In)
	if err != nil {
		return nil, err
	}
	d.t.Cleanup(func() { in.close() })
	r := newRun(d.options, d.service.work(), in, s)
	r.batch.Now = func() time.Time { return d.now }
	r.batch.Wait = func(ctx context.Context, wanted time.Duration) error {
		d.service.mu.Lock()
		defer d.service.mu.Unlock()
		d.waits = append(d.waits, wanted)
		return ctx.Err()
	}
	if r.runState, err = openRunState(d.options, s.Out, markOf("make", "here"), d.now); err != nil {
		return nil, err
	}
	if err := r.begin(d.t.Context()); err != nil {
		return nil, errors.Join(err, r.abandon())
	}
	return r, nil
}

// results returns the lines of the results file as "row outcome id-or-code".
func (d *fixture) results() []string {
	d.t.Helper()
	text, err := os.ReadFile(d.options.resultsPath())
	if err != nil {
		d.t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(text)) {
		r, _, _, err := parseResult([]byte(line))
		if err != nil {
			d.t.Fatalf("%v: %s", err, line)
		}
		found = append(found, fmt.Sprintf("%d %s %s%s", r.Row, r.Outcome, r.ID, r.Code))
	}
	return found
}

func (d *fixture) want(results ...string) {
	d.t.Helper()
	got := d.results()
	slices.Sort(got)
	slices.Sort(results)
	if diff := cmp.Diff(results, got); diff != "" {
		d.t.Errorf("results (-want +got):\n%s", diff)
	}
}

func (d *fixture) wantNoJournal() {
	d.t.Helper()
	if _, err := os.Stat(d.options.resultsPath() + ".journal"); !os.IsNotExist(err) {
		d.t.Errorf("the journal still exists: %v", err)
	}
}

func TestEachRowIsDoneOnce(t *testing.T) {
	d := newFixture(t, newService(), "a", "b", "bad", "c")
	d.options.Concurrency = 4
	if _, err := d.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.want("2 ok a-1", "3 ok b-1", "4 failed invalid_row", "5 ok c-1")
	d.wantNoJournal()
	if got := d.service.all(); got != "a:1 b:1 c:1" {
		t.Error(got)
	}
	sent := len(d.service.sent)
	r, err := d.run(t.Context())
	if err != nil || len(d.service.sent) != sent || r.counts.Skipped != 3 {
		t.Errorf("second run: %v, %v, %+v", err, d.service.sent, r.counts)
	}
	d.want("2 ok a-1", "3 ok b-1", "4 failed invalid_row", "5 ok c-1")
}

// TestFaultsOfARow checks the requests and the result for each sequence of faults.
func TestFaultsOfARow(t *testing.T) {
	unavailable := &client.Unreachable{Address: "http://s", Err: errors.New("connection refused")}
	for name, test := range map[string]struct {
		left     []fault
		requests string // s: send, l: lookup
		result   string
		made     int
		stopped  error
	}{
		"none":         {nil, "s", "2 ok a-1", 1, nil},
		"refused":      {[]fault{{err: refused}}, "s", "2 failed already_redeemed", 0, nil},
		"reply lost":   {[]fault{{err: broken, late: true}}, "sl", "2 ok a-1", 1, nil},
		"request lost": {[]fault{{err: broken}}, "slls", "2 ok a-1", 1, nil},
		"two requests lost": {[]fault{{err: broken}, {err: broken}}, "sllslls", "2 ok a-1", 1,
			nil},
		"three requests lost": {[]fault{{err: broken}, {err: broken}, {err: broken}}, "sllsllsll",
			"2 unknown outcome_unknown", 0, nil},
		"timeout, work done": {[]fault{{err: timedOut, late: true}}, "sl", "2 ok a-1", 1, nil},
		"timeout, nothing found": {[]fault{{err: timedOut}}, "sll", "2 unknown outcome_unknown", 0,
			nil},
		"lost, then refused because it was done": {[]fault{{err: broken}, {err: refused, late: true}}, "sllsl",
			"2 ok a-1", 1, nil},
		"lost, then refused": {[]fault{{err: broken}, {err: refused}}, "sllsl",
			"2 failed already_redeemed", 0, nil},
		"lost, lookup finds no record": {[]fault{{err: broken, lookUp: nil},
			{lookUp: &client.Error{Status: 404}}}, "slls", "2 ok a-1", 1, nil},
		"lost, lookup fails": {[]fault{{err: broken}, {lookUp: unavailable}}, "sl",
			"2 unknown outcome_unknown", 0, unavailable},
		"lost, lookup forbidden": {[]fault{{err: broken},
			{lookUp: &client.Error{Status: 403, Code: api.CodeForbidden}}}, "sl", "2 unknown outcome_unknown", 0, nil},
		"lost, lookup answered by a proxy": {[]fault{{err: broken},
			{lookUp: &client.Error{Status: 404, NotFromService: true}}}, "sl", "2 unknown outcome_unknown", 0, nil},
		"lost, then refused, lookup fails": {[]fault{{err: broken}, {err: refused}, {lookUp: unavailable}},
			"sllsl", "2 unknown outcome_unknown", 0, unavailable},
		"lost, then logged out": {[]fault{{err: broken}, {err: loggedOut}}, "slls",
			"2 unknown outcome_unknown", 0, loggedOut},
		"lost, then service unreachable": {[]fault{{err: broken}, {err: unreachable}}, "slls",
			"2 unknown outcome_unknown", 0, unreachable},
		"not sent":   {[]fault{{err: unreachable}}, "s", "", 0, unreachable},
		"logged out": {[]fault{{err: loggedOut}}, "s", "", 0, loggedOut},
		"not logged in": {[]fault{{err: &command.NotLoggedIn{Message: "x"}}}, "s", "", 0,
			&command.NotLoggedIn{Message: "x"}},
		"throttled for too long": {[]fault{{err: &client.Error{Status: 429,
			Code: api.CodeRateLimited}}}, "s", "", 0, &client.Error{Status: 429, Code: api.CodeRateLimited}},
		"forbidden": {[]fault{{err: &client.Error{Status: 403, Code: api.CodeForbidden}}},
			"s", "2 failed forbidden", 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			s.faults["a"] = test.left
			d := newFixture(t, s, "a")
			_, err := d.run(t.Context())
			if (err == nil) != (test.stopped == nil) || err != nil &&
				!strings.Contains(err.Error(), test.stopped.Error()) {
				t.Errorf("the run returned %v, want %v", err, test.stopped)
			}
			if test.result == "" {
				d.want()
			} else {
				d.want(test.result)
			}
			for i, part := range strings.SplitAfter(test.requests, "ll")[1:] {
				if i >= len(d.waits) || d.waits[i] != operation.SettleDelay {
					t.Errorf("waited %v between two lookups, then sent %s", d.waits, part)
				}
			}
			if got := s.requests(); got != test.requests || len(s.made["a"]) != test.made {
				t.Errorf("requests %s, made %d; want %s, %d", got, len(s.made["a"]), test.requests, test.made)
			}
			d.wantNoJournal()
		})
	}
}

// TestFoundOutcomeIsConfirmedByItsKey loses replies while other clients do the same work.
func TestFoundOutcomeIsConfirmedByItsKey(t *testing.T) {
	for name, test := range map[string]struct {
		honours  bool
		left     []fault
		requests string
		result   string
		made     int
	}{
		"reply lost, keys honoured": {true, []fault{{err: broken, late: true}}, "sls", "2 ok a-1",
			1},
		"timeout, keys honoured": {true, []fault{{err: timedOut, late: true}}, "sls",
			"2 ok a-1", 1},
		"done by another, keys honoured": {true, []fault{{err: broken, other: true}}, "sls",
			"2 failed already_redeemed", 1},
		"reply lost, keys ignored": {false, []fault{{err: broken, late: true}}, "sl",
			"2 unknown ambiguous", 1},
		"done by another, keys ignored": {false, []fault{{err: broken, other: true}}, "sl",
			"2 unknown ambiguous", 1},
		"lost, refused, then done by another": {false, []fault{{err: broken}, {err: refused, other: true}},
			"sllsl", "2 unknown ambiguous", 1},
		"done by another, lost three times": {true,
			[]fault{{err: broken, other: true}, {err: broken}, {err: broken}}, "slslsl", "2 unknown outcome_unknown",
			1},
		"request lost, no other client": {false, []fault{{err: broken}}, "slls", "2 ok a-1", 1},
		"lost, then refused with an unused key": {true, []fault{{err: broken}, {err: keyUnused}}, "slls",
			"2 failed already_redeemed", 0},
		"lost, refused with an unused key, keys ignored": {false, []fault{{err: broken}, {err: keyUnused, other: true}},
			"sllsl", "2 unknown ambiguous", 1},
		"lost, then refused, keys ignored": {false, []fault{{err: broken}, {err: refused}}, "sllsl",
			"2 failed already_redeemed", 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			s.honours, s.shared, s.faults["a"] = test.honours, true, test.left
			d := newFixture(t, s, "a")
			d.must()
			d.want(test.result)
			if got := s.requests(); got != test.requests || len(s.made["a"]) != test.made {
				t.Errorf("requests %s, made %v; want %s, %d", got, s.made["a"], test.requests, test.made)
			}
			d.wantNoJournal()
		})
	}
}

// TestResume checks the requests for each state of the previous run.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		before   func(d *fixture)
		honours  bool
		requests string
		results  []string
		waits    bool
	}{
		"no previous run": {func(*fixture) {}, false, "ss", []string{"2 ok a-1", "3 ok b-1"}, false},
		"a failure in a finished run": {func(d *fixture) {
			d.service.faults["a"] = []fault{{err: refused}}
			d.must()
		}, false, "s", []string{"2 ok a-1", "3 ok b-1"}, false},
		"an unknown outcome in a finished run": {func(d *fixture) {
			d.service.faults["a"] = []fault{{err: timedOut}}
			d.must()
		}, false, "ls", []string{"2 ok a-1", "3 ok b-1"}, false},
		"killed before the first row": {func(d *fixture) { d.kill(nil) }, false, "lsls",
			[]string{"2 ok a-1", "3 ok b-1"}, true},
		"killed during a row that was done": {func(d *fixture) {
			d.kill([]string{"a"})
		}, false, "lls", []string{"2 ok a-1", "3 ok b-1"}, true},
		"killed, keys honoured": {func(d *fixture) {
			d.kill([]string{"a"})
			d.append("keys")
		}, true, "ss", []string{"2 ok a-1", "3 ok b-1"}, false},
		"killed, keys expired": {func(d *fixture) {
			d.kill([]string{"a"})
			d.append("keys")
			d.now = d.now.Add(21 * time.Hour)
		}, true, "lls", []string{"2 ok a-1", "3 ok b-1"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService()
			s.honours = test.honours
			d := newFixture(t, s, "a", "b")
			test.before(d)
			s.sent, s.lookedUp, s.order, d.waits = nil, nil, nil, nil
			if _, err := d.run(t.Context()); err != nil {
				t.Fatal(err)
			}
			// While one row waits another one runs, so their order varies.
			if got := strings.Count(s.requests(), "l"); got != strings.Count(test.requests, "l") ||
				len(s.requests()) != len(test.requests) {
				t.Errorf("requests %s, want %s", s.requests(), test.requests)
			}
			d.want(test.results...)
			if got := s.all(); got != "a:1 b:1" {
				t.Error(got)
			}
			if (len(d.waits) > 0) != test.waits {
				t.Errorf("waited %v", d.waits)
			}
			d.wantNoJournal()
		})
	}
}

// must runs to the end of the input, and fails the test on an error.
func (d *fixture) must() {
	d.t.Helper()
	if _, err := d.run(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// kill leaves the state of a run that was killed during its rows: the given ones are done, without results.
func (d *fixture) kill(done []string) {
	d.t.Helper()
	r, err := d.open()
	if err != nil {
		d.t.Fatal(err)
	}
	r.journal.isRepeatable = !d.service.careful
	if err := r.journal.allow(2); err != nil {
		d.t.Fatal(err)
	}
	for _, name := range done {
		row := d.row(name)
		made := &task{d.service, name}
		if _, _, err := made.Send(d.t.Context(), nil, r.batchID.key(row.Line, contentOf(row))); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := errors.Join(r.results.abandon(), r.journal.close(false)); err != nil {
		d.t.Fatal(err)
	}
	d.now = time.Now()
}

// row returns the row of the input with the name.
func (d *fixture) row(name string) rows.Row {
	d.t.Helper()
	file, err := os.Open(d.options.File)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for row, err := range rows.NewReader(file, rows.CSV).Rows() {
		if err == nil && row.Cells[0] == name {
			return row
		}
	}
	d.t.Fatalf("no row %s", name)
	return rows.Row{}
}

// append adds an entry to the journal of a killed run.
func (d *fixture) append(what string) {
	d.t.Helper()
	file, err := os.OpenFile(d.options.resultsPath()+".journal", os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	fmt.Fprintf(file, "{%q:true}\n", what)
}

// TestNoTwoRowsShareAnOutcome loses the replies to two equal rows.
func TestNoTwoRowsShareAnOutcome(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: broken, late: true}, {err: broken, late: true}}
	d := newFixture(t, s, "a", "a")
	d.must()
	d.want("2 ok a-1", "3 ok a-2")
}

// TestWaitingRowFreesItsSlot loses a request on the only slot, which waits until the next row is sent.
func TestWaitingRowFreesItsSlot(t *testing.T) {
	s := newService()
	s.faults["a"] = []fault{{err: broken}}
	d := newFixture(t, s, "a", "b")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	s.started = make(chan string, 3)
	r.batch.Wait = func(context.Context, time.Duration) error {
		for name := range s.started {
			if name == "b" {
				return nil
			}
		}
		return nil
	}
	if err := errors.Join(r.work(t.Context()), r.runState.close()); err != nil {
		t.Fatal(err)
	}
	d.want("2 ok a-1", "3 ok b-1")
}

// TestJournalIsOnDiskBeforeARowIsSent checks for each sent row that the journal on disk covers it.
func TestJournalIsOnDiskBeforeARowIsSent(t *testing.T) {
	s := newService()
	var names []string
	for i := range 3 * maxAhead {
		names = append(names, fmt.Sprint("n", i))
	}
	d := newFixture(t, s, names...)
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	var onDisk, syncs atomic.Int64
	r.journal.sync = func() error {
		syncs.Add(1)
		text, err := os.ReadFile(r.journal.path)
		upTo := 0
		for line := range strings.Lines(string(text)) {
			var e entry
			if json.Unmarshal([]byte(line), &e) == nil {
				upTo = max(upTo, e.UpTo)
			}
		}
		onDisk.Store(int64(upTo))
		return err
	}
	r.batch.Wait = nil
	parse := r.task.Parse
	r.task.Parse = func(row rows.Row) (operation.Task, error) {
		task, err := parse(row)
		return &observedTask{task, func() {
			if marked := onDisk.Load(); int64(row.Line) > marked {
				t.Errorf("sent row %d, but the journal allows up to %d", row.Line, marked)
			}
		}}, err
	}
	if err := errors.Join(r.work(t.Context()), r.runState.close()); err != nil {
		t.Fatal(err)
	}
	if n := syncs.Load(); n > 3+1+1 { // one for each block of rows, the next block, and the keys once
		t.Errorf("%d disk syncs", n)
	}
}

type observedTask struct {
	operation.Task
	onSend func()
}

func (w *observedTask) Send(ctx context.Context, c *client.Client, key string) (operation.Outcome, bool, error) {
	w.onSend()
	return w.Task.Send(ctx, c, key)
}

// TestHeldBackRowMayStillBeUnknown resumes a killed run that may have sent two rows about one record. The outcome of
// the first stays unknown, so the second must not count as never sent.
func TestHeldBackRowMayStillBeUnknown(t *testing.T) {
	s := newService()
	d := newFixture(t, s, "a", "a")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.journal.allow(3), r.results.abandon(), r.journal.close(false)); err != nil {
		t.Fatal(err)
	}
	s.made["a"] = []string{"a-1"} // by line 3, sent after line 2 was refused
	s.faults["a"] = []fault{{lookUp: &client.Error{Status: 403, Code: api.CodeForbidden}}}
	d.now = time.Now()
	d.must()
	d.want("2 unknown forbidden", "3 unknown held_back")
	d.must()
	if got := s.all(); got != "a:2" || len(s.sent) != 1 {
		t.Errorf("made %s, sent %v", got, s.sent)
	}
}
