package tuitest

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestTheTerminalIsAsBefore ends the terminal UI in every way that leaves the terminal there, with the mouse in use.
func TestTheTerminalIsAsBefore(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.logIn()
	real, faulty := "perksctl tui --mouse", "env "+faultyEnv+"=1 "+os.Args[0]
	key := func(name string) func(*window) { return func(w *window) { w.press(name) } }
	for _, test := range []struct {
		name, command, shown string
		end                  func(*window)
		code                 int
		said                 string
	}{
		{"q", real, "All valid perks", key("q"), 0, ""},
		{"ctrl+c", real, "All valid perks", key("C-c"), 0, ""},
		{"SIGTERM", real, "All valid perks", signal(syscall.SIGTERM), 130, ""},
		{"SIGHUP", real, "All valid perks", signal(syscall.SIGHUP), 130, ""},
		{"a fault in Update", faulty, "Address of the API", key("F5"), 1, "the terminal UI failed: a fault in Update."},
		{"a fault in View", faulty, "Address of the API", key("F6"), 1, "the terminal UI failed: a fault in View."},
		{"a fault in a command", faulty, "Address of the API", key("F7"), 1, "the terminal UI failed: a fault in a command."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := d.window(t, 100, 30)
			w.enter("stty -a >before; sh -c 'echo $$ >pid; exec " + test.command + "'; echo ended\\ with $?")
			w.see(test.shown)
			w.awaitModes("cursor 0, other screen 1, mouse 1")
			test.end(w)
			screen := w.see("ended with ", test.said)
			if !strings.Contains(screen, "ended with "+strconv.Itoa(test.code)) {
				t.Errorf("it should have ended with %d:\n%s", test.code, screen)
			}
			w.isAsBefore()
			if report := test.said != ""; report && !strings.Contains(w.read("report.txt"), "goroutine ") {
				t.Errorf("the report is %q", w.read("report.txt"))
			}
		})
	}
}

func signal(s syscall.Signal) func(*window) {
	return func(w *window) {
		pid, err := strconv.Atoi(w.read("pid"))
		w.do(err)
		w.do(syscall.Kill(pid, s))
	}
}

// modes is what a program has changed of the terminal and tmux can tell.
func (w *window) modes() string {
	w.t.Helper()
	modes, err := w.terminal.Tell(w.ctx, "cursor #{cursor_flag}, other screen #{alternate_on}, mouse #{mouse_any_flag}")
	w.do(err)
	return modes
}

func (w *window) awaitModes(wanted string) {
	w.t.Helper()
	if _, err := w.terminal.Await(w.ctx, wanted, func(string) bool { return w.modes() == wanted }); err != nil {
		w.t.Errorf("%s instead: %v", w.modes(), err)
	}
}

// isAsBefore makes sure that the shell has the terminal that it had. The line that tells is pasted, which a shell takes for other
// keys while the terminal still marks what is pasted.
func (w *window) isAsBefore() {
	w.t.Helper()
	w.do(w.terminal.Paste(w.ctx, "stty -a >after; echo the prompt' 'works\n"))
	screen := w.see("the prompt works")
	if before, after := w.read("before"), w.read("after"); before != after {
		w.t.Errorf("the terminal was\n%s\nand is\n%s", before, after)
	}
	if now := w.modes(); now != "cursor 1, other screen 0, mouse 0" {
		w.t.Errorf("the terminal has %s", now)
	}
	if strings.Contains(screen, "Address of the API") || strings.Contains(screen, "All valid perks") {
		w.t.Errorf("the terminal UI is still to be seen:\n%s", screen)
	}
}

// TestAWindowThatIsClosedEndsIt waits for the process, which must not go on without a terminal. A shell that stays does not pass on
// that the window is closed.
func TestAWindowThatIsClosedEndsIt(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.logIn()
	for name, first := range map[string]string{"and its shell ends": "true", "and its shell stays": "trap : HUP"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := d.window(t, 100, 30)
			alive := filepath.Join(w.folder, "alive")
			w.do(syscall.Mkfifo(alive, 0o600))
			w.enter(first + "; perksctl tui 3>alive")
			pipe, err := os.Open(alive) // ends with the last process that has it open
			w.do(err)
			defer pipe.Close()
			w.see("All valid perks")
			w.do(w.terminal.Close())
			w.do(pipe.SetReadDeadline(time.Now().Add(atLast)))
			if _, err := io.ReadAll(pipe); err != nil {
				t.Errorf("it goes on: %v", err)
			}
		})
	}
}

// TestTypedTextOutlivesTheProgram ends the program in every way right after a key, and reads what is kept.
func TestTypedTextOutlivesTheProgram(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.logIn()
	file := filepath.Join(d.Folder, "perksctl", "drafts.json")
	for name, end := range map[string]func(*window){
		"SIGTERM": signal(syscall.SIGTERM),
		"SIGHUP":  signal(syscall.SIGHUP),
		"ctrl+c":  func(w *window) { w.press("C-c", "C-c") },
		"its window is closed": func(w *window) {
			w.do(w.terminal.Close())
		},
		"ctrl+z, and it is killed": func(w *window) {
			w.press("C-z")
			w.see("Stopped")
			signal(syscall.SIGKILL)(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := d.window(t, 100, 30)
			alive := filepath.Join(w.folder, "alive")
			w.do(syscall.Mkfifo(alive, 0o600))
			w.enter("sh -c 'echo $$ >pid; exec perksctl tui 3>alive'")
			pipe, err := os.Open(alive) // ends with the last process that has it open
			w.do(err)
			defer pipe.Close()
			w.see("All valid perks")
			w.press("3")
			w.see("property")
			w.write("1")
			w.press("Enter")
			w.see("Property 1: Sunny loft by the canal")
			w.press("e")
			w.see("Edit property 1", "> Title")
			w.write(" " + name)
			w.see(name)
			end(w)
			w.do(pipe.SetReadDeadline(time.Now().Add(atLast)))
			if _, err := io.ReadAll(pipe); err != nil {
				t.Fatalf("it goes on: %v", err)
			}
			kept, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(kept), "Sunny loft by the canal "+name) {
				t.Errorf("kept %s, %v", kept, err)
			}
			if err == nil {
				w.do(os.Remove(file))
			}
		})
	}
}
