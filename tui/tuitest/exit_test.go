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

// TestTerminalIsRestored ends the terminal UI by keys, signals and panics while it uses the mouse.
func TestTerminalIsRestored(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	real, faulty := "perksctl tui --mouse", "env "+faultyEnv+"=1 "+os.Args[0]
	key := func(name string) func(*window) { return func(w *window) { w.press(name) } }
	for _, test := range []struct {
		name, command, shown string
		end                  func(*window)
		code                 int
		message              string
	}{
		{"q", real, "find: words", key("q"), 0, ""},
		{"ctrl+c", real, "find: words", key("ctrl+c"), 0, ""},
		{"SIGTERM", real, "find: words", signal(syscall.SIGTERM), 130, ""},
		{"SIGHUP", real, "find: words", signal(syscall.SIGHUP), 130, ""},
		{"a fault in Update", faulty, "Address of the API", key("f5"), 1, "The terminal UI failed: a fault in Update."},
		{"a fault in View", faulty, "Address of the API", key("f6"), 1, "The terminal UI failed: a fault in View."},
		{"a fault in a command", faulty, "Address of the API", key("f7"), 1,
			"The terminal UI failed: a fault in a command."},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			w := d.window(t, 100, 30)
			w.enter("stty -a >before; sh -c 'echo $$ >pid; exec " + test.command + "'; echo exited\\ with $?")
			w.see(test.shown)
			w.awaitModes("cursor 0, other screen 1, mouse 1")
			test.end(w)
			screen := w.see("exited with ", test.message)
			if !strings.Contains(screen, "exited with "+strconv.Itoa(test.code)) {
				t.Errorf("want exit code %d:\n%s", test.code, screen)
			}
			w.checkRestored()
			if report := test.message != ""; report && !strings.Contains(w.read("report.txt"), "goroutine ") {
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

// modes returns the terminal modes that a program sets and tmux can report.
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

// checkRestored checks that the shell has its terminal back. It pastes the command, because a shell misreads pasted
// text while bracketed paste is still on.
func (w *window) checkRestored() {
	w.t.Helper()
	w.do(w.terminal.Paste(w.ctx, "stty -a >after; echo the prompt' 'works\n"))
	screen := w.see("the prompt works")
	if before, after := w.read("before"), w.read("after"); before != after {
		w.t.Errorf("stty printed\n%s\nbefore and\n%s\nafter", before, after)
	}
	if now := w.modes(); now != "cursor 1, other screen 0, mouse 0" {
		w.t.Errorf("terminal modes: %s", now)
	}
	if strings.Contains(screen, "Address of the API") || strings.Contains(screen, "find: words") {
		w.t.Errorf("the terminal UI is still visible:\n%s", screen)
	}
}

// TestClosedWindowEndsProgram waits for the process, which must not keep running without a terminal. A shell that
// ignores SIGHUP does not forward it.
func TestClosedWindowEndsProgram(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	for name, first := range map[string]string{"shell exits": "true", "shell ignores SIGHUP": "trap : HUP"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := d.window(t, 100, 30)
			alive := filepath.Join(w.dir, "alive")
			w.do(syscall.Mkfifo(alive, 0o600))
			w.enter(first + "; perksctl tui 3>alive")
			pipe, err := os.Open(alive) // EOF when the last process that has it open exits
			w.do(err)
			defer pipe.Close()
			w.see("find: words")
			w.do(w.terminal.Close())
			w.do(pipe.SetReadDeadline(time.Now().Add(exitTimeout)))
			if _, err := io.ReadAll(pipe); err != nil {
				t.Errorf("it is still running: %v", err)
			}
		})
	}
}

// TestDraftIsOfferedOnceItsOwnerHasEnded edits in one window what is open in another, and kills the first.
func TestDraftIsOfferedOnceItsOwnerHasEnded(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	edit := func() *window {
		w := d.window(t, 100, 30)
		w.enter("sh -c 'echo $$ >pid; exec perksctl tui property 1'")
		w.see("Property 1: Sunny loft", "enter edit")
		w.press("e")
		return w
	}
	first := edit()
	first.see("Edit property 1")
	first.write(" and mine")
	_, err := first.terminal.Await(t.Context(), "a draft", func(string) bool {
		kept, _ := os.ReadFile(filepath.Join(d.Dir, "perksctl", "drafts.json"))
		return strings.Contains(string(kept), "and mine")
	})
	first.do(err)
	edit().see("Edit property 1") // at once, although there is a draft
	signal(syscall.SIGKILL)(first)
	first.see("Killed")
	edit().see("Unsaved draft: title", "Resume")
}

// TestTypedTextIsKeptAfterExit ends the program right after a key, and reads the saved draft.
func TestTypedTextIsKeptAfterExit(t *testing.T) {
	t.Parallel()
	d := loggedIn(t)
	file := filepath.Join(d.Dir, "perksctl", "drafts.json")
	for name, end := range map[string]func(*window){
		"SIGTERM": signal(syscall.SIGTERM),
		"SIGHUP":  signal(syscall.SIGHUP),
		"ctrl+c":  func(w *window) { w.press("ctrl+c", "ctrl+c") },
		"window closed": func(w *window) {
			w.do(w.terminal.Close())
		},
		"ctrl+z and SIGKILL": func(w *window) {
			w.play(`ctrl+z => Stopped`)
			signal(syscall.SIGKILL)(w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := d.window(t, 100, 30)
			alive := filepath.Join(w.dir, "alive")
			w.do(syscall.Mkfifo(alive, 0o600))
			w.enter("sh -c 'echo $$ >pid; exec perksctl tui 3>alive'")
			pipe, err := os.Open(alive) // EOF when the last process that has it open exits
			w.do(err)
			defer pipe.Close()
			w.play(`
				=> find: words
				3 => price:
				"1" enter => Property 1: Sunny loft by the canal
				e => Edit property 1 | > Title`)
			w.write(" " + name)
			w.see(name)
			end(w)
			w.do(pipe.SetReadDeadline(time.Now().Add(exitTimeout)))
			if _, err := io.ReadAll(pipe); err != nil {
				t.Fatalf("it is still running: %v", err)
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
