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

// input reads a line only when it is asked for, so that a secret can be read without echo.
type input struct {
	lines chan line

	wanted     chan bool // whether it is a secret
	asked      bool      // a line is pending
	reader     *bufio.Reader
	terminal   *os.File // nil if there is none
	savedState *term.State
	echoed     chan bool // a secret is read that the terminal does show, because it was there already
}

// line is a line, or the end of the input, whose err is nil unless reading failed.
type line struct {
	text string
	last bool
	err  error
}

func newInput(in io.Reader) *input {
	i := &input{lines: make(chan line, 1), wanted: make(chan bool, 1), echoed: make(chan bool, 1),
		reader: bufio.NewReader(in)}
	if file, ok := in.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		i.terminal = file
	}
	go i.read()
	return i
}

// ask asks for a line, unless one is still pending. When it returns, a terminal has stopped echoing if this is a
// secret: users may be quicker than the prompt.
func (i *input) ask(secret bool) {
	if i.asked {
		return
	}
	i.asked = true
	if secret && i.terminal != nil {
		i.savedState, _ = term.GetState(int(i.terminal.Fd()))
	}
	i.wanted <- secret
	if i.savedState != nil {
		i.awaitNoEcho()
	}
}

// echoTimeout is how long to wait for a terminal to stop echoing.
const echoTimeout = time.Second

// awaitNoEcho waits until the reader has switched off echo. Only the state of the terminal shows that.
func (i *input) awaitNoEcho() {
	timeout := time.After(echoTimeout)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for {
		now, err := term.GetState(int(i.terminal.Fd()))
		if err != nil || !reflect.DeepEqual(now, i.savedState) {
			return
		}
		select {
		case <-poll.C:
		case <-i.echoed:
			return
		case <-timeout:
			return
		}
	}
}

// restoreEcho switches echo on again: the reader that still waits has switched it off.
func (i *input) restoreEcho() {
	if i.savedState != nil {
		_ = term.Restore(int(i.terminal.Fd()), i.savedState)
		i.savedState = nil
	}
}

// read runs in a goroutine until the input ends.
func (i *input) read() {
	for secret := range i.wanted {
		text, err := i.next(secret)
		if err != nil && text == "" {
			if errors.Is(err, io.EOF) || errors.Is(err, os.ErrClosed) {
				err = nil
			}
			i.lines <- line{last: true, err: err}
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
		case i.echoed <- true:
		default:
		}
	}
	return i.reader.ReadString('\n')
}
