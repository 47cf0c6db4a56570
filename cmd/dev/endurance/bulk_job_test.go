package endurance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// job is one file of rows and the directory in which perksctl processes it, in one or more runs.
type job struct {
	*testing.T
	service
	program string
	dir     string
	rows    rowSet
	wanted  []wanted
	lines   []int // of the file, where the rows start
	text    string
	input   string   // of --file
	args    []string // further ones
	words   []string // instead of a command that redeems the input
	runs    int
}

// newJob writes the file.
func newJob(t *testing.T, s service, r rowSet, args ...string) *job {
	t.Helper()
	program, err := perksctl()
	if err != nil {
		t.Fatal(err)
	}
	j := &job{T: t, service: s, program: program, dir: t.TempDir(), rows: r, wanted: r.wanted(),
		args: slices.Concat(s.args, args)}
	j.prepare(j.wanted)
	j.text, j.lines = r.format(j.wanted)
	j.input = filepath.Join(j.dir, "rows"+r.suffix)
	if err := os.WriteFile(j.input, []byte(j.text), 0o600); err != nil {
		t.Fatal(err)
	}
	return j
}

// fromStdin makes the program read the rows from a pipe, and write the results to the same file.
func (j *job) fromStdin() *job {
	j.args = append(j.args, "--results", j.results(), "--format", strings.TrimPrefix(j.rows.suffix, "."))
	j.input = "-"
	return j
}

func (j *job) results() string { return filepath.Join(j.dir, "rows"+j.rows.suffix+".results.jsonl") }

func (j *job) journal() string { return j.results() + ".journal" }

// process is a run of perksctl.
type process struct {
	*testing.T
	cmd    *exec.Cmd
	stderr messages
	stdout bytes.Buffer
	done   chan struct{}
}

// messages can be read while they are written.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// start starts the command, which is the same for every run.
func (j *job) start() *process { return j.startBy(j.program) }

// startWith starts a run that something happens to in a redeem, 1 for its first. It is set up before the start: a run
// may take a few milliseconds.
func (j *job) startWith(ahead int, at faultPoint, happens func(*process)) *process {
	j.Helper()
	started := make(chan *process, 1)
	j.proxy.injectAt(ahead, at, func() { happens(<-started) })
	p := j.start()
	started <- p
	return p
}

// startBy starts the command through a wrapper command.
func (j *job) startBy(words ...string) *process {
	j.Helper()
	j.runs++
	p := &process{T: j.T, done: make(chan struct{})}
	if words = append(words, j.words...); j.words == nil {
		words = append(words, "perk", "redeem", "--file", j.input)
	}
	p.cmd = exec.Command(words[0], append(words[1:], j.args...)...)
	p.cmd.Env = []string{
		"PERKSCTL_API_URL=" + j.proxy.URL(), "PERKSCTL_CLIENT_ID=" + j.id, "PERKSCTL_CLIENT_SECRET=" + j.secret,
		"PERKSCTL_CONFIG_DIR=" + filepath.Join(j.dir, "config"),
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if j.input == "-" {
		p.cmd.Stdin = io.MultiReader(strings.NewReader(j.text)) // no file: a pipe
	}
	if err := p.cmd.Start(); err != nil {
		j.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its state has the exit code
	}()
	j.Cleanup(func() {
		_ = p.cmd.Process.Kill() // whatever is still running
		<-p.done
	})
	return p
}

// kill kills the process, and returns when it is gone. A handler of the server may call it.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have exited
	<-p.done
}

func (p *process) interrupt() {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Errorf("interrupting perksctl: %v", err)
	}
}

// code waits for the process and returns its exit code, -1 if it was killed.
func (p *process) code() int {
	<-p.done
	return p.cmd.ProcessState.ExitCode()
}

// must waits for the process and expects the exit code.
func (p *process) must(code int) *process {
	p.Helper()
	if got := p.code(); got != code {
		p.Fatalf("perksctl exited with %d, want %d; it said\n%s", got, code, p.stderr.String())
	}
	return p
}

