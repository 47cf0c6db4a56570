package desktop

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"

	"example.com/perks/api/plain"
)

// maxCopied is what terminals take at once: many stop at 100,000 bytes of base64 and escapes, some a little earlier.
const maxCopied = 74_000

// Copy puts a text on the clipboard of the person, as a single line without control characters: a line feed in what is
// pasted into a shell runs it. It uses the system's clipboard where the person sits here, and otherwise asks the terminal
// (OSC 52), which does not say whether it has done so.
func (d *Desktop) Copy(text string) error {
	text = plain.Line(text)
	switch {
	case text == "":
		return errors.New("There is nothing to copy.")
	case len(text) > maxCopied:
		return fmt.Errorf("The text is too long to copy: it has %d bytes, and terminals take up to %d.", len(text), maxCopied)
	case d.clipboard != nil && d.windows() && !d.far() && d.within(d.clipboard, text) == nil:
		return nil
	case d.env("TMUX") != "" && d.within(d.tmux, text) == nil:
		return nil
	}
	return d.copyByTerminal(text)
}

// within calls what may never return, such as xclip without a display that answers.
func (d *Desktop) within(call func(string) error, text string) error {
	done := make(chan error, 1)
	go func() { done <- call(text) }()
	select {
	case err := <-done:
		return err
	case <-time.After(d.patience):
		return context.DeadlineExceeded
	}
}

// loadTmuxBuffer hands the text to tmux, which passes it on to its own terminal. Unlike an escape sequence that works with
// the settings that tmux has from the start (from 3.2 on).
func loadTmuxBuffer(text string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, "tmux", "load-buffer", "-w", "-")
	command.Stdin = strings.NewReader(text)
	return command.Run()
}

func (d *Desktop) copyByTerminal(text string) error {
	term := d.env("TERM")
	if term == "dumb" || term == "linux" {
		return errors.New("This terminal has no clipboard. Select the text in the terminal instead.")
	}
	sequence := osc52.New(text)
	written := sequence.String()
	// A multiplexer either does it itself or passes on what is wrapped for it, as it is set up; what it does not understand,
	// it drops.
	switch {
	case d.env("TMUX") != "" || strings.HasPrefix(term, "tmux"):
		written += sequence.Tmux().String()
	case d.env("STY") != "" || strings.HasPrefix(term, "screen"):
		written += sequence.Screen().String()
	}
	if _, err := d.terminal.Write([]byte(written)); err != nil {
		return fmt.Errorf("The terminal did not take the text: %w.", err)
	}
	return nil
}
