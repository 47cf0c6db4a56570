package tui

import (
	"context"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/cli/browser"
)

// patience is how long a clipboard or a browser may take to answer.
const patience = 2 * time.Second

// Desktop is the desktop around one terminal. It is a screen.Desktop.
type Desktop struct {
	terminal io.Writer
	env      func(name string) string
	system   string // as runtime.GOOS
	patience time.Duration

	feed    func(ctx context.Context, text string, command []string) error // runs a program that reads the text
	browse  func(address string) error
	silence sync.Once // of the browser, which would write over the screen
}

// New returns the desktop of a terminal, which must be the writer that the terminal UI draws on: text for its clipboard is
// written there, in a single call each, so that it falls between two frames. The environment tells where the person sits.
func NewDesktop(terminal io.Writer, env func(name string) string) *Desktop {
	return &Desktop{
		terminal: terminal, env: env, system: runtime.GOOS, patience: patience,
		feed: feed, browse: browser.OpenURL,
	}
}

// feed fails where there is no such program.
func feed(ctx context.Context, text string, command []string) error {
	program := exec.CommandContext(ctx, command[0], command[1:]...) // #nosec G204 -- a clipboard program from the list above
	program.Stdin = strings.NewReader(text)
	program.WaitDelay = time.Second
	return program.Run()
}

// far tells whether the person sits at another computer.
func (d *Desktop) far() bool { return d.has("SSH_TTY") || d.has("SSH_CONNECTION") }

func (d *Desktop) has(name string) bool { return d.env(name) != "" }

// windows tells whether there are windows here. Without any, what starts as a browser would be one that takes over the
// terminal.
func (d *Desktop) windows() bool {
	return d.system == "darwin" || d.system == "windows" ||
		d.has("DISPLAY") || d.has("WAYLAND_DISPLAY") || d.has("WSL_DISTRO_NAME") || d.has("TERMUX_VERSION")
}
