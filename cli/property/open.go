package property

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/term"

	"example.com/perks/cli/command"
)

// patience is how long an editor has to save what it can after it was told to end.
const patience = 5 * time.Second

// exitInterrupted is what a shell ends with when an interrupt ended what it ran.
const exitInterrupted = 130

// Failure is that the editor did not start or did not end well.
type editorFailure struct {
	Editor textEditor
	Err    error
}

// Error says it in a sentence.
func (f *editorFailure) Error() string {
	return fmt.Sprintf("The editor %s failed: %s.", f.Editor, f.Err)
}

// Unwrap returns what the system said.
func (f *editorFailure) Unwrap() error { return f.Err }

// Open runs the editor on a file until it ends. It has the terminal. Its failure, however it came about, says nothing about
// whether the file was changed. An editor that an interrupt ended is context.Canceled.
func (e textEditor) Open(ctx context.Context, s *command.Streams, i *Interrupts, path string) error {
	cmd := exec.CommandContext(ctx, e[0], append(slices.Clone(e[1:]), path)...) // #nosec G204 -- the person's own editor
	cmd.Stdin, cmd.Stdout, cmd.Stderr = keyboard(s), screen(s), s.Err
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = patience
	restore := rememberTerminal(s)
	takeBack := i.lend()
	err := cmd.Run()
	takeBack()
	if err == nil {
		return nil
	}
	restore()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var ended *exec.ExitError
	if errors.As(err, &ended) && wasInterrupted(ended) {
		return context.Canceled
	}
	return &editorFailure{e, err}
}

func wasInterrupted(ended *exec.ExitError) bool {
	status, known := ended.Sys().(syscall.WaitStatus)
	return ended.ExitCode() == exitInterrupted || known && status.Signaled() && status.Signal() == syscall.SIGINT
}

// keyboard is what the editor reads. A reader that is no file would be drained by copying, along with the answers that are
// meant for perksctl.
func keyboard(s *command.Streams) io.Reader {
	if file, ok := s.In.(*os.File); ok {
		return file
	}
	return nil
}

// screen is where the editor draws: never among data.
func screen(s *command.Streams) io.Writer {
	if s.OutTTY && !s.ErrTTY {
		return s.Out
	}
	return s.Err
}

// rememberTerminal returns how to undo what an editor that crashed has left behind, such as echo that is off.
func rememberTerminal(s *command.Streams) (restore func()) {
	file, ok := s.In.(*os.File)
	if !ok || !s.InTTY {
		return func() {}
	}
	before, err := term.GetState(int(file.Fd()))
	if err != nil {
		return func() {}
	}
	return func() { _ = term.Restore(int(file.Fd()), before) }
}
