package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

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

// SystemStreams returns the streams of this process.
func SystemStreams() *Streams {
	isTTY := func(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }
	s := &Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, InTTY: isTTY(os.Stdin), OutTTY: isTTY(os.Stdout),
		ErrTTY: isTTY(os.Stderr)}
	if s.OutTTY {
		s.Width = width(os.Stdout)
	}
	return s
}

// defaultWidth is for a terminal whose width is not known.
const defaultWidth = 80

// width returns the columns of the terminal behind a file, or COLUMNS, where a serial line or an editor knows none.
func width(file *os.File) int {
	if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
		return columns
	}
	if columns, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && columns > 0 {
		return columns
	}
	return defaultWidth
}

// Size returns the columns and rows of the terminal behind Out as they are now; rows is 0 if they are not known.
func (s *Streams) Size() (columns, rows int) {
	if file, ok := s.Out.(*os.File); ok {
		_, rows, _ = term.GetSize(int(file.Fd())) // 0 with an error
		return width(file), rows
	}
	return s.Width, 0
}

// ErrWidth returns the columns of the terminal behind Err as they are now, for a bar that follows the window's size.
func (s *Streams) ErrWidth() int {
	if file, ok := s.Err.(*os.File); ok {
		return width(file)
	}
	return s.Width
}

// BufferedStreams returns streams that are not terminals, with the buffers behind them.
func BufferedStreams(input string) (s *Streams, out, err *bytes.Buffer) {
	out, err = &bytes.Buffer{}, &bytes.Buffer{}
	return &Streams{In: bytes.NewBufferString(input), Out: out, Err: err}, out, err
}

// ChooseColour decides on colour: off switches it off, and so do NO_COLOR and TERM=dumb; CLICOLOR_FORCE switches it on
// even off a terminal; otherwise terminals have it.
func (s *Streams) ChooseColour(off bool, env func(string) string) {
	force := env("CLICOLOR_FORCE") != "" && env("CLICOLOR_FORCE") != "0"
	off = off || env("NO_COLOR") != "" || !force && env("TERM") == "dumb"
	s.ColourOut, s.Colour = !off && (force || s.OutTTY), !off && (force || s.ErrTTY)
}

// CanAsk reports whether a person sees Err and types into In.
func (s *Streams) CanAsk() bool { return s.InTTY && s.ErrTTY }

// Note writes a message that nobody needs. --quiet silences it.
func (s *Streams) Note(format string, args ...any) { s.say("note", "", format, args...) }

// Warn writes what should not be missed, such as that a list was cut. --quiet silences it.
func (s *Streams) Warn(format string, args ...any) {
	s.say("warning", paint(s.Colour, yellow, "warning: "), format, args...)
}

func (s *Streams) say(kind, before, format string, args ...any) {
	if !s.Quiet {
		s.write(kind, before, fmt.Sprintf(format, args...))
	}
}

// Show writes several lines that a person decides by; --quiet does not silence it.
func (s *Streams) Show(text string) {
	if s.JSON {
		s.write("note", "", text)
		return
	}
	fmt.Fprint(s.Err, text)
}

func (s *Streams) write(kind, before, text string) {
	if s.JSON {
		message := map[string]string{"message": display.Text(strings.TrimSpace(text))}
		line, _ := api.EncodeJSON(map[string]map[string]string{kind: message}) // a string always marshals
		_, _ = s.Err.Write(append(line, '\n'))
		return
	}
	fmt.Fprint(s.Err, before+display.Text(text)+"\n")
}

// Draws reports whether a line on Err can be drawn again and again.
func (s *Streams) Draws() bool { return s.ErrTTY && !s.JSON }

// Lines is a writer to Err for lines that were asked for, such as a trace; --quiet does not silence it.
func (s *Streams) Lines(kind string) io.Writer {
	if !s.JSON {
		return display.Writer(s.Err)
	}
	return EachLine(func(line string) {
		if strings.TrimSpace(line) != "" {
			s.write(kind, "", line)
		}
	})
}

