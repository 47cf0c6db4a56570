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

// job is one file of rows and the folder in which perksctl works through it, as often as it takes.
type job struct {
	*testing.T
	service
	program string
	folder  string
	rows    rowSet
	wanted  []wanted
	lines   []int // of the file, on which the rows begin
	text    string
	input   string   // of --file
	args    []string // further ones
	runs    int
}

// newJob writes the file.
func newJob(t *testing.T, s service, r rowSet, args ...string) *job {
	t.Helper()
	program, err := perksctl()
	if err != nil {
		t.Fatal(err)
	}
	j := &job{T: t, service: s, program: program, folder: t.TempDir(), rows: r, wanted: r.wanted(), args: slices.Concat(s.args, args)}
	j.prepare(j.wanted)
	j.text, j.lines = r.format(j.wanted)
	j.input = filepath.Join(j.folder, "rows"+r.suffix)
	if err := os.WriteFile(j.input, []byte(j.text), 0o600); err != nil {
		t.Fatal(err)
	}
	return j
}

// fromStdin makes the program read the rows from a pipe, and write the results where those of the file would be.
func (j *job) fromStdin() *job {
	j.args = append(j.args, "--results", j.results(), "--format", strings.TrimPrefix(j.rows.suffix, "."))
	j.input = "-"
	return j
}

func (j *job) results() string { return filepath.Join(j.folder, "rows"+j.rows.suffix+".results.jsonl") }

func (j *job) journal() string { return j.results() + ".journal" }

// process is a run of perksctl.
type process struct {
	*testing.T
	cmd    *exec.Cmd
	stderr messages
	stdout bytes.Buffer
	ended  chan struct{}
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

// start starts the command; whatever run there was before, it is the same one.
func (j *job) start() *process { return j.startBy(j.program) }

// startBy starts the command through another, which runs what it is given.
func (j *job) startBy(words ...string) *process {
	j.Helper()
	j.runs++
	p := &process{T: j.T, ended: make(chan struct{})}
	words = append(words, "perk", "redeem", "--file", j.input)
	p.cmd = exec.Command(words[0], append(words[1:], j.args...)...)
	p.cmd.Env = []string{
		"PERKSCTL_API_URL=" + j.proxy.URL(), "PERKSCTL_CLIENT_ID=" + j.id, "PERKSCTL_CLIENT_SECRET=" + j.secret,
		"PERKSCTL_CONFIG_DIR=" + filepath.Join(j.folder, "config"),
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.stderr
	if j.input == "-" {
		p.cmd.Stdin = io.MultiReader(strings.NewReader(j.text)) // no file: a pipe
	}
	if err := p.cmd.Start(); err != nil {
		j.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended is seen in its state
	}()
	j.Cleanup(func() {
		_ = p.cmd.Process.Kill() // whatever is still running
		<-p.ended
	})
	return p
}

// kill ends the process without a chance to do anything more, and returns when it is gone. It may be called by a server at
// work.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

func (p *process) interrupt() {
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Errorf("interrupting perksctl: %v", err)
	}
}

// code waits for the end and returns the exit code, -1 for a process that was killed.
func (p *process) code() int {
	<-p.ended
	return p.cmd.ProcessState.ExitCode()
}

// must waits for the end and expects the exit code.
func (p *process) must(code int) *process {
	p.Helper()
	if got := p.code(); got != code {
		p.Fatalf("perksctl ended with %d, want %d; it said\n%s", got, code, p.stderr.String())
	}
	return p
}

// says expects a text on stderr.
func (p *process) says(text string) {
	p.Helper()
	if !strings.Contains(p.stderr.String(), text) {
		p.Errorf("perksctl did not say %q, but\n%s", text, p.stderr.String())
	}
}

// check compares the rows with the server's redemptions and with the results, when everything is done: one redemption for
// each row and no other, one result for each row that names that redemption, and nothing left to do.
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

// checkRedemptions counts for each content how many rows ask for it and how many redemptions there are.
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
		j.Errorf("of %d rows %d were not done and %d redemptions are too many, such as %+v", len(j.wanted), lost, doubled, example)
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
			j.Errorf("there is no such row, or it has another result: %s", scanner.Text())
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
		j.Errorf("a run over rows that are all done made %d requests", after-before)
	}
}

// checkSoFar is check while not everything is done: nothing is there twice or without a row.
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
