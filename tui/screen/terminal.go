package screen

import (
	"io"
	"os"
	"os/exec"
)

// TerminalTask has the terminal to itself until it returns, if tea.Exec runs it.
type TerminalTask func() error

// Run runs the task.
func (t TerminalTask) Run() error { return t() }

// SetStdin ignores what bubbletea reads from: that is wrapped, so that a program would get a pipe, and its end would go
// unnoticed until the next key.
func (TerminalTask) SetStdin(io.Reader) {}

// SetStdout ignores what bubbletea draws on, for the same reason.
func (TerminalTask) SetStdout(io.Writer) {}

// SetStderr ignores standard error, for the same reason.
func (TerminalTask) SetStderr(io.Writer) {}

// RunInTerminal runs a program on the terminal itself, and waits for its end. It inherits the environment, from which
// the secrets are removed. Call it in a TerminalTask.
func (s *Shell) RunInTerminal(program string, args ...string) error {
	// An interrupt on the keyboard is meant for the program, and not to end perksctl. On the screens, ctrl+c is a key.
	defer s.Suspend()()
	cmd := exec.Command(program, args...) // #nosec G204 -- the person's own editor or command
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}
