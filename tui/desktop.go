package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/aymanbagabas/go-osc52/v2"
	"github.com/cli/browser"

	"example.com/perks/api"
	"example.com/perks/api/display"
	"example.com/perks/api/rows"
)

// desktopTimeout is how long a clipboard or a browser may take.
const desktopTimeout = 2 * time.Second

// Desktop is the clipboard, the browser and the files around a terminal. It implements screen.Desktop.
type Desktop struct {
	terminal io.Writer
	env      func(name string) string
	system   string // as runtime.GOOS
	timeout  time.Duration

	runClipboard func(ctx context.Context, text string, command []string) error // runs a program that reads the text
	browse       func(address string) error
	muteBrowser  sync.Once // of the browser, whose output would corrupt the screen
}

// NewDesktop returns the desktop of a terminal. That must be the writer that the terminal UI draws on: what asks it to
// copy is written in one call, so that it falls between two frames.
func NewDesktop(terminal io.Writer, env func(name string) string) *Desktop {
	return &Desktop{
		terminal: terminal, env: env, system: runtime.GOOS, timeout: desktopTimeout,
		runClipboard: runClipboard, browse: browser.OpenURL,
	}
}

// runClipboard runs a clipboard program that reads the text.
func runClipboard(ctx context.Context, text string, command []string) error {
	// #nosec G204 -- a clipboard program from the list above
	program := exec.CommandContext(ctx, command[0], command[1:]...)
	program.Stdin = strings.NewReader(text)
	program.WaitDelay = time.Second
	return program.Run()
}

// Save makes a file.
func (d *Desktop) Save(path string, replace bool, write func(io.Writer) error) (whole string, err error) {
	if rest, isHome := strings.CutPrefix(path, "~/"); isHome {
		path = filepath.Join(d.env("HOME"), rest)
	}
	if path, err = filepath.Abs(path); err != nil {
		return path, err
	}
	return path, rows.WriteFile(path, replace, write)
}

// isRemote tells whether the user is at another computer.
func (d *Desktop) isRemote() bool { return d.has("SSH_TTY") || d.has("SSH_CONNECTION") }

func (d *Desktop) has(name string) bool { return d.env(name) != "" }

// hasWindows tells whether there is a desktop. Without one, a text browser would use the terminal.
func (d *Desktop) hasWindows() bool {
	return d.system == "darwin" || d.system == "windows" ||
		d.has("DISPLAY") || d.has("WAYLAND_DISPLAY") || d.has("WSL_DISTRO_NAME") || d.has("TERMUX_VERSION")
}

// maxCopied is what terminals accept: many stop at 100,000 bytes of base64 and escapes, some a little earlier.
const maxCopied = 74_000

// Copy puts a text on the clipboard, in one line without control characters: a line feed pasted into a shell would run
// it. It uses the clipboard of the system if the user is at this computer, else that of the terminal (OSC 52), which
// does not confirm.
func (d *Desktop) Copy(text string) error {
	text = display.Line(text)
	switch {
	case text == "":
		return errors.New("there is nothing to copy")
	case len(text) > maxCopied:
		return fmt.Errorf("the text is too long to copy: %d bytes, and terminals take at most %d", len(text), maxCopied)
	}
	for _, command := range d.clipboards(text) {
		// the time limit is for commands that hang, such as xclip if the display does not respond
		ctx, cancel := context.WithTimeout(context.Background(), d.timeout)
		err := d.runClipboard(ctx, text, command)
		cancel()
		if err == nil {
			return nil
		}
	}
	return d.copyByTerminal(text)
}

// clipboards returns the programs to try, the nearest to the user first. They are looked up only now: libraries that do
// this search PATH when any program starts.
func (d *Desktop) clipboards(text string) (commands [][]string) {
	if !d.isRemote() {
		commands = d.systemClipboards(text)
	}
	if d.has("TMUX") {
		// tmux passes the text on to its own terminal. Unlike an escape sequence that works with its default settings
		// (from 3.2 on).
		commands = append(commands, []string{"tmux", "load-buffer", "-w", "-"})
	}
	return commands
}

