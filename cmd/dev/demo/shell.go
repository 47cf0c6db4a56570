package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/creack/pty"

	"example.com/perks/cmd/dev/programs"
)

// step is one command of the tour.
type step struct {
	say     string   // what it shows, for the reader
	command []string // the program, then its arguments
	input   string   // for its standard input
	exit    int      // the exit code that it must end with
	expect  []string // what its output must hold
}

// shell runs the steps with an environment of their own, so that nothing on the machine takes part in the tour.
type shell struct {
	programs.Stage
	out *os.File
}

func (s *shell) say(text string) { fmt.Fprintf(s.out, "\n# %s\n", text) }

// step prints the command and what it printed, and fails unless both are as expected.
func (s *shell) step(ctx context.Context, step step) error {
	s.say(step.say)
	fmt.Fprintf(s.out, "$ %s\n", quoted(step.command))
	output, err := s.output(ctx, step)
	fmt.Fprint(s.out, indented(output))
	if step.exit != 0 && err == nil {
		fmt.Fprintf(s.out, "  (exit code %d)\n", step.exit)
	}
	return err
}

// output runs a step and returns what it printed on both streams, in their order.
func (s *shell) output(ctx context.Context, step step) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, programs.Patience)
	defer cancel()
	cmd := s.Command(ctx, step.command...)
	cmd.Stdin = strings.NewReader(step.input)
	output, err := s.capture(cmd)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return output, fmt.Errorf("%s: %w", quoted(step.command), err)
	}
	if code := cmd.ProcessState.ExitCode(); code != step.exit {
		return output, fmt.Errorf("%s: exit code %d, where %d was expected", quoted(step.command), code, step.exit)
	}
	for _, text := range step.expect {
		if !strings.Contains(output, text) {
			return output, fmt.Errorf("%s: its output lacks %q", quoted(step.command), text)
		}
	}
	return output, nil
}

// capture shows the command a terminal where the tour has one, so that a person sees what a person gets: aligned
// columns, not the bare tabs that are for programs.
func (s *shell) capture(cmd *exec.Cmd) (string, error) {
	size, err := pty.GetsizeFull(s.out)
	if err != nil { // not a terminal
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	ours, theirs, err := pty.Open()
	if err != nil {
		return "", err
	}
	defer ours.Close()
	size.Cols = max(size.Cols, 40) - uint16(len(indent))
	if err := pty.Setsize(theirs, size); err != nil {
		return "", errors.Join(err, theirs.Close())
	}
	cmd.Stdout, cmd.Stderr = theirs, theirs
	if err := cmd.Start(); err != nil {
		return "", errors.Join(err, theirs.Close())
	}
	theirs.Close()
	output, _ := io.ReadAll(ours) // ends with an error when the last writer is gone
	return strings.ReplaceAll(string(output), "\r\n", "\n"), cmd.Wait()
}

func quoted(words []string) string {
	parts := make([]string, len(words))
	for i, word := range words {
		parts[i] = word
		if word == "" || strings.ContainsAny(word, " '\"$*?&|<>(){}[]") {
			parts[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(parts, " ")
}

const indent = "  "

func indented(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		b.WriteString(indent + line)
	}
	if output != "" && !strings.HasSuffix(output, "\n") {
		b.WriteString("\n")
	}
	return b.String()
}
