package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/aymanbagabas/go-osc52/v2"

	"example.com/perks/api/display"
)

// maxCopied is what terminals take at once: many stop at 100,000 bytes of base64 and escapes, some a little earlier.
const maxCopied = 74_000

// Copy puts a text on the clipboard of the person, as a single line without control characters: a line feed in what is
// pasted into a shell runs it. It uses the system's clipboard where the person sits here, and otherwise asks the terminal
// (OSC 52), which does not say whether it has done so.
func (d *Desktop) Copy(text string) error {
	text = display.Line(text)
	switch {
	case text == "":
		return errors.New("there is nothing to copy")
	case len(text) > maxCopied:
		return fmt.Errorf("the text is too long to copy: it has %d bytes, and terminals take up to %d", len(text), maxCopied)
	}
	for _, command := range d.clipboards(text) {
		if d.feedWithin(text, command) == nil {
			return nil
		}
	}
	return d.copyByTerminal(text)
}

// clipboards is the programs that take the text, those first that are nearest to the person. They are looked for only now:
// the libraries that do this look through PATH when a program starts, perksctl version among them.
func (d *Desktop) clipboards(text string) (commands [][]string) {
	if !d.far() {
		commands = d.systemClipboards(text)
	}
	if d.has("TMUX") {
		// It passes the text on to its own terminal. Unlike an escape sequence that works with the settings that tmux has
		// from the start (from 3.2 on).
		commands = append(commands, []string{"tmux", "load-buffer", "-w", "-"})
	}
	return commands
}

func (d *Desktop) systemClipboards(text string) (commands [][]string) {
	switch {
	case d.system == "darwin":
		return [][]string{{"pbcopy"}}
	case d.system == "windows" || d.has("WSL_DISTRO_NAME"):
		if strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII }) {
			return nil // it would read UTF-8 as the code page that is set; terminals there do not
		}
		return [][]string{{"clip.exe"}}
	case d.has("TERMUX_VERSION"):
		return [][]string{{"termux-clipboard-set"}}
	}
	if d.has("WAYLAND_DISPLAY") {
		commands = append(commands, []string{"wl-copy"})
	}
	if d.has("DISPLAY") {
		commands = append(commands, []string{"xclip", "-in", "-selection", "clipboard"}, []string{"xsel", "--input", "--clipboard"})
	}
	return commands
}

// feedWithin gives up on a program that does not end, such as xclip where the display does not answer.
func (d *Desktop) feedWithin(text string, command []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), d.patience)
	defer cancel()
	return d.feed(ctx, text, command)
}

func (d *Desktop) copyByTerminal(text string) error {
	term := d.env("TERM")
	if term == "dumb" || term == "linux" {
		return errors.New("this terminal has no clipboard: select the text in the terminal instead")
	}
	sequence := osc52.New(text)
	written := sequence.String()
	// A multiplexer either does it itself or passes on what is wrapped for it, as it is set up; what it does not understand,
	// it drops.
	switch {
	case d.has("TMUX") || strings.HasPrefix(term, "tmux"):
		written += sequence.Tmux().String()
	case d.has("STY") || strings.HasPrefix(term, "screen"):
		written += sequence.Screen().String()
	}
	if _, err := d.terminal.Write([]byte(written)); err != nil {
		return fmt.Errorf("the terminal did not take the text: %w", err)
	}
	return nil
}
