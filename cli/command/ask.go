package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"example.com/perks/api/display"
)

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
