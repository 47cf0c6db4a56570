package command

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/term"

	"example.com/perks/api"
	"example.com/perks/api/display"
)

// Streams is where a command reads and writes.
type Streams struct {
	In  io.Reader
	Out io.Writer // data and nothing else
	Err io.Writer // messages, prompts, progress

	InTTY, OutTTY, ErrTTY bool // connected to a terminal
	Width                 int  // columns of the terminal behind Out; 0 if there is none

	Quiet             bool // neither notes nor warnings
	JSON              bool // programs read Err: each line is a JSON object
	ColourOut, Colour bool // colour may be written to Out, and to Err
}

// System is the streams of this process. COLUMNS tells the width of a terminal that does not tell it itself, such as a
// serial line or the shell within an editor.
func SystemStreams() *Streams {
	s := &Streams{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
		InTTY:  term.IsTerminal(int(os.Stdin.Fd())),
		OutTTY: term.IsTerminal(int(os.Stdout.Fd())),
		ErrTTY: term.IsTerminal(int(os.Stderr.Fd())),
	}
	if s.OutTTY {
		s.Width = width(os.Stdout)
	}
	return s
}

// usualWidth is taken for a terminal that tells no width anywhere.
const usualWidth = 80

// width returns the columns of the terminal behind a file, or a guess.
func width(file *os.File) int {
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return usualWidth
}

// ErrWidth returns the columns of the terminal behind Err as they are now: unlike a table, what is drawn there again and
// again should follow a window that changes.
func (s *Streams) ErrWidth() int {
	if file, ok := s.Err.(*os.File); ok {
		return width(file)
	}
	return s.Width
}

// Buffers is streams that are no terminals, with the buffers behind them.
func BufferedStreams(input string) (s *Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &Streams{In: bytes.NewBufferString(input), Out: out, Err: err}, out, err
}

// ChooseColour decides about colour from --no-color and the environment: NO_COLOR and TERM=dumb switch it off,
// CLICOLOR_FORCE switches it on even off a terminal, and otherwise terminals have it.
func (s *Streams) ChooseColour(off bool, env func(string) string) {
	force := env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0"
	switch {
	case off || env("NO_COLOR") != "":
		s.ColourOut, s.Colour = false, false
	case force:
		s.ColourOut, s.Colour = true, true
	case env("TERM") == "dumb":
		s.ColourOut, s.Colour = false, false
	default:
		s.ColourOut, s.Colour = s.OutTTY, s.ErrTTY
	}
}

// CanAsk tells whether there is a person to ask: one who sees Err and types into In.
func (s *Streams) CanAsk() bool { return s.InTTY && s.ErrTTY }

// Note tells something that is good to know.
func (s *Streams) Note(format string, args ...any) { s.say("note", "", format, args...) }

// Warn tells something that should not be missed, such as a list that was cut.
func (s *Streams) Warn(format string, args ...any) {
	s.say("warning", s.paint(yellow, "warning: "), format, args...)
}

// Show tells something of several lines that a person decides by; --quiet does not silence it.
func (s *Streams) Show(text string) {
	if s.JSON {
		s.tell("note", "", text)
		return
	}
	fmt.Fprint(s.Err, text)
}

// say tells it in one write. --quiet silences it.
func (s *Streams) say(kind, before, format string, args ...any) {
	if !s.Quiet {
		s.tell(kind, before, fmt.Sprintf(format, args...))
	}
}

func (s *Streams) tell(kind, before, text string) {
	if s.JSON {
		line, _ := api.EncodeJSON(map[string]told{kind: {display.Text(strings.TrimSpace(text))}}) // a string always marshals
		_, _ = s.Err.Write(append(line, '\n'))
		return
	}
	fmt.Fprint(s.Err, before+display.Text(text)+"\n")
}

// told is a line for programs.
type told struct {
	Message string `json:"message"`
}

// Draws tells whether Err is a screen on which a line may be drawn again and again.
func (s *Streams) Draws() bool { return s.ErrTTY && !s.JSON }

// Lines is a writer to Err for what comes line by line and was asked for, such as a trace: --quiet does not silence it.
func (s *Streams) Lines(kind string) io.Writer {
	if !s.JSON {
		return display.Writer(s.Err)
	}
	return &lines{streams: s, kind: kind}
}

// lines makes a JSON object of each line.
type lines struct {
	streams *Streams
	kind    string

	mu    sync.Mutex
	begun []byte
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = append(l.begun, text...)
	for {
		line, rest, whole := bytes.Cut(l.begun, []byte("\n"))
		if !whole {
			return len(text), nil
		}
		if l.begun = rest; len(bytes.TrimSpace(line)) > 0 {
			l.streams.tell(l.kind, "", string(line))
		}
	}
}

const (
	bold   = "\x1b[1m"
	red    = "\x1b[31m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

func (s *Streams) paint(colour, text string) string {
	if !s.Colour {
		return text
	}
	return colour + text + reset
}

// Alarm paints a word on Err that announces an error.
func (s *Streams) Alarm(text string) string { return s.paint(red, text) }

// Heading paints a heading on Out.
func (s *Streams) Heading(text string) string {
	if !s.ColourOut {
		return text
	}
	return bold + text + reset
}
