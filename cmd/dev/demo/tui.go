package main

import (
	"context"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/term"

	"example.com/perks/cmd/dev/programs"
)

// terminalUI gives the terminal to perksctl tui until the person quits. Off a terminal, or on one that cannot be drawn on, it
// does nothing.
func terminalUI(ctx context.Context, s *shell) error {
	if !term.IsTerminal(int(os.Stdin.Fd())) || !term.IsTerminal(int(s.out.Fd())) || os.Getenv("TERM") == "dumb" {
		return nil
	}
	words := []string{"perksctl", "tui"}
	s.say("And all day long: the terminal UI, over the same server. ? shows its keys, q quits.")
	fmt.Fprintf(s.out, "$ %s\n", quoted(words))
	cmd := s.Command(ctx, words...)
	for _, name := range []string{"COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "TMUX", "TERM_PROGRAM"} {
		if value, set := os.LookupEnv(name); set {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, s.out, os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // it leaves the terminal as it was
	cmd.WaitDelay = programs.Patience
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", quoted(words), err)
	}
	return nil
}
