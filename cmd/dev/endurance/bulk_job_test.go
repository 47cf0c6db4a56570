package endurance

import (
	"bytes"
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
	told   messages // on stderr
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
	p.cmd.Stdout, p.cmd.Stderr = &p.stdout, &p.told
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
		p.Fatalf("perksctl ended with %d, want %d; it said\n%s", got, code, p.told.String())
	}
	return p
}

// says expects a text among what the process told.
func (p *process) says(text string) {
	p.Helper()
	if !strings.Contains(p.told.String(), text) {
		p.Errorf("perksctl did not say %q, but\n%s", text, p.told.String())
	}
}