// wantStderr expects a text on stderr.
func (p *process) wantStderr(text string) {
	p.Helper()
	if !strings.Contains(p.stderr.String(), text) {
		p.Errorf("perksctl did not say %q, but\n%s", text, p.stderr.String())
	}
}

// check compares the rows with the server's redemptions and the results after a complete run: one redemption for each
// row and no other, one result for each row that names that redemption, and nothing left to do.
func (j *job) check() {
	j.Helper()
	j.proxy.awaitIdle()
	stored := j.redemptions()
	j.checkRedemptions(stored)
	j.checkResults(stored)
	if _, err := os.Stat(j.journal()); !os.IsNotExist(err) {
		j.Errorf("the journal is still there: %v", err)
	}
	j.checkNothingIsLeft()
}

// checkRedemptions counts the rows and the redemptions for each distinct content.
func (j *job) checkRedemptions(stored map[string]wanted) {
	j.Helper()
	balance := map[wanted]int{}
	for _, w := range j.wanted {
		balance[w]--
	}
	for _, w := range stored {
		balance[w]++
	}
	lost, doubled, example := 0, 0, wanted{}
	for w, n := range balance {
		lost += max(0, -n)
		doubled += max(0, n)
		if n != 0 {
			example = w
		}
	}
	if lost+doubled > 0 {
		j.Errorf("of %d rows %d were not done and %d redemptions are too many, such as %+v", len(j.wanted), lost,
			doubled, example)
	}
}

func (j *job) checkResults(stored map[string]wanted) {
	j.Helper()
	file, err := os.Open(j.results())
	if err != nil {
		j.Fatal(err)
	}
	defer file.Close()
	missing := map[int]wanted{}
	for n, line := range j.lines {
		missing[line] = j.wanted[n]
	}
	claimed := map[string]int{}
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		var r struct {
			Row         int
			Outcome, ID string
		}
		if err := json.Unmarshal(scanner.Bytes(), &r); err != nil {
			j.Fatalf("%v: %s", err, scanner.Text())
		}
		want, isMissing := missing[r.Row]
		delete(missing, r.Row)
		switch got, isStored := stored[r.ID]; {
		case !isMissing:
			j.Errorf("the row does not exist, or has another result: %s", scanner.Text())
		case r.Outcome != "ok":
			j.Errorf("a row is not done: %s", scanner.Text())
		case !isStored:
			j.Errorf("a row is done by a redemption that is not stored: %s", scanner.Text())
		case got != want:
			j.Errorf("row %d asks for %+v and is done by %+v", r.Row, want, got)
		case claimed[r.ID] != 0:
			j.Errorf("redemption %s counts for the rows %d and %d", r.ID, claimed[r.ID], r.Row)
		}
		claimed[r.ID] = r.Row
	}
	if len(missing) > 0 {
		j.Errorf("%d rows are without a result", len(missing))
	}
}

// checkNothingIsLeft runs once more.
func (j *job) checkNothingIsLeft() {
	j.Helper()
	_, before, _ := j.proxy.counts()
	j.start().must(0)
	if _, after, _ := j.proxy.counts(); after != before {
		j.Errorf("a run without rows left made %d requests", after-before)
	}
}

// checkSoFar is check for an incomplete run: no redemption exists twice or without a row.
func (j *job) checkSoFar() {
	j.Helper()
	left := map[wanted]int{}
	for _, w := range j.wanted {
		left[w]++
	}
	for id, w := range j.redemptions() {
		if left[w]--; left[w] < 0 {
			j.Errorf("redemption %s of %+v is one too many", id, w)
		}
	}
}

// canonical makes texts of JSON comparable.
func canonical(text json.RawMessage) string {
	if len(text) == 0 {
		return "{}"
	}
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	again, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(again))
}
