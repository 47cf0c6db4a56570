package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	off = off || env("NO_COLOR") != "" || !force && env("TERM") == "dumb"
	s.ColourOut, s.Colour = !off && (force || s.OutTTY), !off && (force || s.ErrTTY)
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
		message := map[string]string{"message": display.Text(strings.TrimSpace(text))}
		line, _ := api.EncodeJSON(map[string]map[string]string{kind: message}) // a string always marshals
		_, _ = s.Err.Write(append(line, '\n'))
		return
	}
	fmt.Fprint(s.Err, before+display.Text(text)+"\n")
}

// Draws tells whether Err is a screen on which a line may be drawn again and again.
func (s *Streams) Draws() bool { return s.ErrTTY && !s.JSON }

// Lines is a writer to Err for what comes line by line and was asked for, such as a trace: --quiet does not silence it.
func (s *Streams) Lines(kind string) io.Writer {
	if !s.JSON {
		return display.Writer(s.Err)
	}
	return EachLine(func(line string) {
		if strings.TrimSpace(line) != "" {
			s.tell(kind, "", line)
		}
	})
}

// EachLine returns a writer that calls take with each line, without its end, as soon as it is whole. Several may write to it at
// once.
func EachLine(take func(line string)) io.Writer { return &lines{take: take} }

type lines struct {
	take func(string)

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
		l.begun = rest
		l.take(string(line))
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

// maxPiped bounds what is read where one short value is expected.
const maxPiped = 64 << 10

// Ask shows a prompt and reads one line. The end of ctx, as by Ctrl-C, ends the wait.
func (s *Streams) Ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(s.Err, display.Line(prompt))
	line, err := await(ctx, s.readLine)
	if ctx.Err() != nil {
		fmt.Fprintln(s.Err) // what comes next belongs on a line of its own
	}
	return line, err
}

// Confirm asks a question whose answer is yes only for "y" and "yes".
func (s *Streams) Confirm(ctx context.Context, question string) (bool, error) {
	answer, err := s.Ask(ctx, question+" [y/N] ")
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes", nil
}

// AskSecret shows a prompt and reads one line that the terminal does not show.
func (s *Streams) AskSecret(ctx context.Context, prompt string) (string, error) {
	file, ok := s.In.(*os.File)
	if !ok || !s.InTTY {
		return s.Ask(ctx, prompt)
	}
	fd := int(file.Fd())
	before, err := term.GetState(fd)
	if err != nil {
		return "", fmt.Errorf("prepare the terminal for a secret: %w", err)
	}
	fmt.Fprint(s.Err, display.Line(prompt))
	secret, err := await(ctx, func() (string, error) {
		secret, err := term.ReadPassword(fd)
		return string(secret), err
	})
	if ctx.Err() != nil {
		_ = term.Restore(fd, before) // the reader that was left behind has the echo switched off
	}
	fmt.Fprintln(s.Err)
	return secret, err
}

// ReadPiped reads all of In, without the line end behind it.
func (s *Streams) ReadPiped(ctx context.Context) (string, error) {
	return await(ctx, func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(s.In, maxPiped+1))
		if len(text) > maxPiped {
			return "", fmt.Errorf("standard input is longer than %d bytes", maxPiped)
		}
		return strings.TrimRight(string(text), "\r\n"), err
	})
}

// readLine reads byte by byte, so that nothing behind the line is swallowed.
func (s *Streams) readLine() (string, error) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < maxPiped {
		n, err := s.In.Read(one)
		if n == 1 && one[0] == '\n' {
			break
		}
		if n == 1 {
			line = append(line, one[0])
		}
		if err != nil {
			return string(line), err
		}
	}
	return strings.TrimRight(string(line), "\r"), nil
}

// await lets the end of ctx interrupt a read, which nothing else can. The read itself stays behind until the process ends.
func await(ctx context.Context, read func() (string, error)) (string, error) {
	type result struct {
		text string
		err  error
	}
	done := make(chan result, 1)
	go func() {
		text, err := read()
		done <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case r := <-done:
		return r.text, r.err
	}
}

// WriteFailure is that data could not be written to standard output. A reader that has gone is none: SIGPIPE ends the process
// then, as it ends any tool.
type WriteFailure struct{ Err error }

// Error says it in a sentence.
func (w *WriteFailure) Error() string {
	return "Standard output cannot be written: " + w.Err.Error() + "."
}

// Unwrap returns what the system said.
func (w *WriteFailure) Unwrap() error { return w.Err }

// Explain returns a WriteFailure if the error has one of standard output in it, and otherwise the error as it is.
func ExplainFailure(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Op == "write" && failed.Path == os.Stdout.Name() {
		return &WriteFailure{failed.Err}
	}
	return err
}

// Watched is a writer that keeps its first failure, for those who do not look.
type Watched struct {
	To  io.Writer
	Err error
}

// Write passes the text on.
func (w *Watched) Write(text []byte) (int, error) {
	n, err := w.To.Write(text)
	if w.Err == nil {
		w.Err = err
	}
	return n, err
}
