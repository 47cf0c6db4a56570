package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// Timeout is more than any command takes; one that hangs must not hang those who watch.
const Timeout = time.Minute

// lookEvery is how often the log of a program is read that has not yet said what is waited for.
const lookEvery = 10 * time.Millisecond

// Build builds packages into a directory. Flags of go build may come before them. The programs have the version "dev"
// everywhere. Nobody debugs them, and without what a debugger needs they are linked in half the time.
func Build(ctx context.Context, dir string, packages ...string) error {
	_, err := Output(exec.CommandContext(ctx, "go",
		append([]string{"build", "-buildvcs=false", "-ldflags=-s -w", "-o", dir + "/"}, packages...)...))
	return err
}

// Output runs a command and returns what it printed. The error has what it complained of.
func Output(cmd *exec.Cmd) (string, error) {
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	output, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(complaints.Bytes()))
	}
	return string(output), nil
}

// Process is a program that says where it listens, such as perksd serve.
type Process struct {
	*Log
	URL string // such as http://127.0.0.1:8080

	cmd    *exec.Cmd
	exited chan struct{} // closed when it has exited; err is set before
	err    error
}

// Start runs a program and returns when it says where it listens. Its log is a file, as an operator's would be: a
// reader in between would cost both sides more, and could hold the program up.
func Start(cmd *exec.Cmd, log *os.File) (*Process, error) {
	p, err := launch(cmd, log)
	if err != nil {
		return nil, err
	}
	if err := p.awaitURL(); err != nil {
		_ = cmd.Process.Kill() // it may have exited
		<-p.exited
		return nil, err
	}
	return p, nil
}

// launch does not wait until the program listens.
func launch(cmd *exec.Cmd, log *os.File) (*Process, error) {
	cmd.Stdout, cmd.Stderr = log, log // what it should not print is in the log too
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	p := &Process{cmd: cmd, exited: make(chan struct{})}
	p.Log = newLog(log, p.exited)
	go func() {
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

func (p *Process) awaitURL() error {
	giveUp, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	line, err := p.await(giveUp, "listening on")
	if err != nil {
		return fmt.Errorf("starting %s: %w", p.cmd.Path, err)
	}
	p.URL = listening.FindStringSubmatch(line)[1]
	return nil
}

// PID is the program's process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Exited is closed when the process has exited.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stop has the program drain, and fails if it exits with an error.
func (p *Process) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return fmt.Errorf("stopping %s: %w", p.cmd.Path, err)
	}
	kill := time.AfterFunc(Timeout, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	<-p.exited
	if p.err != nil {
		return fmt.Errorf("%s exited with an error: %w; its log ends with\n%s", p.cmd.Path, p.err, p.tail())
	}
	return nil
}

// Log is what a program writes to stderr.
type Log struct {
	file *os.File
	done <-chan struct{} // closed when nothing more comes

	mu    sync.Mutex
	lines *bufio.Reader // from behind the line that was waited for last
	part  string        // of a line whose end is still to come
}

// newLog reads a file without moving the offset at which the program writes.
func newLog(file *os.File, done <-chan struct{}) *Log {
	return &Log{file: file, done: done, lines: bufio.NewReader(io.NewSectionReader(file, 0, math.MaxInt64))}
}

// await waits for a line that holds the text, after the one that it returned before.
func (l *Log) await(ctx context.Context, text string) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for atEnd := false; ; {
		for {
			more, err := l.lines.ReadString('\n')
			l.part += more
			if err != nil {
				break
			}
			line := strings.TrimRight(l.part, "\r\n")
			if l.part = ""; strings.Contains(line, text) {
				return line, nil
			}
		}
		if atEnd {
			return "", fmt.Errorf("the program exited before it said %q; its log ends with\n%s", text, l.tail())
		}
		select {
		case <-look.C:
		case <-l.done:
			atEnd = true // read once more what it wrote last
		case <-ctx.Done():
			return "", fmt.Errorf("the program does not say %q; its log ends with\n%s", text, l.tail())
		}
	}
}

var (
	listening = regexp.MustCompile(`listening on (https?://[^\s"]+)`)
	metrics   = regexp.MustCompile(`msg=metrics url=(\S+)`)
)

// Metrics is where a server that listens shows its metrics: it has said so before.
func (l *Log) Metrics() (url string, err error) {
	found := metrics.FindStringSubmatch(l.soFar())
	if found == nil {
		return "", fmt.Errorf("the server does not say where its metrics are; its log ends with\n%s", l.tail())
	}
	return found[1], nil
}

// Rest waits until the log ends and returns it whole.
func (l *Log) Rest() string {
	<-l.done
	return strings.TrimSuffix(strings.ReplaceAll(l.soFar(), "\r\n", "\n"), "\n") // a terminal ends lines with both
}

func (l *Log) soFar() string {
	text, err := io.ReadAll(io.NewSectionReader(l.file, 0, math.MaxInt64))
	if err != nil {
		return fmt.Sprintf("a log that cannot be read: %v", err)
	}
	return string(text)
}

func (l *Log) tail() string {
	text := l.soFar()
	return text[max(0, len(text)-4000):]
}

// Exits is the command "exits CODE command..." of test scripts: the command must exit with this code.
func Exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command...")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("%q is not an exit code", args[0])
	}
	got := 0
	var failed *exec.ExitError
	err = ts.Exec(args[1], args[2:]...)
	if errors.As(err, &failed) {
		got = failed.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
