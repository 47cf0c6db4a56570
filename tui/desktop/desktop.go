// Package desktop reaches what lies outside of the terminal's own screen: the clipboard, and a browser.
//
// Both are where the person sits, which need not be this computer. Over SSH nothing is put on the clipboard of the far end,
// nor opened there. What is copied or opened is the service's text and is not trusted.
//
// It knows nothing of screens and of the service.
package desktop

import (
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/atotto/clipboard"
	"github.com/cli/browser"
)

// patience is how long a clipboard or a browser may take to answer.
const patience = 2 * time.Second

// Desktop is the desktop around one terminal. It is a screen.Desktop.
type Desktop struct {
	terminal io.Writer
	env      func(name string) string
	patience time.Duration

	graphical bool                    // there are always windows on this kind of system
	clipboard func(text string) error // nil where there is no program for it
	tmux      func(text string) error
	browse    func(address string) error
	silence   sync.Once // of the browser, which would write over the screen
}

// New returns the desktop of a terminal, which must be the writer that the terminal UI draws on: text for its clipboard is
// written there, in a single call each, so that it falls between two frames. The environment tells where the person sits.
func New(terminal io.Writer, env func(name string) string) *Desktop {
	d := &Desktop{
		terminal: terminal, env: env, patience: patience,
		graphical: runtime.GOOS == "darwin" || runtime.GOOS == "windows",
		tmux:      loadTmuxBuffer,
		browse:    browser.OpenURL,
	}
	if !clipboard.Unsupported {
		d.clipboard = clipboard.WriteAll
	}
	return d
}

// far tells whether the person sits at another computer.
func (d *Desktop) far() bool { return d.env("SSH_TTY") != "" || d.env("SSH_CONNECTION") != "" }

// windows tells whether there are windows here. Without any, a clipboard's program has nothing to talk to, and what starts
// as a browser would be one that takes over the terminal.
func (d *Desktop) windows() bool {
	if d.graphical {
		return true
	}
	for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "TERMUX_VERSION"} {
		if d.env(name) != "" {
			return true
		}
	}
	return false
}