// EachLine returns a writer that calls take with each complete line, without its end. Many goroutines may use it.
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

func paint(on bool, colour, text string) string {
	if !on {
		return text
	}
	return colour + text + reset
}

// Alarm returns the text in red, for Err.
func (s *Streams) Alarm(text string) string { return paint(s.Colour, red, text) }

// Heading returns the text in bold, for Out.
func (s *Streams) Heading(text string) string { return paint(s.ColourOut, bold, text) }

// maxPiped bounds what is read where one short value is expected.
const maxPiped = 64 << 10

// Ask shows a prompt and reads one line.
func (s *Streams) Ask(ctx context.Context, prompt string) (string, error) {
	fmt.Fprint(s.Err, display.Line(prompt))
	line, err := await(ctx, s.readLine)
	if ctx.Err() != nil {
		fmt.Fprintln(s.Err) // the prompt's line ends here
	}
	return line, err
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
		_ = term.Restore(fd, before) // ReadPassword still runs, with the echo off
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

// ReadInput reads the file that a flag names, or the reader for "-". It refuses one that is longer than most.
func ReadInput(flag, path string, in io.Reader, most int64) ([]byte, error) {
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, BadFile(flag, err)
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, BadFile(flag, err)
	case int64(len(text)) > most:
		return nil, Usagef("%s is longer than %d bytes.", flag, most)
	}
	return text, nil
}

// readLine reads byte by byte, so that it takes nothing behind the line.
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

// await stops waiting for a read when ctx ends, as by Ctrl-C. The read itself blocks until the process ends.
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

// ExplainFailure says in a sentence that standard output cannot be written. It leaves other errors as they are.
func ExplainFailure(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Op == "write" && failed.Path == os.Stdout.Name() {
		return writeFailure{failed.Err}
	}
	return err
}

// writeFailure is the error of a write to standard output, as a sentence.
type writeFailure struct{ cause error }

func (f writeFailure) Error() string {
	return "Standard output cannot be written: " + f.cause.Error() + "."
}
func (f writeFailure) Unwrap() error { return f.cause }

// Interrupts cancel a command, except while an editor or another program has the terminal, which sends ctrl+c to both.
type Interrupts struct {
	cancel context.CancelFunc
	ours   chan os.Signal
}

// HandleInterrupts returns a context that SIGTERM cancels, and an interrupt unless it is for another program. A second
// interrupt ends the process. The new context does not depend on ctx, which an earlier listener may cancel on any
// interrupt.
func HandleInterrupts(ctx context.Context) (context.Context, *Interrupts, context.CancelFunc) {
	terminated, stop := signal.NotifyContext(context.WithoutCancel(ctx), syscall.SIGTERM)
	context.AfterFunc(terminated, stop)
	heeded, cancel := context.WithCancel(terminated)
	i := &Interrupts{cancel: cancel}
	i.listen()
	return heeded, i, func() {
		signal.Stop(i.ours)
		close(i.ours)
		cancel()
		stop()
	}
}

func (i *Interrupts) listen() {
	ours := make(chan os.Signal, 1)
	signal.Notify(ours, os.Interrupt)
	i.ours = ours
	go func() {
		if _, came := <-ours; came {
			i.cancel()
			signal.Stop(ours)
		}
	}()
}

// Suspend leaves SIGINT and SIGQUIT to another program until resume is called. It catches them instead of ignoring
// them, because a child process inherits ignored signals.
func (i *Interrupts) Suspend() (resume func()) {
	theirs := make(chan os.Signal, 1)
	signal.Notify(theirs, os.Interrupt, syscall.SIGQUIT)
	signal.Stop(i.ours)
	close(i.ours)
	return func() {
		none := make(chan os.Signal, 1) // signal.Stop returns once all earlier signals are delivered
		signal.Notify(none, os.Interrupt)
		signal.Stop(none)
		i.listen()
		signal.Stop(theirs)
	}
}
