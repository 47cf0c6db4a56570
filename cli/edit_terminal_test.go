package cli_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"example.com/perks/cli"
	"example.com/perks/cli/command"
	"example.com/perks/cli/session"
)

// typingFrom runs a command on a terminal with input from a reader.
func (x *terminal) typingFrom(in io.Reader, args ...string) result {
	s, out, err := command.BufferedStreams("")
	s.In, s.InTTY, s.OutTTY, s.ErrTTY, s.Width = in, true, true, true, 100
	code := cli.Main(append(args, "--no-color"), s, func(name string) string { return x.env[name] })
	return result{code, out.String(), err.String()}
}

// ttySession is a perksctl process on a real terminal.
type ttySession struct {
	t      *testing.T
	cmd    *exec.Cmd
	tty    *os.File
	mu     sync.Mutex
	cond   *sync.Cond
	text   bytes.Buffer
	closed bool
}

// leader is the session leader of the terminal. It exits only after all output was read, because output that is still
// buffered then is lost.
const leader = `trap : INT QUIT TERM; "$@"; printf '<exit %d>' $? >/dev/tty; read -r line </dev/tty`

// exitMarker matches the exit code that the leader prints.
var exitMarker = regexp.MustCompile(`<exit (\d+)>`)

func (x *terminal) onTTY(stdout io.Writer, args ...string) *ttySession {
	x.t.Helper()
	command := x.process(args...)
	s := &ttySession{t: x.t, cmd: exec.Command("sh", append([]string{"-c", leader, "sh"}, command.Args...)...)}
	s.cmd.Env = command.Env
	s.cond = sync.NewCond(&s.mu)
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm")
	s.cmd.Stdout = stdout
	tty, err := pty.Start(s.cmd)
	if err != nil {
		x.t.Fatal(err)
	}
	s.tty = tty
	x.t.Cleanup(func() { tty.Close() })
	go s.read()
	return s
}

func (s *ttySession) read() {
	part := make([]byte, 4096)
	for {
		n, err := s.tty.Read(part)
		s.mu.Lock()
		s.text.Write(part[:n])
		s.closed = err != nil // the read fails when the process has exited
		s.cond.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// waitFor waits until the text was shown, and fails if the program exits without it.
func (s *ttySession) waitFor(text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text.String(), text) {
		if s.closed || exitMarker.Match(s.text.Bytes()) {
			s.t.Fatalf("%q was never shown in\n%s", text, s.text.String())
		}
		s.cond.Wait()
	}
}

func (s *ttySession) send(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// wait waits for the exit code.
func (s *ttySession) wait() (code int, shown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed {
		if found := exitMarker.FindSubmatchIndex(s.text.Bytes()); found != nil {
			code, _ = strconv.Atoi(string(s.text.Bytes()[found[2]:found[3]]))
			shown = string(s.text.Bytes()[:found[0]])
			s.send("\n")
			_ = s.cmd.Wait()
			return code, shown
		}
		s.cond.Wait()
	}
	s.t.Fatalf("the terminal was closed before its command exited:\n%s", s.text.String())
	return 0, ""
}

func TestEditorHasTheTerminal(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 9; printf 'ready> '; read title; put title "$title"`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.waitFor("ready> ")
	s.send("Typed in\n")
	s.waitFor("[n]o: ")
	s.send("y\n")
	code, shown := s.wait()
	if code != 0 || !strings.Contains(shown, "\x1b[31m- title: Flat\x1b[0m\r\n\x1b[32m+ title: Typed in\x1b[0m\r\n") {
		t.Errorf("%d\n%s", code, shown)
	}
	if got := x.property("42", "title"); got != "title\tTyped in" {
		t.Error(got)
	}
}

func TestEditorUsesTheTerminalWhenOutputIsAFile(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`[ -t 0 ] && [ -t 1 ] || exit 9; echo drawn; put title Loft`)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	s := x.onTTY(out, "property", "edit", "42", "-o", "id")
	s.waitFor("[n]o: ")
	s.send("y\n")
	if code, shown := s.wait(); code != 0 || !strings.Contains(shown, "drawn") {
		t.Errorf("%d\n%s", code, shown)
	}
	if text, err := os.ReadFile(out.Name()); string(text) != "42\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestInterruptIsHandledByTheEditor sends Ctrl-C, which a terminal passes to perksctl and the editor.
func TestInterruptIsHandledByTheEditor(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`trap 'put title Caught; exit 0' INT; printf 'ready> '; read title; exit 9`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.waitFor("ready> ")
	s.send("\x03")
	s.waitFor("[n]o: ")
	s.send("y\n")
	if code, shown := s.wait(); code != 0 {
		t.Errorf("%d\n%s", code, shown)
	}
	if got := x.property("42", "title"); got != "title\tCaught" {
		t.Error(got)
	}
}

func TestInterruptAtTheQuestionKeepsTheDraft(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`kill -INT $PPID; kill -QUIT $PPID; put title Loft`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.waitFor("[n]o: ")
	s.send("\x03")
	code, shown := s.wait()
	if drafts := savedDrafts(t); code != 130 || len(drafts) != 1 || !strings.Contains(shown, drafts[0]) {
		t.Errorf("%d %q\n%s", code, drafts, shown)
	}
}

func TestInterruptedEditor(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`put title Half; printf 'ready> '; read title`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.waitFor("ready> ")
	s.send("\x03")
	code, shown := s.wait()
	if drafts := savedDrafts(t); code != 130 || len(drafts) != 1 || !strings.Contains(shown, "Interrupted.") ||
		!strings.Contains(shown, "--resume") {
		t.Errorf("%d %q\n%s", code, drafts, shown)
	}
}

// TestTerminationStopsTheEditor sends SIGTERM only to perksctl.
func TestTerminationStopsTheEditor(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`put title Half; printf 'ready> '; kill -TERM $PPID; read title`)
	s := x.onTTY(nil, "property", "edit", "42")
	code, shown := s.wait()
	if drafts := savedDrafts(t); code != 130 || len(drafts) != 1 || !strings.Contains(shown, drafts[0]) {
		t.Errorf("%d %q\n%s", code, drafts, shown)
	}
}

func TestEditorSeesNoSecret(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvToken] = strings.TrimSpace(x.must("auth", "token").out)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	read := x.edits(`env > seen; echo "$` + session.EnvToken + `$` + session.EnvClientSecret + `" > values`)
	s := x.onTTY(nil, "property", "edit", "42")
	if code, shown := s.wait(); code != 0 || !strings.Contains(shown, "Nothing was changed.") {
		t.Errorf("%d\n%s", code, shown)
	}
	seen := read("seen")
	if read("values") != "\n" || strings.Contains(seen, facts["SECRET"]) ||
		strings.Contains(seen, x.env[session.EnvToken]) || !strings.Contains(seen, "EDITOR=") {
		t.Error(seen)
	}
}
