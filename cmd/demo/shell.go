package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
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
	programs, folder string
	out              io.Writer
}

// stepTime is more than any step takes; a step that hangs must not hang the demo.
const stepTime = time.Minute

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
	ctx, cancel := context.WithTimeout(ctx, stepTime)
	defer cancel()
	var output bytes.Buffer
	cmd := s.command(ctx, step.command)
	cmd.Stdin = strings.NewReader(step.input)
	cmd.Stdout, cmd.Stderr = &output, &output
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return output.String(), fmt.Errorf("%s: %w", quoted(step.command), err)
	}
	if code := cmd.ProcessState.ExitCode(); code != step.exit {
		return output.String(), fmt.Errorf("%s: exit code %d, where %d was expected", quoted(step.command), code, step.exit)
	}
	for _, text := range step.expect {
		if !strings.Contains(output.String(), text) {
			return output.String(), fmt.Errorf("%s: its output lacks %q", quoted(step.command), text)
		}
	}
	return output.String(), nil
}

func (s *shell) command(ctx context.Context, words []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.programs, words[0]), words[1:]...)
	cmd.Dir = s.folder
	cmd.Env = []string{
		"PATH=" + s.programs,
		"HOME=" + s.folder,
		"PERKSCTL_CONFIG_DIR=" + filepath.Join(s.folder, "perksctl"),
		"PERKSD_DATABASE=sqlite:" + filepath.Join(s.folder, "perks.db"),
		"COLUMNS=" + os.Getenv("COLUMNS"),
		"TERM=" + os.Getenv("TERM"),
	}
	return cmd
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

func indented(output string) string {
	var b strings.Builder
	for line := range strings.Lines(output) {
		b.WriteString("  " + line)
	}
	if output != "" && !strings.HasSuffix(output, "\n") {
		b.WriteString("\n")
	}
	return b.String()
}