func (d *Desktop) systemClipboards(text string) (commands [][]string) {
	switch {
	case d.system == "darwin":
		return [][]string{{"pbcopy"}}
	case d.system == "windows" || d.has("WSL_DISTRO_NAME"):
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			return nil // it would read UTF-8 as the code page that is set; terminals there do not
		}
		return [][]string{{"clip.exe"}}
	case d.has("TERMUX_VERSION"):
		return [][]string{{"termux-clipboard-set"}}
	}
	if d.has("WAYLAND_DISPLAY") {
		commands = append(commands, []string{"wl-copy"})
	}
	if d.has("DISPLAY") {
		commands = append(commands, []string{"xclip", "-in", "-selection", "clipboard"},
			[]string{"xsel", "--input", "--clipboard"})
	}
	return commands
}

func (d *Desktop) copyByTerminal(text string) error {
	term := d.env("TERM")
	if term == "dumb" || term == "linux" {
		return errors.New("this terminal has no clipboard: select the text in the terminal instead")
	}
	sequence := osc52.New(text)
	written := sequence.String()
	// A multiplexer either does it itself or passes on what is wrapped for it, as it is set up; what it does not
	// understand, it drops.
	switch {
	case d.isInTmux():
		written += sequence.Tmux().String()
	case d.isInScreen():
		written += sequence.Screen().String()
	}
	return d.write(written)
}

func (d *Desktop) isInTmux() bool { return d.has("TMUX") || strings.HasPrefix(d.env("TERM"), "tmux") }

func (d *Desktop) isInScreen() bool {
	return d.has("STY") || strings.HasPrefix(d.env("TERM"), "screen")
}

func (d *Desktop) write(sequence string) error {
	if _, err := d.terminal.Write([]byte(sequence)); err != nil {
		return fmt.Errorf("could not write to the terminal: %w", err)
	}
	return nil
}

// Ring rings the bell of the terminal.
func (d *Desktop) Ring() error { return d.write("\a") }

// Notify has the terminal show a text on the desktop (OSC 9), in one line without control characters. A terminal that
// would print the text rings instead.
func (d *Desktop) Notify(text string) error {
	const escape = "\x1b"
	sequence := escape + "]9;" + display.Line(text) + "\a"
	switch term := d.env("TERM"); {
	case term == "dumb" || term == "linux":
		return d.Ring()
	case d.isInTmux():
		sequence = escape + "Ptmux;" + strings.ReplaceAll(sequence, escape, escape+escape) + escape + "\\"
	case d.isInScreen():
		sequence = escape + "P" + sequence + escape + "\\"
	}
	return d.write(sequence)
}

// Open shows an http or https address in a browser. It refuses anything else, because programs that open addresses also
// run programs, and take a leading "-" for an option. If there is no browser, the error has the address. A browser that
// is still starting after two seconds counts as working.
func (d *Desktop) Open(address string) error {
	shown := display.Line(address)
	if problem := api.URLRule(address); problem != "" {
		return fmt.Errorf("%q was not opened: an address %s", shown, problem)
	}
	target, err := url.Parse(address)
	if err != nil {
		return fmt.Errorf("%q was not opened: %w", shown, err)
	}
	switch {
	case d.isRemote():
		return fmt.Errorf("no browser can be opened over SSH: open %s in your own", shown)
	case !d.hasWindows():
		return fmt.Errorf("there is no desktop here: open %s in a browser elsewhere", shown)
	}
	d.muteBrowser.Do(func() { browser.Stdout, browser.Stderr = io.Discard, io.Discard })
	done := make(chan error, 1)
	go func() { done <- d.browse(target.String()) }()
	select {
	case err = <-done:
	case <-time.After(d.timeout):
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("no browser was found: open %s in one yourself", shown)
	}
	return fmt.Errorf("the browser did not open (%w): open %s in one yourself", err, shown)
}
