package tui

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cli/browser"

	"example.com/perks/tui/screen"
)

var _ screen.Desktop = NewDesktop(nil, nil)

// machine is a computer with its programs, and what was run on it.
type machine struct {
	system   string // "linux" if it is empty
	env      map[string]string
	programs map[string]string // installed ones: each "works", "fails" or "hangs"
	browser  string            // the same, or "missing"

	ran, opened []string
	written     writes
}

type writes []string

func (w *writes) Write(text []byte) (int, error) {
	*w = append(*w, string(text))
	return len(text), nil
}

func (m *machine) desktop(t *testing.T) *Desktop {
	d := NewDesktop(&m.written, func(name string) string { return m.env[name] })
	d.system, d.timeout = cmp.Or(m.system, "linux"), 20*time.Millisecond
	d.runClipboard = func(ctx context.Context, text string, command []string) error {
		switch m.programs[command[0]] {
		case "works":
			m.ran = append(m.ran, strings.Join(command, " ")+" < "+text)
			return nil
		case "hangs":
			<-ctx.Done()
			return ctx.Err()
		}
		return errors.New("exit status 1")
	}
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	d.browse = func(address string) error {
		switch m.browser {
		case "works":
			m.opened = append(m.opened, address)
			return nil
		case "hangs":
			<-hang
		case "missing":
			return &exec.Error{Name: "xdg-open", Err: exec.ErrNotFound}
		}
		return errors.New("exit status 1")
	}
	return d
}

const (
	// "perk-1" in base64 is cGVyay0x.
	bare         = "\x1b]52;c;cGVyay0x\a"
	wrapped      = "\x1bPtmux;\x1b\x1b]52;c;cGVyay0x\a\x1b\\"
	wrappedOther = "\x1bP\x1b]52;c;cGVyay0x\a\x1b\\"
)

