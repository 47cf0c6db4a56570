package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/perks/api/editor"
	"example.com/perks/cli/command"
)

// textEditor is the command line of an editor, without the file.
type textEditor []string

// defaultEditors are tried in order where none is set.
var defaultEditors = map[bool][]string{false: {"vi", "nano"}, true: {"notepad"}}[runtime.GOOS == "windows"]

// findEditor takes the editor from VISUAL or EDITOR, or else the default of the platform. It refuses one that cannot
// run before anybody types anything.
func findEditor(env func(string) string) (textEditor, error) {
	words, from, err := editor.FromEnv(env)
	if err != nil {
		return nil, command.Usagef("%s. Check its quotes.", err)
	}
	if words != nil {
		if _, err := exec.LookPath(words[0]); err != nil {
			return nil, command.Usagef("The editor in %s cannot run: %s. Set %s to another one, with quotes around "+
				"spaces in its path.", from, command.Plain(err), from)
		}
		return words, nil
	}
	for _, name := range defaultEditors {
		if _, err := exec.LookPath(name); err == nil {
			return textEditor{name}, nil
		}
	}
	return nil, command.Usagef("No editor found. Set EDITOR to yours.")
}

// saveTime is how long an editor may take to save after SIGTERM.
const saveTime = 5 * time.Second

// exitInterrupted is the exit code of a shell whose command was interrupted.
const exitInterrupted = 130

// Open runs the editor on a file, on the terminal. If it fails, the file may have changed nevertheless. If an interrupt
// ends the editor, the error is context.Canceled.
func (e textEditor) Open(ctx context.Context, s *command.Streams, i *command.Interrupts, path string) error {
	args := append(slices.Clone(e[1:]), path)
	cmd := exec.CommandContext(ctx, e[0], args...) // #nosec G204 -- the person's own editor
	cmd.Stdout, cmd.Stderr = s.Err, s.Err          // the editor never draws among data
	if s.OutTTY && !s.ErrTTY {
		cmd.Stdout = s.Out
	}
	keyboard, isFile := s.In.(*os.File)
	if isFile { // copying from another reader would take the answers meant for perksctl
		cmd.Stdin = keyboard
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = saveTime
	var before *term.State
	if isFile && s.InTTY {
		before, _ = term.GetState(int(keyboard.Fd()))
	}
	resume := i.Suspend()
	err := cmd.Run()
	resume()
	if err == nil {
		return nil
	}
	if before != nil {
		_ = term.Restore(int(keyboard.Fd()), before) // an editor that crashed may leave echo off
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var exited *exec.ExitError
	if errors.As(err, &exited) {
		status, known := exited.Sys().(syscall.WaitStatus)
		if exited.ExitCode() == exitInterrupted || known && status.Signaled() && status.Signal() == syscall.SIGINT {
			return context.Canceled
		}
	}
	return fmt.Errorf("the editor %s failed: %w", strings.Join(e, " "), err)
}
