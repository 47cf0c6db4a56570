package desktop

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cli/browser"

	"example.com/perks/tui/screen"
)

var _ screen.Desktop = New(nil, nil)

// place is where a person sits, and what has been done there.
type place struct {
	env       map[string]string
	clipboard string // "works", "fails", "hangs", or "" for none
	tmux      string
	browser   string

	copied, tmuxed, opened []string
	written                writes
}

type writes []string

func (w *writes) Write(text []byte) (int, error) {
	*w = append(*w, string(text))
	return len(text), nil
}

func (p *place) desktop(t *testing.T) *Desktop {
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	does := func(how string, calls *[]string) func(string) error {
		return func(text string) error {
			switch how {
			case "works":
				*calls = append(*calls, text)
				return nil
			case "hangs":
				<-hang
			case "missing":
				return &exec.Error{Name: "xdg-open", Err: exec.ErrNotFound}
			}
			return errors.New("exit status 1")
		}
	}
	d := New(&p.written, func(name string) string { return p.env[name] })
	d.patience, d.graphical = 20*time.Millisecond, false
	d.clipboard, d.tmux, d.browse = does(p.clipboard, &p.copied), does(p.tmux, &p.tmuxed), does(p.browser, &p.opened)
	if p.clipboard == "" {
		d.clipboard = nil
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
	desk := map[string]string{"DISPLAY": ":0", "TERM": "xterm-256color"}
	for name, test := range map[string]struct {
		place  place
		copied bool
		tmuxed bool
		bytes  string
	}{
		"at a desk":                              {place{env: desk, clipboard: "works"}, true, false, ""},
		"at a desk with Wayland":                 {place{env: map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, clipboard: "works"}, true, false, ""},
		"at a desk in tmux":                      {place{env: map[string]string{"DISPLAY": ":0", "TMUX": "x"}, clipboard: "works", tmux: "works"}, true, false, ""},
		"no program for the clipboard":           {place{env: desk}, false, false, bare},
		"the clipboard fails":                    {place{env: desk, clipboard: "fails"}, false, false, bare},
		"the clipboard hangs":                    {place{env: desk, clipboard: "hangs"}, false, false, bare},
		"no display":                             {place{env: map[string]string{"TERM": "xterm"}, clipboard: "works"}, false, false, bare},
		"over SSH":                               {place{env: map[string]string{"DISPLAY": "localhost:10", "SSH_TTY": "/dev/pts/1"}, clipboard: "works"}, false, false, bare},
		"over SSH without a terminal of its own": {place{env: map[string]string{"DISPLAY": ":0", "SSH_CONNECTION": "a b c d"}, clipboard: "works"}, false, false, bare},
		"in tmux":                                {place{env: map[string]string{"TMUX": "x", "SSH_TTY": "y"}, clipboard: "works", tmux: "works"}, false, true, ""},
		"in a tmux that is too old":              {place{env: map[string]string{"TMUX": "x", "TERM": "screen-256color"}, tmux: "fails"}, false, false, bare + wrapped},
		"in a tmux that hangs":                   {place{env: map[string]string{"TMUX": "x"}, tmux: "hangs"}, false, false, bare + wrapped},
		"over SSH from within tmux":              {place{env: map[string]string{"TERM": "tmux-256color", "SSH_TTY": "y"}, tmux: "works"}, false, false, bare + wrapped},
		"in screen":                              {place{env: map[string]string{"STY": "1.x", "TERM": "xterm"}}, false, false, bare + wrappedOther},
		"over SSH from within screen":            {place{env: map[string]string{"TERM": "screen.xterm", "SSH_TTY": "y"}}, false, false, bare + wrappedOther},
	} {
		t.Run(name, func(t *testing.T) {
			p := &test.place
			if err := p.desktop(t).Copy("perk-1"); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(p.copied, ","); (got == "perk-1") != test.copied {
				t.Errorf("on the clipboard: %q", got)
			}
			if got := strings.Join(p.tmuxed, ","); (got == "perk-1") != test.tmuxed {
				t.Errorf("in tmux's buffer: %q", got)
			}
			if got := strings.Join(p.written, ""); got != test.bytes || len(p.written) > 1 {
				t.Errorf("written to the terminal: %q", []string(p.written))
			}
		})
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
		"There is nothing to copy.":                              {"\x1b\a", nil},
		"The text is too long to copy: it has 74001 bytes":       {strings.Repeat("x", 74_001), nil},
		"This terminal has no clipboard. Select the text in the": {"perk-1", map[string]string{"TERM": "dumb"}},
		"This terminal has no clipboard.":                        {"perk-1", map[string]string{"TERM": "linux"}},
	} {
		p := &place{env: test.env}
		if err := p.desktop(t).Copy(test.text); err == nil || !strings.Contains(err.Error(), want) || len(p.written) > 0 {
			t.Errorf("%q: %v, written: %q", want, err, []string(p.written))
		}
	}
	read, closed := io.Pipe()
	_ = read.Close()
	if err := New(closed, func(string) string { return "" }).copyByTerminal("perk-1"); err == nil || !strings.Contains(err.Error(), "The terminal did not take the text") {
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
		"a browser that fails":      {place{env: desk, browser: "fails"}, false, "The browser did not open (exit status 1). The address is " + address},
		"no browser":                {place{env: desk, browser: "missing"}, false, "No browser was found. The address is " + address},
		"no desktop":                {place{browser: "works"}, false, "There is no desktop here to open a browser on. The address is " + address},
		"over SSH":                  {place{env: map[string]string{"DISPLAY": ":0", "SSH_TTY": "x"}, browser: "works"}, false, "No browser can be opened over SSH. The address is " + address},
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