func TestCopyUsesTheUsersClipboard(t *testing.T) {
	all := map[string]string{}
	for _, name := range []string{"pbcopy", "clip.exe", "termux-clipboard-set", "wl-copy", "xclip", "xsel", "tmux"} {
		all[name] = "works"
	}
	x11 := map[string]string{"DISPLAY": ":0", "TERM": "xterm-256color"}
	for name, test := range map[string]struct {
		machine machine
		ran     string
		written string
	}{
		"X11": {machine{env: x11, programs: all}, "xclip -in -selection clipboard < perk-1", ""},
		"X11 without xclip": {machine{env: x11, programs: map[string]string{"xsel": "works"}},
			"xsel --input --clipboard < perk-1", ""},
		"Wayland": {machine{env: map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"},
			programs: all}, "wl-copy < perk-1", ""},
		"macOS":   {machine{system: "darwin", programs: all}, "pbcopy < perk-1", ""},
		"Windows": {machine{system: "windows", programs: all}, "clip.exe < perk-1", ""},
		"WSL": {machine{env: map[string]string{"WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"},
			programs: all}, "clip.exe < perk-1", ""},
		"Termux": {machine{env: map[string]string{"TERMUX_VERSION": "1"}, programs: all},
			"termux-clipboard-set < perk-1", ""},
		"X11 in tmux": {machine{env: map[string]string{"DISPLAY": ":0", "TMUX": "x"}, programs: all},
			"xclip -in -selection clipboard < perk-1", ""},
		"no clipboard program":    {machine{env: x11}, "", bare},
		"clipboard program fails": {machine{env: x11, programs: map[string]string{"xclip": "fails"}}, "", bare},
		"clipboard program hangs": {machine{env: x11, programs: map[string]string{"xclip": "hangs"}}, "", bare},
		"no display":              {machine{env: map[string]string{"TERM": "xterm"}, programs: all}, "", bare},
		"over SSH": {machine{env: map[string]string{"DISPLAY": "localhost:10", "SSH_TTY": "/dev/pts/1"},
			programs: all}, "", bare},
		"over SSH to macOS": {machine{system: "darwin", env: map[string]string{"SSH_CONNECTION": "a b c d"},
			programs: all}, "", bare},
		"over SSH in tmux": {machine{env: map[string]string{"TMUX": "x", "SSH_TTY": "y", "DISPLAY": ":0"},
			programs: all}, "tmux load-buffer -w - < perk-1", ""},
		"in an old tmux": {machine{env: map[string]string{"TMUX": "x", "TERM": "screen-256color"}}, "",
			bare + wrapped},
		"in a tmux that hangs": {machine{env: map[string]string{"TMUX": "x"},
			programs: map[string]string{"tmux": "hangs"}}, "", bare + wrapped},
		"over SSH from tmux": {machine{env: map[string]string{"TERM": "tmux-256color", "SSH_TTY": "y"},
			programs: all}, "", bare + wrapped},
		"in screen": {machine{env: map[string]string{"STY": "1.x", "TERM": "xterm"}}, "",
			bare + wrappedOther},
		"over SSH from screen": {machine{env: map[string]string{"TERM": "screen.xterm", "SSH_TTY": "y"}}, "",
			bare + wrappedOther},
	} {
		t.Run(name, func(t *testing.T) {
			m := &test.machine
			if err := m.desktop(t).Copy("perk-1"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(m.ran, ", "); got != test.ran {
				t.Errorf("ran %q, want %q", got, test.ran)
			}
			if got := strings.Join(m.written, ""); got != test.written || len(m.written) > 1 {
				t.Errorf("wrote %q to the terminal, want %q in one write", []string(m.written), test.written)
			}
		})
	}
}

func TestWindowsClipboardGetsOnlyASCII(t *testing.T) {
	m := &machine{system: "windows", programs: map[string]string{"clip.exe": "works"}}
	if err := m.desktop(t).Copy("café"); err != nil || len(m.ran) > 0 || len(m.written) != 1 {
		t.Errorf("%v, ran %q and wrote %q", err, m.ran, []string(m.written))
	}
}

func TestRunClipboard(t *testing.T) {
	file := filepath.Join(t.TempDir(), "clipboard")
	if err := runClipboard(t.Context(), "perk-1", []string{"sh", "-c", "cat >" + file}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "perk-1" {
		t.Errorf("%q, %v", got, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := runClipboard(ctx, "perk-1", []string{"sleep", "60"}); err == nil {
		t.Error("a program that hangs returned no error")
	}
	if err := runClipboard(t.Context(), "perk-1", []string{"no-such-clipboard"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a missing program: %v", err)
	}
}

func TestCopyRemovesControlCharacters(t *testing.T) {
	for text, want := range map[string]string{
		"perk-1\nrm -rf ~\r\n":   "perk-1 rm -rf ~  ",
		"\x1b]0;x\aperk\u202e-1": "]0;xperk-1",
	} {
		m := &machine{}
		if err := m.desktop(t).Copy(text); err != nil {
			t.Fatal(err)
		}
		if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(want)) + "\a"; m.written[0] != want {
			t.Errorf("%q was copied as %q, want %q", text, m.written[0], want)
		}
	}
}

func TestCopyErrors(t *testing.T) {
	for want, test := range map[string]struct {
		text string
		env  map[string]string
	}{
		"there is nothing to copy":                               {"\x1b\a", nil},
		"the text is too long to copy: 74001 bytes":              {strings.Repeat("x", 74_001), nil},
		"this terminal has no clipboard: select the text in the": {"perk-1", map[string]string{"TERM": "dumb"}},
		"this terminal has no clipboard":                         {"perk-1", map[string]string{"TERM": "linux"}},
	} {
		m := &machine{env: test.env}
		if err := m.desktop(t).Copy(test.text); err == nil || !strings.Contains(err.Error(), want) ||
			len(m.written) > 0 {
			t.Errorf("%q: %v, written: %q", want, err, []string(m.written))
		}
	}
	read, closed := io.Pipe()
	_ = read.Close()
	if err := NewDesktop(closed, func(string) string { return "" }).copyByTerminal("perk-1"); err == nil ||
		!strings.Contains(err.Error(), "could not write to the terminal") {
		t.Error(err)
	}
}

func TestLongestCopyFitsTerminalLimits(t *testing.T) {
	m := &machine{}
	if err := m.desktop(t).Copy(strings.Repeat("x", maxCopied)); err != nil {
		t.Fatal(err)
	}
	if n := len(m.written[0]); n > 100_000 {
		t.Errorf("wrote %d bytes", n)
	}
}

func TestOpenUsesTheUsersBrowser(t *testing.T) {
	const address = "https://images.test/coffee.png"
	x11 := map[string]string{"DISPLAY": ":0"}
	for name, test := range map[string]struct {
		machine machine
		opened  bool
		want    string
	}{
		"X11":          {machine{env: x11, browser: "works"}, true, ""},
		"slow browser": {machine{env: x11, browser: "hangs"}, false, ""},
		"browser fails": {machine{env: x11, browser: "fails"}, false,
			"the browser did not open (exit status 1): open " + address + " in one yourself"},
		"no browser": {machine{env: x11, browser: "missing"}, false,
			"no browser was found: open " + address + " in one yourself"},
		"no desktop": {machine{browser: "works"}, false, "there is no desktop here: open " + address +
			" in a browser elsewhere"},
		"over SSH": {machine{env: map[string]string{"DISPLAY": ":0", "SSH_TTY": "x"}, browser: "works"}, false,
			"no browser can be opened over SSH: open " + address + " in your own"},
		"WSL": {machine{env: map[string]string{"WSL_DISTRO_NAME": "Debian"}, browser: "works"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := &test.machine
			got := ""
			if err := m.desktop(t).Open(address); err != nil {
				got = err.Error()
			}
			if got != test.want || (strings.Join(m.opened, ",") == address) != test.opened {
				t.Errorf("%q, opened %q; want %q", got, m.opened, test.want)
			}
		})
	}
}

func TestOpenAcceptsOnlyWebAddresses(t *testing.T) {
	for _, address := range []string{
		"", "images.test/coffee.png", "file:///etc/passwd", "javascript:alert(1)", "ms-settings:x", "--version", "-psn",
		"https://",
		"http:coffee.png", "https://images.test/\nx", "https://images.test/a b", "smb://images.test/x",
		"HTTPS//images.test",
	} {
		m := &machine{env: map[string]string{"DISPLAY": ":0"}, browser: "works"}
		if err := m.desktop(t).Open(address); err == nil || !strings.Contains(err.Error(), "was not opened: ") ||
			len(m.opened) > 0 {
			t.Errorf("%q: %v, opened %q", address, err, m.opened)
		}
	}
}

func TestBrowserOutputIsDiscarded(t *testing.T) {
	var before bytes.Buffer
	browser.Stdout, browser.Stderr = &before, &before
	m := &machine{env: map[string]string{"DISPLAY": ":0"}, browser: "works"}
	if err := m.desktop(t).Open("https://images.test/"); err != nil {
		t.Fatal(err)
	}
	if browser.Stdout != io.Discard || browser.Stderr != io.Discard {
		t.Error("the browser can write to the terminal")
	}
}

func TestNoticesReachTheTerminal(t *testing.T) {
	const bare = "\x1b]9;2 wait, not more\a"
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"a terminal": {map[string]string{"TERM": "xterm-256color"}, bare},
		"tmux": {map[string]string{"TERM": "xterm-256color", "TMUX": "x"},
			"\x1bPtmux;\x1b\x1b]9;2 wait, not more\a\x1b\\"},
		"tmux over SSH":                  {map[string]string{"TERM": "tmux-256color"}, "\x1bPtmux;\x1b" + bare + "\x1b\\"},
		"screen":                         {map[string]string{"TERM": "screen", "STY": "x"}, "\x1bP" + bare + "\x1b\\"},
		"a console that would print it":  {map[string]string{"TERM": "linux"}, "\a"},
		"a terminal without any control": {map[string]string{"TERM": "dumb"}, "\a"},
	} {
		m := machine{env: test.env}
		if err := m.desktop(t).Notify("2 wait,\nnot\x1b\a more"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.written) != 1 || m.written[0] != test.want {
			t.Errorf("%s: wrote %q, want %q at once", name, m.written, test.want)
		}
	}
	m := machine{}
	if err := m.desktop(t).Ring(); err != nil || len(m.written) != 1 || m.written[0] != "\a" {
		t.Errorf("the bell: %v, %q", err, m.written)
	}
}
