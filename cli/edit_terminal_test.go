package cli_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"
)

// edits sets the editor to a shell script, in which `put FIELD VALUE` edits the draft.
func (x *terminal) edits(script string) {
	x.t.Helper()
	x.t.Setenv("TMPDIR", x.t.TempDir())
	put := `put() { sed "s|^$1: .*|$1: $2|" "$file" > "$file.new" && cp "$file.new" "$file"; }; file=$1` + "\n"
	x.env["EDITOR"] = "sh '" + write(x.t, filepath.Join(x.t.TempDir(), "editor.sh"), put+script+"\n") + "'"
}

// savedDrafts returns the paths of the drafts that perksctl saved.
func savedDrafts(t *testing.T) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), "perksctl-edit-*", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// property reads fields of a property as tab-separated lines.
func (x *terminal) property(id, fields string) string {
	x.t.Helper()
	lines := strings.TrimSpace(x.must("property", "get", id, "--quiet", "--fields", fields).out)
	return strings.ReplaceAll(lines, "\n", " ")
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

func (x *terminal) onTTY(args ...string) *ttySession {
	x.t.Helper()
	command := x.process(args...)
	s := &ttySession{t: x.t, cmd: exec.Command("sh", append([]string{"-c", leader, "sh"}, command.Args...)...)}
	s.cmd.Env = command.Env
	s.cond = sync.NewCond(&s.mu)
	s.cmd.Env = append(s.cmd.Env, "TERM=xterm")
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

// TestInterruptIsHandledByTheEditor sends Ctrl-C, which a terminal passes to perksctl and the editor.
func TestInterruptIsHandledByTheEditor(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`trap 'put title Caught; exit 0' INT; printf 'ready> '; read title; exit 9`)
	s := x.onTTY("property", "edit", "42")
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
	s := x.onTTY("property", "edit", "42")
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
	s := x.onTTY("property", "edit", "42")
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
	s := x.onTTY("property", "edit", "42")
	code, shown := s.wait()
	if drafts := savedDrafts(t); code != 130 || len(drafts) != 1 || !strings.Contains(shown, drafts[0]) {
		t.Errorf("%d %q\n%s", code, drafts, shown)
	}
}
