package tuitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Terminal is a tmux server of its own, with one window of one pane.
type Terminal struct {
	dir string // holds its socket
}

// StartTerminal starts a terminal with a shell in a directory. The environment is all that the shell has, but for TERM
// and what tmux adds. The terminal does not reply to questions about its colours.
func StartTerminal(ctx context.Context, width, height int, dir string, env []string) (*Terminal, error) {
	if _, err := exec.LookPath("tmux"); err != nil {
		return nil, errors.New("tmux is not installed, and these tests run the programs in it; " +
			"run 'apt-get install tmux' as root, or install it as your system does")
	}
	socket, err := os.MkdirTemp("", "tmux-")
	if err != nil {
		return nil, err
	}
	t := &Terminal{dir: socket}
	args := strings.Fields("start-server ; set -g default-terminal tmux-256color ; set -g status off ; set -g " +
		"escape-time 0 ; set -g remain-on-exit on ; set -g focus-events off ;")
	args = append(args, "new-session", "-d", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height), "--")
	// tmux would add its own environment to that of the server
	args = append(args, "env", "-u", "TMUX", "-u", "TMUX_PANE")
	cmd := t.command(ctx, append(append(args, env...), "/bin/sh")...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting tmux: %w: %s", err, output), os.RemoveAll(socket))
	}
	return t, nil
}

// Close ends the terminal while its program runs, as closing a window does. A second call does nothing.
func (t *Terminal) Close() error {
	if _, err := os.Stat(t.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	_, err := t.run(context.Background(), "kill-server")
	return errors.Join(err, os.RemoveAll(t.dir))
}

func (t *Terminal) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "tmux",
		append([]string{"-u", "-f", "/dev/null", "-S", filepath.Join(t.dir, "socket")}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8", "SHELL=/bin/sh"}
	return cmd
}

func (t *Terminal) run(ctx context.Context, args ...string) (string, error) {
	output, err := t.command(ctx, args...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("tmux %s: %w: %s", args[0], errors.Join(err, ctx.Err()),
			strings.TrimSpace(string(output)))
	}
	return string(output), nil
}

// Press presses keys by the names that tmux has for them: "q", "Enter", "Escape", "C-c", "Down".
func (t *Terminal) Press(ctx context.Context, keys ...string) error {
	_, err := t.run(ctx, append([]string{"send-keys", "--"}, keys...)...)
	return err
}

func (t *Terminal) Type(ctx context.Context, text string) error {
	_, err := t.run(ctx, "send-keys", "-l", "--", text)
	return err
}

// Paste pastes a text, marked as pasted if the program has asked for that.
func (t *Terminal) Paste(ctx context.Context, text string) error {
	_, err := t.run(ctx, "set-buffer", "--", text, ";", "paste-buffer", "-p")
	return err
}

func (t *Terminal) Resize(ctx context.Context, width, height int) error {
	_, err := t.run(ctx, "resize-window", "-x", strconv.Itoa(width), "-y", strconv.Itoa(height))
	return err
}

// Screen returns what the terminal shows, without the blanks at the end of each line.
func (t *Terminal) Screen(ctx context.Context) (string, error) {
	return t.run(ctx, "capture-pane", "-p")
}

// Tell returns the values of tmux formats, such as "#{cursor_flag} #{pane_pid}".
func (t *Terminal) Tell(ctx context.Context, format string) (string, error) {
	text, err := t.run(ctx, "display-message", "-p", format)
	return strings.TrimSpace(text), err
}

const (
	pollInterval = 15 * time.Millisecond
	waitFor      = time.Minute // for a text to be shown, even on a busy machine
)

// Await reads the screen until it is as wanted, and returns it.
func (t *Terminal) Await(ctx context.Context, what string, wanted func(screen string) bool) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, waitFor)
	defer cancel()
	next := time.NewTicker(pollInterval)
	defer next.Stop()
	var last string
	for {
		now, err := t.Screen(ctx)
		switch {
		case err == nil && wanted(now):
			return now, nil
		case err == nil:
			last = now
		case ctx.Err() == nil:
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("the terminal does not show %s; it shows\n%s", what, last)
		case <-next.C:
		}
	}
}

// AwaitText reads the screen until it shows all texts, and returns it.
func (t *Terminal) AwaitText(ctx context.Context, texts ...string) (string, error) {
	return t.Await(ctx, fmt.Sprintf("%q", texts), func(screen string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(screen, text) })
	})
}
