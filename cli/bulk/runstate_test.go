package bulk

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/perks/api/operation"
	"example.com/perks/cli/command"
)

func (d *fixture) wantRefused(says string) {
	d.t.Helper()
	sent := len(d.service.sent)
	_, err := d.run(d.t.Context())
	var usage *command.UsageError
	var busy *command.Failure
	if !errors.As(err, &usage) && !errors.As(err, &busy) || !strings.Contains(err.Error(), says) {
		d.t.Errorf("got %v, want a usage error with %q", err, says)
	}
	if len(d.service.sent) != sent {
		d.t.Errorf("sent rows: %v", d.service.sent)
	}
}

func (d *fixture) writeResults(text string) {
	d.t.Helper()
	if err := os.WriteFile(d.options.resultsPath(), []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func (d *fixture) readResults() string {
	d.t.Helper()
	text, err := os.ReadFile(d.options.resultsPath())
	if err != nil {
		d.t.Fatal(err)
	}
	return string(text)
}

func TestResultsAreLocked(t *testing.T) {
	d := newFixture(t, newService(), "a")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	d.wantRefused("Another run is using")
	if err := r.abandon(); err != nil {
		t.Fatal(err)
	}
	d.must()
	d.want("2 ok a-1")
}

func TestOtherFilesAreRefused(t *testing.T) {
	for name, text := range map[string]string{
		"text":                        "hello\n",
		"text without a newline":      "hello",
		"JSON":                        `{"a":1}`,
		"JSON lines":                  "{\"a\":1}\n{\"a\":2}\n",
		"a result with a foreign key": `{"row":1,"key":"mine","outcome":"ok"}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			d := newFixture(t, newService(), "a")
			d.writeResults(text)
			d.wantRefused("--job NAME")
			if got := d.readResults(); got != text {
				t.Errorf("the file is now %q", got)
			}
			d.wantNoJournal()
		})
	}
}

func TestResultsOfAnotherCommandAreRefused(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	s := newFixture(t, newService(), "a", "b")
	s.options.Results = d.options.resultsPath()
	lines := strings.SplitAfter(d.readResults(), "\n")
	_, err := openRunState(s.options, nil, markOf("make", "elsewhere"), time.Now())
	if err == nil || !strings.Contains(err.Error(), "of another command, server, sandbox or job") {
		t.Errorf("got %v", err)
	}
	other := newFixture(t, newService(), "a", "b")
	other.must()
	s.writeResults(lines[0] + strings.SplitAfter(other.readResults(), "\n")[1])
	s.wantRefused("of another run than the lines above")
}

func TestChangedInputIsRefused(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	d.write("new", "a", "b")
	d.wantRefused("Line 2 of " + d.options.File + " has changed")
	d.write("a", "b", "c")
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok c-1")
}

func TestFailedRowCanBeCorrected(t *testing.T) {
	d := newFixture(t, newService(), "a", "bad")
	d.must()
	d.want("2 ok a-1", "3 failed invalid_row")
	d.write("a", "good")
	d.must()
	d.want("2 ok a-1", "3 ok good-1")
}

func TestHalfWrittenResultIsCutOff(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	whole := d.readResults()
	d.kill(nil)
	for cut := range len(whole) {
		d.writeResults(whole[:cut])
		text, err := os.ReadFile(d.options.resultsPath() + ".journal")
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		d.must()
		d.want("2 ok a-1", "3 ok b-1")
		if err := os.WriteFile(d.options.resultsPath()+".journal", text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := d.service.all(); got != "a:1 b:1" {
		t.Error(got)
	}
}

func TestLongHalfWrittenResultIsCutOff(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	whole := d.readResults()
	d.writeResults(whole + `{"row":4,"key":"` + strings.Repeat("x", 1000))
	d.write("a", "b", "c")
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok c-1")
}

func TestHalfWrittenJournalAllowsNothing(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.kill([]string{"a"})
	path := d.options.resultsPath() + ".journal"
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range []string{`{"up_to":9`, `{`, "\x00\x00\x00"} {
		if err := os.WriteFile(path, append(whole[:len(whole):len(whole)], tail...), 0o600); err != nil {
			t.Fatal(err)
		}
		d.kill(nil) // entries after it must be read
		d.must()
		d.want("2 ok a-1", "3 ok b-1")
		d.wantNoJournal()
	}
}

func TestUnreadableJournalIsRefused(t *testing.T) {
	d := newFixture(t, newService(), "a")
	path := d.options.resultsPath() + ".journal"
	for _, text := range []string{"nonsense\n", `{"batch":"x"}` + "\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.run(t.Context()); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
		if got, _ := os.ReadFile(path); string(got) != text || len(d.service.sent) > 0 {
			t.Errorf("%q: the journal is now %q, sent %v", text, got, d.service.sent)
		}
	}
}

func TestNoFileOverwritesAnother(t *testing.T) {
	for _, change := range []func(*Flags){
		func(f *Flags) { f.Failed = f.File },
		func(f *Flags) { f.Failed, f.Results = f.File, stdout },
		func(f *Flags) { f.Results = f.File },
		func(f *Flags) { f.Results = f.File + "/../" + filepath.Base(f.File) },
		func(f *Flags) { f.Failed = f.File + ".results.jsonl" },
	} {
		d := newFixture(t, newService(), "a")
		change(&d.options)
		d.wantRefused("are the same file")
	}
}

// fullDisk writes some bytes, then fails once.
type fullDisk struct {
	free int
	disk io.Writer
}

func (f *fullDisk) Write(p []byte) (int, error) {
	n := min(f.free, len(p))
	if f.free < len(p) {
		defer func() { f.free = 1 << 20 }() // then there is space again
	}
	f.free -= n
	if _, err := f.disk.Write(p[:n]); err != nil {
		return 0, err
	}
	if n < len(p) {
		return n, errors.New("no space left on device")
	}
	return n, nil
}

func TestRunStopsIfResultsCannotBeWritten(t *testing.T) {
	d := newFixture(t, newService(), "a", "b", "c", "d")
	d.options.Concurrency = 2
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	r.results.out = &fullDisk{250, r.results.file}
	err = r.work(t.Context())
	if closeErr := r.runState.close(); err == nil || !strings.Contains(err.Error(), "no space left") ||
		closeErr != nil {
		t.Errorf("the run returned %v, close %v", err, closeErr)
	}
	if _, err := os.Stat(d.options.resultsPath() + ".journal"); err != nil {
		t.Errorf("the journal is missing: %v", err)
	}
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok c-1", "5 ok d-1")
	if got := d.service.all(); got != "a:1 b:1 c:1 d:1" {
		t.Error(got)
	}
}

func TestNoRowIsDoneTwiceIfClockWasSetBack(t *testing.T) {
	d := newFixture(t, newService(), "a")
	d.kill([]string{"a"})
	d.now = d.now.Add(-time.Hour)
	d.must()
	if got := d.service.all(); got != "a:1" || slices.Max(d.waits) > operation.SettleDelay ||
		!d.service.since.IsZero() {
		t.Errorf("made %s, waited %v, searched since %s", got, d.waits, d.service.since)
	}
}

func TestKeysHoldBatchRowAndContent(t *testing.T) {
	began := time.UnixMilli(1_800_000_000_123)
	b := newBatch(began, 7)
	if !b.began().Equal(began) || b.mark() != 7 || b == newBatch(began, 7) {
		t.Errorf("%s began %s, mark %d", b, b.began(), b.mark())
	}
	of, row, content, ok := parseKey(b.key(12, 0xabc))
	if of != b || row != 12 || content != 0xabc || !ok {
		t.Errorf("%s was read as %s, %d, %x, %t", b.key(12, 0xabc), of, row, content, ok)
	}
	for _, key := range []string{"", "x", b.String(), b.String() + "-", b.key(0, 1), b.key(1, 1)[:40],
		b.String() + "-1-xyz"} {
		if _, _, _, ok := parseKey(key); ok {
			t.Errorf("%q is accepted as a key", key)
		}
	}
}

func TestResultsWithoutFinalNewlineAreRead(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	d.must()
	d.writeResults(strings.TrimSuffix(d.readResults(), "\n"))
	d.write("a", "b", "c")
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok c-1")
}

// TestResultsThatAreMovedDuringTheRunKeepTheJournal moves the results, as log rotation does.
func TestResultsThatAreMovedDuringTheRunKeepTheJournal(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.options.resultsPath(), d.options.resultsPath()+".1"); err != nil {
		t.Fatal(err)
	}
	if err := r.work(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.runState.close(); err == nil || !strings.Contains(err.Error(), "was moved or replaced") {
		t.Errorf("close returned %v", err)
	}
	d.now = time.Now()
	d.must()
	d.want("2 ok a-1", "3 ok b-1")
	if got := d.service.all(); got != "a:1 b:1" {
		t.Error(got)
	}
}

// TestUnreadableResultIsLookedUp simulates a power cut that left a line of zero bytes.
func TestUnreadableResultIsLookedUp(t *testing.T) {
	d := newFixture(t, newService(), "a", "b", "c")
	d.must()
	whole := d.readResults()
	lines := strings.SplitAfter(whole, "\n")
	d.writeResults(lines[0] + strings.Repeat("\x00", len(lines[1])) + lines[2])
	d.wantRefused("Correct that line")
	d.writeResults(whole)
	d.kill(nil)
	d.writeResults(lines[0] + strings.Repeat("\x00", len(lines[1])) + lines[2])
	d.must()
	d.want("2 ok a-1", "3 ok b-1", "4 ok c-1")
	if got := d.service.all(); got != "a:1 b:1 c:1" {
		t.Error(got)
	}
}

func TestUnknownRowCannotBeChanged(t *testing.T) {
	d := newFixture(t, newService(), "a")
	d.service.faults["a"] = []fault{{err: timedOut}}
	d.must()
	d.write("b")
	d.wantRefused("that row may have been done")
}

func TestRowsInsertedAfterAKilledRunAreRefused(t *testing.T) {
	for _, honours := range []bool{false, true} {
		d := newFixture(t, newService(), "a")
		d.service.honours = honours
		d.kill([]string{"a"})
		if honours {
			d.append("keys")
		}
		d.write("n", "a")
		d.wantRefused("changed since an interrupted run. perksctl matches rows to earlier requests by line number")
		d.write("a", "n")
		d.must()
		if got := d.service.all(); got != "a:1 n:1" {
			t.Error(got)
		}
	}
}

func TestJournalNeedsItsOwnFile(t *testing.T) {
	d := newFixture(t, newService())
	d.options.File = filepath.Join(t.TempDir(), "x.journal")
	d.options.Format, d.options.Results = "jsonl", strings.TrimSuffix(d.options.File, ".journal")
	text := "{\"n\":1}\n{\"n\":2}"
	if err := os.WriteFile(d.options.File, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	d.wantRefused("the journal of --results are the same file")
	if got, err := os.ReadFile(d.options.File); string(got) != text || err != nil {
		t.Errorf("the input is now %q, %v", got, err)
	}
}

func TestLockFollowsLinks(t *testing.T) {
	d := newFixture(t, newService(), "a")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	other := *d
	other.options.Results = filepath.Join(t.TempDir(), "link.jsonl")
	if err := os.Symlink(d.options.resultsPath(), other.options.Results); err != nil {
		t.Fatal(err)
	}
	other.wantRefused("Another run is using")
	if err := r.abandon(); err != nil {
		t.Fatal(err)
	}
}

func TestFailedRowsDoNotOverwriteTheResults(t *testing.T) {
	d := newFixture(t, newService(), "a", "bad")
	dir := t.TempDir()
	if err := errors.Join(os.Mkdir(filepath.Join(dir, "real"), 0o700),
		os.Symlink("real", filepath.Join(dir, "alias"))); err != nil {
		t.Fatal(err)
	}
	d.options.Results, d.options.Failed = filepath.Join(dir, "real", "out"), filepath.Join(dir, "alias", "out")
	d.wantRefused("are the same file")
	d.options.Failed = socket(t)
	d.wantRefused("is not a regular file")
}

func TestJournalRefusesWritesAfterFailure(t *testing.T) {
	d := newFixture(t, newService(), "a", "b")
	r, err := d.open()
	if err != nil {
		t.Fatal(err)
	}
	r.journal.sync = func() error { return errors.New("no space left on device") }
	first, second := r.journal.allow(2), r.journal.noteKeys()
	if first == nil || second == nil {
		t.Errorf("the journal returned %v, then %v", first, second)
	}
	if err := errors.Join(r.results.abandon(), r.journal.close(false)); err != nil {
		t.Fatal(err)
	}
	d.must()
	d.want("2 ok a-1", "3 ok b-1")
}

func TestStoppedRunKeepsEarlierFailedRows(t *testing.T) {
	d := newFixture(t, newService(), "a", "bad", "c")
	d.options.Failed = filepath.Join(t.TempDir(), "failed.csv")
	d.must()
	before, err := os.ReadFile(d.options.Failed)
	if err != nil || len(before) == 0 {
		t.Fatal(err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := d.run(interrupted); !errors.Is(err, context.Canceled) {
		t.Errorf("the run returned %v", err)
	}
	if after, err := os.ReadFile(d.options.Failed); string(after) != string(before) || err != nil {
		t.Errorf("%q became %q, %v", before, after, err)
	}
}

// TestEarlierRedemptionIsNotTheRowsOutcome appends a row a week after the batch began, and loses its reply.
func TestEarlierRedemptionIsNotTheRowsOutcome(t *testing.T) {
	d := newFixture(t, newService(), "a")
	d.must()
	d.now = d.now.Add(7 * 24 * time.Hour)
	d.write("a", "b")
	d.service.faults["b"] = []fault{{err: broken, late: true}}
	d.must()
	if back := d.now.Sub(d.service.since); back > time.Hour {
		t.Errorf("a record made %s earlier counts as its outcome", back)
	}
}
