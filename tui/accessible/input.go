package accessible

import (
	"bufio"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// input reads lines, each only when it is asked for, so that a secret can be read without echo.
type input struct {
	lines chan line

	wanted   chan bool // whether it is a secret
	asked    bool      // a line is on its way
	reader   *bufio.Reader
	terminal *os.File // nil if there is none
	before   *term.State
	shown    chan bool // a secret is read that the terminal does show, because it was there already
}

// line is what came, or the end. An end without an error is that of the input.
type line struct {
	text  string
	ended bool
	err   error
}

func newInput(in io.Reader) *input {
	i := &input{lines: make(chan line, 1), wanted: make(chan bool, 1), shown: make(chan bool, 1), reader: bufio.NewReader(in)}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		i.terminal = file
	}
	go i.read()
	return i
}

// ask asks for a line. One that was asked for before, and has not come, answers this time. Of a secret, the terminal shows
// nothing any more when ask returns: a person may be quicker than the prompt.
func (i *input) ask(secret bool) {
	if i.asked {
		return
	}
	i.asked = true
	if secret && i.terminal != nil {
		i.before, _ = term.GetState(int(i.terminal.Fd()))
	}
	i.wanted <- secret
	if i.before != nil {
		i.awaitSilence()
	}
}

// silenceTime is how long a terminal may take to stop showing what is typed; one that does not is not waited for.
const silenceTime = time.Second

// awaitSilence waits until the reader has switched the terminal over, of which nothing else tells.
func (i *input) awaitSilence() {
	over := time.After(silenceTime)
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for {
		now, err := term.GetState(int(i.terminal.Fd()))
		if err != nil || !reflect.DeepEqual(now, i.before) {
			return
		}
		select {
		case <-look.C:
		case <-i.shown:
			return
		case <-over:
			return
		}
	}
}

// leave shows again what is typed: the reader that goes on waiting has switched that off.
func (i *input) leave() {
	if i.before != nil {
		_ = term.Restore(int(i.terminal.Fd()), i.before)
		i.before = nil
	}
}

// read runs in a goroutine of its own, which ends with the input.
func (i *input) read() {
	for secret := range i.wanted {
		text, err := i.next(secret)
		if err != nil && text == "" {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				err = nil
			}
			i.lines <- line{ended: true, err: err}
			return
		}
		i.lines <- line{text: strings.ToValidUTF8(strings.TrimRight(text, "\r\n"), string(utf8.RuneError))}
	}
}

func (i *input) next(secret bool) (string, error) {
	if secret && i.terminal != nil && i.reader.Buffered() == 0 {
		text, err := term.ReadPassword(int(i.terminal.Fd()))
		if err == nil {
			_, _ = io.WriteString(i.terminal, "\n") // the one that was typed is not shown either
		}
		return string(text) + "\n", err
	}
	if secret {
		select {
		case i.shown <- true:
		default:
		}
	}
	return i.reader.ReadString('\n')
}
