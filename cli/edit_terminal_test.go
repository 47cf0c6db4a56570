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

// typingFrom runs a command for a person whose answers come from a reader.
func (x *terminal) typingFrom(in io.Reader, args ...string) result {
	s, out, err := command.BufferedStreams("")
	s.In, s.InTTY, s.OutTTY, s.ErrTTY, s.Width = in, true, true, true, 100
	code := cli.Main(append(args, "--no-color"), s, func(name string) string { return x.env[name] })
	return result{code, out.String(), err.String()}
}

// ttySession is perksctl in a process of its own on a real terminal.
type ttySession struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	mu   sync.Mutex
	cond *sync.Cond
	text bytes.Buffer
	end  bool
}

// leader leads the session of the terminal, and stays until all of it has been read: when the leader ends, what is still on
// its way to the other side is lost.
const leader = `trap : INT QUIT TERM; "$@"; printf '<ended %d>' $? >/dev/tty; read -r line </dev/tty`

// ended is how the leader says that its command has.
var ended = regexp.MustCompile(`<ended (\d+)>`)

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
		s.end = err != nil // at the end of the process, the terminal has no other side any more
		s.cond.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// shows waits until the text has been shown, and fails if the program ends without it.
func (s *ttySession) shows(text string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text.String(), text) {
		if s.end || ended.Match(s.text.Bytes()) {
			s.t.Fatalf("%q was never shown in\n%s", text, s.text.String())
		}
		s.cond.Wait()
	}
}

func (s *ttySession) types(text string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the exit code.
func (s *ttySession) ends() (code int, shown string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.end {
		if found := ended.FindSubmatchIndex(s.text.Bytes()); found != nil {
			code, _ = strconv.Atoi(string(s.text.Bytes()[found[2]:found[3]]))
			shown = string(s.text.Bytes()[:found[0]])
			s.types("\n")
			_ = s.cmd.Wait()
			return code, shown
		}
		s.cond.Wait()
	}
	s.t.Fatalf("the terminal ended before its command:\n%s", s.text.String())
	return 0, ""
}

func TestEditorHasTheTerminal(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`[ -t 0 ] && [ -t 1 ] && [ -t 2 ] || exit 9; printf 'ready> '; read title; put title "$title"`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.shows("ready> ")
	s.types("Typed in\n")
	s.shows("[n]o: ")
	s.types("y\n")
	code, shown := s.ends()
	if code != 0 || !strings.Contains(shown, "\x1b[31m- title: Flat\x1b[0m\r\n\x1b[32m+ title: Typed in\x1b[0m\r\n") {
		t.Errorf("%d\n%s", code, shown)
	}
	if got := x.property("42", "title"); got != "title\tTyped in" {
		t.Error(got)
	}
}

func TestEditorDrawsOnTheTerminalWhenOutputIsAFile(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`[ -t 0 ] && [ -t 1 ] || exit 9; echo drawn; put title Loft`)
	out, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	s := x.onTTY(out, "property", "edit", "42", "-o", "id")
	s.shows("[n]o: ")
	s.types("y\n")
	if code, shown := s.ends(); code != 0 || !strings.Contains(shown, "drawn") {
		t.Errorf("%d\n%s", code, shown)
	}
	if text, err := os.ReadFile(out.Name()); string(text) != "42\n" {
		t.Errorf("%q %v", text, err)
	}
}

// TestInterruptInTheEditorIsTheEditors types Ctrl-C, which a terminal sends to perksctl and the editor alike.
func TestInterruptInTheEditorIsTheEditors(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`trap 'put title Caught; exit 0' INT; printf 'ready> '; read title; exit 9`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.shows("ready> ")
	s.types("\x03")
	s.shows("[n]o: ")
	s.types("y\n")
	if code, shown := s.ends(); code != 0 {
		t.Errorf("%d\n%s", code, shown)
	}
	if got := x.property("42", "title"); got != "title\tCaught" {
		t.Error(got)
	}
}

func TestInterruptAtTheQuestionKeepsTheText(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`kill -INT $PPID; kill -QUIT $PPID; put title Loft`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.shows("[n]o: ")
	s.types("\x03")
	code, shown := s.ends()
	if kept := keptTexts(t); code != 130 || len(kept) != 1 || !strings.Contains(shown, kept[0]) {
		t.Errorf("%d %q\n%s", code, kept, shown)
	}
}

func TestEditorThatAnInterruptEnds(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`put title Half; printf 'ready> '; read title`)
	s := x.onTTY(nil, "property", "edit", "42")
	s.shows("ready> ")
	s.types("\x03")
	code, shown := s.ends()
	if kept := keptTexts(t); code != 130 || len(kept) != 1 || !strings.Contains(shown, "Interrupted.") || !strings.Contains(shown, "--resume") {
		t.Errorf("%d %q\n%s", code, kept, shown)
	}
}

// TestTerminationEndsTheEditorToo sends SIGTERM to perksctl alone.
func TestTerminationEndsTheEditorToo(t *testing.T) {
	x, _ := loggedIn(t)
	x.edits(`put title Half; printf 'ready> '; kill -TERM $PPID; read title`)
	s := x.onTTY(nil, "property", "edit", "42")
	code, shown := s.ends()
	if kept := keptTexts(t); code != 130 || len(kept) != 1 || !strings.Contains(shown, kept[0]) {
		t.Errorf("%d %q\n%s", code, kept, shown)
	}
}

func TestEditorSeesNoSecret(t *testing.T) {
	x, facts := loggedIn(t)
	x.env[session.EnvToken] = strings.TrimSpace(x.must("auth", "token").out)
	x.env[session.EnvClientSecret] = facts["SECRET"]
	read := x.edits(`env > seen; echo "$` + session.EnvToken + `$` + session.EnvClientSecret + `" > values`)
	s := x.onTTY(nil, "property", "edit", "42")
	if code, shown := s.ends(); code != 0 || !strings.Contains(shown, "Nothing was changed.") {
		t.Errorf("%d\n%s", code, shown)
	}
	seen := read("seen")
	if read("values") != "\n" || strings.Contains(seen, facts["SECRET"]) || strings.Contains(seen, x.env[session.EnvToken]) || !strings.Contains(seen, "EDITOR=") {
		t.Error(seen)
	}
}
