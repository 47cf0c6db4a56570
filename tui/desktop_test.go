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

// place is where a person sits, and what has been done there.
type place struct {
	system   string // "linux" if it is empty
	env      map[string]string
	programs map[string]string // that are there: each "works", "fails" or "hangs"
	browser  string            // likewise, or "missing"

	fed, opened []string
	written     writes
}

type writes []string

func (w *writes) Write(text []byte) (int, error) {
	*w = append(*w, string(text))
	return len(text), nil
}

func (p *place) desktop(t *testing.T) *Desktop {
	d := NewDesktop(&p.written, func(name string) string { return p.env[name] })
	d.system, d.timeout = cmp.Or(p.system, "linux"), 20*time.Millisecond
	d.runClipboard = func(ctx context.Context, text string, command []string) error {
		switch p.programs[command[0]] {
		case "works":
			p.fed = append(p.fed, strings.Join(command, " ")+" < "+text)
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
		switch p.browser {
		case "works":
			p.opened = append(p.opened, address)
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

func TestTextIsCopiedToWhereThePersonSits(t *testing.T) {
	all := map[string]string{}
	for _, name := range []string{"pbcopy", "clip.exe", "termux-clipboard-set", "wl-copy", "xclip", "xsel", "tmux"} {
		all[name] = "works"
	}
	desk := map[string]string{"DISPLAY": ":0", "TERM": "xterm-256color"}
	for name, test := range map[string]struct {
		place place
		fed   string
		bytes string
	}{
		"at a desk":                    {place{env: desk, programs: all}, "xclip -in -selection clipboard < perk-1", ""},
		"at a desk without xclip":      {place{env: desk, programs: map[string]string{"xsel": "works"}}, "xsel --input --clipboard < perk-1", ""},
		"at a desk with Wayland":       {place{env: map[string]string{"WAYLAND_DISPLAY": "wayland-0", "DISPLAY": ":0"}, programs: all}, "wl-copy < perk-1", ""},
		"at a Mac":                     {place{system: "darwin", programs: all}, "pbcopy < perk-1", ""},
		"at Windows":                   {place{system: "windows", programs: all}, "clip.exe < perk-1", ""},
		"at Linux in Windows":          {place{env: map[string]string{"WSL_DISTRO_NAME": "Debian", "DISPLAY": ":0"}, programs: all}, "clip.exe < perk-1", ""},
		"at a telephone":               {place{env: map[string]string{"TERMUX_VERSION": "1"}, programs: all}, "termux-clipboard-set < perk-1", ""},
		"at a desk in tmux":            {place{env: map[string]string{"DISPLAY": ":0", "TMUX": "x"}, programs: all}, "xclip -in -selection clipboard < perk-1", ""},
		"no program for the clipboard": {place{env: desk}, "", bare},
		"the clipboard fails":          {place{env: desk, programs: map[string]string{"xclip": "fails"}}, "", bare},
		"the clipboard hangs":          {place{env: desk, programs: map[string]string{"xclip": "hangs"}}, "", bare},
		"no display":                   {place{env: map[string]string{"TERM": "xterm"}, programs: all}, "", bare},
		"over SSH":                     {place{env: map[string]string{"DISPLAY": "localhost:10", "SSH_TTY": "/dev/pts/1"}, programs: all}, "", bare},
		"over SSH to a Mac":            {place{system: "darwin", env: map[string]string{"SSH_CONNECTION": "a b c d"}, programs: all}, "", bare},
		"over SSH in tmux":             {place{env: map[string]string{"TMUX": "x", "SSH_TTY": "y", "DISPLAY": ":0"}, programs: all}, "tmux load-buffer -w - < perk-1", ""},
		"in a tmux that is too old":    {place{env: map[string]string{"TMUX": "x", "TERM": "screen-256color"}}, "", bare + wrapped},
		"in a tmux that hangs":         {place{env: map[string]string{"TMUX": "x"}, programs: map[string]string{"tmux": "hangs"}}, "", bare + wrapped},
		"over SSH from within tmux":    {place{env: map[string]string{"TERM": "tmux-256color", "SSH_TTY": "y"}, programs: all}, "", bare + wrapped},
		"in screen":                    {place{env: map[string]string{"STY": "1.x", "TERM": "xterm"}}, "", bare + wrappedOther},
		"over SSH from within screen":  {place{env: map[string]string{"TERM": "screen.xterm", "SSH_TTY": "y"}}, "", bare + wrappedOther},
	} {
		t.Run(name, func(t *testing.T) {
			p := &test.place
			if err := p.desktop(t).Copy("perk-1"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.fed, ", "); got != test.fed {
				t.Errorf("it ran %q, want %q", got, test.fed)
			}
			if got := strings.Join(p.written, ""); got != test.bytes || len(p.written) > 1 {
				t.Errorf("written to the terminal: %q, want %q in one piece", []string(p.written), test.bytes)
			}
		})
	}
}

func TestTheClipboardOfWindowsGetsOnlyWhatItReadsRight(t *testing.T) {
	p := &place{system: "windows", programs: map[string]string{"clip.exe": "works"}}
	if err := p.desktop(t).Copy("café"); err != nil || len(p.fed) > 0 || len(p.written) != 1 {
		t.Errorf("%v, it ran %q and wrote %q", err, p.fed, []string(p.written))
	}
}

func TestAProgramReadsTheTextUntilItsTimeIsUp(t *testing.T) {
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
		t.Error("a program that never ends has ended well")
	}
	if err := runClipboard(t.Context(), "perk-1", []string{"no-such-clipboard"}); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("a program that is not there: %v", err)
	}
}

func TestWhatIsCopiedRunsNothing(t *testing.T) {
	for text, want := range map[string]string{
		"perk-1\nrm -rf ~\r\n":   "perk-1 rm -rf ~  ",
		"\x1b]0;x\aperk\u202e-1": "]0;xperk-1",
	} {
		p := &place{}
		if err := p.desktop(t).Copy(text); err != nil {
			t.Fatal(err)
		}
		if want := "\x1b]52;c;" + base64.StdEncoding.EncodeToString([]byte(want)) + "\a"; p.written[0] != want {
			t.Errorf("%q is copied as %q, want %q", text, p.written[0], want)
		}
	}
}

func TestWhatCannotBeCopiedIsToldInASentence(t *testing.T) {
	for want, test := range map[string]struct {
		text string
		env  map[string]string
	}{
		"there is nothing to copy":                               {"\x1b\a", nil},
		"the text is too long to copy: 74001 bytes":              {strings.Repeat("x", 74_001), nil},
		"this terminal has no clipboard: select the text in the": {"perk-1", map[string]string{"TERM": "dumb"}},
		"this terminal has no clipboard":                         {"perk-1", map[string]string{"TERM": "linux"}},
	} {
		p := &place{env: test.env}
		if err := p.desktop(t).Copy(test.text); err == nil || !strings.Contains(err.Error(), want) || len(p.written) > 0 {
			t.Errorf("%q: %v, written: %q", want, err, []string(p.written))
		}
	}
	read, closed := io.Pipe()
	_ = read.Close()
	if err := NewDesktop(closed, func(string) string { return "" }).copyByTerminal("perk-1"); err == nil || !strings.Contains(err.Error(), "could not write to the terminal") {
		t.Error(err)
	}
}

func TestTheLongestTextStaysBelowWhatTerminalsTake(t *testing.T) {
	p := &place{}
	if err := p.desktop(t).Copy(strings.Repeat("x", maxCopied)); err != nil {
		t.Fatal(err)
	}
	if n := len(p.written[0]); n > 100_000 {
		t.Errorf("%d bytes were written", n)
	}
}

func TestAddressesOpenWhereThePersonSits(t *testing.T) {
	const address = "https://images.test/coffee.png"
	desk := map[string]string{"DISPLAY": ":0"}
	for name, test := range map[string]struct {
		place  place
		opened bool
		want   string
	}{
		"at a desk":                 {place{env: desk, browser: "works"}, true, ""},
		"a browser that takes long": {place{env: desk, browser: "hangs"}, false, ""},
		"a browser that fails":      {place{env: desk, browser: "fails"}, false, "the browser did not open (exit status 1): open " + address + " in one yourself"},
		"no browser":                {place{env: desk, browser: "missing"}, false, "no browser was found: open " + address + " in one yourself"},
		"no desktop":                {place{browser: "works"}, false, "there is no desktop here: open " + address + " in a browser elsewhere"},
		"over SSH":                  {place{env: map[string]string{"DISPLAY": ":0", "SSH_TTY": "x"}, browser: "works"}, false, "no browser can be opened over SSH: open " + address + " in your own"},
		"Windows beside this Linux": {place{env: map[string]string{"WSL_DISTRO_NAME": "Debian"}, browser: "works"}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := &test.place
			got := ""
			if err := p.desktop(t).Open(address); err != nil {
				got = err.Error()
			}
			if got != test.want || (strings.Join(p.opened, ",") == address) != test.opened {
				t.Errorf("%q, opened %q; want %q", got, p.opened, test.want)
			}
		})
	}
}

func TestOnlyWebAddressesOpen(t *testing.T) {
	for _, address := range []string{
		"", "images.test/coffee.png", "file:///etc/passwd", "javascript:alert(1)", "ms-settings:x", "--version", "-psn", "https://",
		"http:coffee.png", "https://images.test/\nx", "https://images.test/a b", "smb://images.test/x", "HTTPS//images.test",
	} {
		p := &place{env: map[string]string{"DISPLAY": ":0"}, browser: "works"}
		if err := p.desktop(t).Open(address); err == nil || !strings.Contains(err.Error(), "was not opened: ") || len(p.opened) > 0 {
			t.Errorf("%q: %v, opened %q", address, err, p.opened)
		}
	}
}

func TestABrowserDoesNotWriteOverTheScreen(t *testing.T) {
	var before bytes.Buffer
	browser.Stdout, browser.Stderr = &before, &before
	p := &place{env: map[string]string{"DISPLAY": ":0"}, browser: "works"}
	if err := p.desktop(t).Open("https://images.test/"); err != nil {
		t.Fatal(err)
	}
	if browser.Stdout != io.Discard || browser.Stderr != io.Discard {
		t.Error("it can write to the terminal")
	}
}
