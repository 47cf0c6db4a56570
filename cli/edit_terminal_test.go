package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

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

// ttySession is a program on a real terminal.
type ttySession struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	cond *sync.Cond // guards the rest

	text          bytes.Buffer
	sent          int // the length of the text when keys were sent last
	closed, isOut bool
}

func startOnTTY(t *testing.T, cmd *exec.Cmd) *ttySession {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 50, Cols: 140})
	if err != nil {
		t.Fatal(err)
	}
	s := &ttySession{t: t, cmd: cmd, tty: tty, cond: sync.NewCond(&sync.Mutex{})}
	t.Cleanup(func() {
		_ = tty.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	go s.read()
	return s
}

func (s *ttySession) read() {
	part := make([]byte, 4096)
	for !s.closed { // which only this sets
		n, err := s.tty.Read(part)
		s.cond.L.Lock()
		s.text.Write(part[:n])
		s.closed = err != nil // the read fails when the process has exited
		s.cond.L.Unlock()
		s.cond.Broadcast()
	}
}

var controlSequence = regexp.MustCompile("\x1b\\[[0-9;?>=]*[ " +
	"-/]*[@-~]|\x1b\\][^\x07\x1b]*(\x07|\x1b\\\\)|\x1b[()][A-Z0-9]|\x1b[=>78M]|[\x00-\x08\x0d-\x1f]")

// waitFor waits until all texts were shown since the last keys, and returns what was shown.
func (s *ttySession) waitFor(texts ...string) (shown string) {
	s.t.Helper()
	return s.waitUntil(fmt.Sprintf("%q", texts), func(shown string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(shown, text) })
	})
}

// waitUntil waits for what was shown since the last keys, without control sequences. It fails if the program exits
// before.
func (s *ttySession) waitUntil(what string, is func(shown string) bool) (shown string) {
	s.t.Helper()
	timeout := time.AfterFunc(time.Minute, func() {
		s.cond.L.Lock()
		s.isOut = true
		s.cond.L.Unlock()
		s.cond.Broadcast()
	})
	defer timeout.Stop()
	s.cond.L.Lock()
	defer s.cond.L.Unlock()
	for {
		shown = controlSequence.ReplaceAllString(s.text.String()[s.sent:], "")
		switch {
		case is(shown):
			return shown
		case s.closed, s.isOut, exitMarker.MatchString(shown):
			s.t.Fatalf("%s was never shown in\n%s", what, shown)
		}
		s.cond.Wait()
	}
}

// send sends keys.
func (s *ttySession) send(keys string) {
	s.t.Helper()
	s.cond.L.Lock()
	s.sent = s.text.Len()
	s.cond.L.Unlock()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// leader is the session leader of the terminal. It exits only after all output was read, because output that is still
// buffered then is lost.
const leader = `trap : INT QUIT TERM; "$@"; printf '<exit %d>' $? >/dev/tty; read -r line </dev/tty`

// exitMarker matches the exit code that the leader prints.
var exitMarker = regexp.MustCompile(`<exit (\d+)>`)

func (x *terminal) onTTY(args ...string) *ttySession {
	x.t.Helper()
	command := x.process(args...)
	cmd := exec.Command("sh", append([]string{"-c", leader, "sh"}, command.Args...)...)
	cmd.Env = append(command.Env, "TERM=xterm")
	return startOnTTY(x.t, cmd)
}

// wait waits for the exit code, and returns all that was shown.
func (s *ttySession) wait() (code int, shown string) {
	s.t.Helper()
	exited := exitMarker.FindStringSubmatch(s.waitUntil("the exit code", exitMarker.MatchString))
	code, _ = strconv.Atoi(exited[1])
	s.cond.L.Lock()
	shown = s.text.String()
	s.cond.L.Unlock()
	s.send("\n")
	_ = s.cmd.Wait()
	return code, shown
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
