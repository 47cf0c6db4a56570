package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"
)

// TestBackgroundIsSetBeforeBubbletea checks the order of package initialisation: bubbletea queries the terminal's
// background on import unless it is already set.
func TestBackgroundIsSetBeforeBubbletea(t *testing.T) {
	trace := initialisation(t)
	background := strings.Index(trace, "init example.com/perks/tui/background ")
	bubbletea := strings.Index(trace, "init github.com/charmbracelet/bubbletea ")
	if background < 0 || bubbletea < 0 || background > bubbletea {
		t.Errorf("background initialised at %d, bubbletea at %d of\n%s", background, bubbletea, trace)
	}
}

// TestPackagesInitialiseLittle finds what every command pays for, even version: a regular expression that is compiled,
// or a table that is filled, before main runs. The memory that it allocates tells it better than its time.
func TestPackagesInitialiseLittle(t *testing.T) {
	const most = 4 << 10
	line := regexp.MustCompile(`(?m)^init example\.com/perks/((?:api|cli|tui)(?:/\S+)?) .* (\d+) bytes`)
	packages := line.FindAllStringSubmatch(initialisation(t), -1)
	for _, p := range packages {
		if bytes, err := strconv.Atoi(p[2]); err != nil || bytes > most {
			t.Errorf("%s allocates %s bytes before main, want at most %d: use sync.OnceValue", p[1], p[2], most)
		}
	}
	if len(packages) == 0 {
		t.Error("no package of ours was traced")
	}
}

// initialisation returns the runtime's trace of the packages that are initialised before main.
func initialisation(t *testing.T) string {
	t.Helper()
	cmd := exec.Command("perksctl", "version")
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1", "GORACE=atexit_sleep_ms=0")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return trace.String()
}

// Escape sequences for the alternate screen, the main screen and the cursor.
const (
	alternateScreen = "\x1b[?1049h"
	mainScreen      = "\x1b[?1049l"
	showCursor      = "\x1b[?25h"
)

func TestTerminalIsRestored(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(screen io.Writer, process *os.Process) error
		code int
	}{
		"by ctrl+c": {func(screen io.Writer, _ *os.Process) error { _, err := screen.Write([]byte{3}); return err },
			0},
		"by SIGTERM": {func(_ io.Writer, process *os.Process) error { return process.Signal(syscall.SIGTERM) }, 130},
	} {
		cmd, screen := onTerminal(t, "tui")
		shown := readUntil(screen, "Address of the API")
		if !strings.Contains(shown, alternateScreen) {
			t.Errorf("%s: the login is not on the alternate screen: %q", name, shown)
		}
		if err := test.end(screen, cmd.Process); err != nil {
			t.Error(err)
		}
		rest, _ := io.ReadAll(screen) // ends with EIO when perksctl does
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != test.code || !strings.Contains(string(rest), mainScreen) ||
			!strings.Contains(string(rest), showCursor) {
			t.Errorf("%s: exit code %d, want %d; remaining output: %q", name, code, test.code, rest)
		}
	}
}

func TestInterruptCancelsQuestionThenQuits(t *testing.T) {
	cmd, screen := onTerminal(t, "tui", "--accessible")
	readUntil(screen, "Address of the API")
	for range 2 {
		if _, err := screen.Write([]byte{3}); err != nil {
			t.Fatal(err)
		}
		if shown := readUntil(screen, "Cancelled."); strings.Contains(shown, "\x1b") {
			t.Errorf("the output has an escape sequence: %q", shown)
		}
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// onTerminal starts perksctl on a new terminal, and returns the terminal's other end.
func onTerminal(t *testing.T, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	screen, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { screen.Close() })
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("perksctl", args...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "COLORTERM=truecolor", "NO_COLOR=1",
		"PERKSCTL_CONFIG_DIR="+t.TempDir(), "PERKSCTL_KEYRING=off", "GORACE=atexit_sleep_ms=0")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
	// a background process would not query the terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	tty.Close()
	return cmd, screen
}

// readUntil returns the output up to a text, or all output.
func readUntil(screen io.Reader, text string) string {
	var shown strings.Builder
	part := make([]byte, 4096)
	for !strings.Contains(shown.String(), text) {
		n, err := screen.Read(part)
		shown.Write(part[:n])
		if err != nil {
			break
		}
	}
	return shown.String()
}
