// Package accessible is the terminal UI for screen readers and braille lines: it only appends lines, and asks questions
// that a line answers. Nothing is drawn, repainted or wrapped.
//
// It drives the same model as the full screen, and knows no single screen.
package accessible

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui"
	"example.com/perks/tui/screen"
)

// Run talks with the user until they quit, the input ends (which is not an error), or the context does. Secrets are
// read without echo if in is a terminal. A signal on interrupts, which may be nil, cancels the question; two without a
// line between them quit. Errors are as those of tui.Run.
func Run(ctx context.Context, in io.Reader, out io.Writer, interrupts <-chan os.Signal,
	options tui.Options) (err error) {
	s := &session{
		in: newInput(in), out: display.Writer(out), interrupts: interrupts, notices: options.Notices,
		messages: make(chan message), done: make(chan struct{}), after: options.After,
	}
	defer close(s.done)
	defer func() {
		if reason := recover(); reason != nil {
			err = tui.Crashed(reason, options.Crash)
		}
	}()
	options.Notices = nil // they are heard by the loop, which must know when nothing is running
	options.After = s.later
	options.Exec = tui.RunQuietly
	options.Command = s.command
	s.app = tui.New(options)
	defer s.app.SaveDrafts()
	s.say("Perks. Type ? for commands; ctrl+c cancels a question.")
	s.update(tea.WindowSizeMsg{Width: large, Height: large})
	s.run(s.app.Init())
	return s.loop(ctx)
}

// large is a size in which no screen leaves anything out.
const large = 200

// session belongs to the goroutine of Run. Commands run in goroutines of their own, and only send.
type session struct {
	app        *tui.App
	in         *input
	out        io.Writer
	interrupts <-chan os.Signal
	notices    <-chan string
	after      func(time.Duration, tea.Msg) tea.Cmd // of the options; nil is the clock

	messages chan message
	done     chan struct{}
	running  int // commands whose message has not come yet
	quit     bool

	announced    announced
	formProgress formProgress
	interrupted  bool // interrupted, and no line has come since
	stopWaiting  bool // interrupted while waiting: do not wait for commands until the next line
}

// message is a message for the model. That of a command ends it.
type message struct {
	msg  tea.Msg
	ends bool
}

// shortPause is the longest pause that is skipped, such as between typing and loading: lines come whole.
const shortPause = 500 * time.Millisecond

// later is the clock of the model.
func (s *session) later(pause time.Duration, msg tea.Msg) tea.Cmd {
	if pause <= shortPause {
		return screen.Send(msg) // nothing is being typed meanwhile: lines come whole
	}
	if s.after != nil {
		if wait := s.after(pause, msg); wait != nil {
			go func() { s.send(message{msg: wait()}) }()
		}
		return nil
	}
	time.AfterFunc(pause, func() { s.send(message{msg: msg}) })
	return nil
}

func (s *session) send(a message) {
	select {
	case s.messages <- a:
	case <-s.done:
	}
}

func (s *session) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	s.running++
	go func() {
		defer tui.Catch(func(crash *tui.Crash) { s.send(message{crash, true}) })
		s.send(message{cmd(), true})
	}()
}

func (s *session) take(a message) {
	if a.ends {
		s.running--
	}
	switch msg := a.msg.(type) {
	case nil:
	case *tui.Crash:
		panic(msg)
	case tea.QuitMsg:
		s.quit = true
	case tea.BatchMsg:
		for _, cmd := range msg {
			s.run(cmd)
		}
	default:
		s.update(msg)
	}
}

func (s *session) update(msg tea.Msg) {
	_, cmd := s.app.Update(msg)
	s.run(cmd)
}

// longWait is after how long the user is told that something is still running.
const longWait = 5 * time.Second

// waitForCommands waits until no command runs. An interrupt ends the wait, not the commands.
func (s *session) waitForCommands(ctx context.Context) error {
	wait := time.NewTicker(longWait)
	defer wait.Stop()
	for s.running > 0 && !s.quit && !s.stopWaiting {
		select {
		case a := <-s.messages:
			s.take(a)
		case text, open := <-s.notices:
			s.notice(text, open)
			s.sayMessages()
		case <-wait.C:
			s.say("Still waiting for a reply.")
		case <-s.interrupts:
			s.stopWaiting = true
			s.say("It continues; you will hear when it is done.")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func (s *session) notice(text string, open bool) {
	if !open {
		s.notices = nil
		return
	}
	s.update(screen.Toast{Kind: screen.Note, Text: text})
}

// loop announces what is new, asks, and does what is answered, until the end.
func (s *session) loop(ctx context.Context) error {
	for {
		if err := s.waitForCommands(ctx); err != nil {
			return err
		}
		if s.quit {
			s.sayMessages()
			return nil
		}
		s.announce()
		if form := s.form(); form != nil || s.app.Overlay() == nil {
			s.enterForm(form)
		}
		if s.running > 0 && !s.stopWaiting { // a value was the last
			continue
		}
		q := s.question()
		if q.secret { // the terminal shows nothing any more when the prompt comes
			s.in.ask(true)
		}
		fmt.Fprint(s.out, q.prompt)
		if !q.secret {
			s.in.ask(false)
		}
		if err := s.awaitAnswer(ctx, q); err != nil || s.quit {
			return err
		}
	}
}

// awaitAnswer waits until the question is answered or cancelled, or until there is news or another question.
func (s *session) awaitAnswer(ctx context.Context, q question) error {
	for {
		select {
		case line := <-s.in.lines:
			s.in.asked, s.in.savedState = false, nil
			s.interrupted, s.stopWaiting = false, false
			if line.last {
				s.say("")
				s.sayUnsaved()
				if line.err == nil {
					s.say("End of input.")
				}
				s.quit = true
				return line.err
			}
			s.run(q.answer(line.text))
			return nil
		case <-s.interrupts:
			s.in.restoreEcho()
			s.interrupt(q)
			return nil
		case a := <-s.messages:
			s.take(a)
		case text, open := <-s.notices:
			s.notice(text, open)
		case <-ctx.Done():
			s.in.restoreEcho()
			return ctx.Err()
		}
		if s.quit || s.question().about != q.about || s.hasNews() {
			s.say("")
			return nil
		}
	}
}

// interrupt cancels a question. The second one in a row quits, whatever is lost.
func (s *session) interrupt(q question) {
	s.say("")
	if s.interrupted {
		s.sayUnsaved()
		s.quit = true
		return
	}
	s.interrupted = true
	s.run(q.leave())
}

func (s *session) sayUnsaved() {
	drafts, lost := s.app.End()
	for _, text := range drafts {
		s.say(text + " A draft is saved.")
	}
	for _, text := range lost {
		s.say("Lost: " + text)
	}
}
