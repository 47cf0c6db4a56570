// Package accessible is the terminal UI for people who listen to it, or read it on a braille line: there is nothing but lines
// that are appended, and questions that are answered by a line. Nothing is drawn, repainted, or wrapped.
//
// It drives the same model as the full screen, and knows no single screen: what it says and asks comes from what every
// screen tells of itself.
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

// Run talks with a person until that person quits, the input ends, or the context does. Secrets are read without echo if in
// is a terminal. Each signal on interrupts leaves the question that stands; two without a line between them quit. A nil
// channel has none. The errors are those of tui.Run; the end of the input is none.
func Run(ctx context.Context, in io.Reader, out io.Writer, interrupts <-chan os.Signal, options tui.Options) (err error) {
	s := &session{
		in: newInput(in), out: display.Writer(out), interrupts: interrupts, notices: options.Notices,
		arrivals: make(chan arrival), ended: make(chan struct{}), after: options.After,
	}
	defer close(s.ended)
	defer func() {
		if reason := recover(); reason != nil {
			err = tui.Crashed(reason, options.Crash)
		}
	}()
	options.Notices = nil // they are heard by the loop, which must know when nothing is under way
	options.After = s.later
	s.app = tui.New(options)
	defer s.app.Keep()
	s.say("Perks, as lines. Type ? for the commands; ctrl+c leaves a question.")
	s.update(tea.WindowSizeMsg{Width: roomy, Height: roomy})
	s.run(s.app.Init())
	return s.talk(ctx)
}

// roomy is a size in which no screen leaves anything out.
const roomy = 200

// session is one talk. All of it belongs to the goroutine of Run; commands run in goroutines of their own, and only send.
type session struct {
	app        *tui.App
	in         *input
	out        io.Writer
	interrupts <-chan os.Signal
	notices    <-chan string
	after      func(time.Duration, tea.Msg) tea.Cmd // of the options; nil is the clock

	arrivals chan arrival
	ended    chan struct{}
	running  int // commands whose message has not come yet
	quit     bool

	heard    heard
	filling  filling
	stopping bool // interrupted, and no line has come since
	tired    bool // interrupted while waiting: what is under way is not waited for until the next line
}

// arrival is a message for the model. That of a command ends it.
type arrival struct {
	msg  tea.Msg
	ends bool
}

// The pauses that pass before anything is said: those between typing and loading. Longer ones are not waited for.
const shortPause = 500 * time.Millisecond

// later is the model's clock.
func (s *session) later(pause time.Duration, msg tea.Msg) tea.Cmd {
	if pause <= shortPause {
		return screen.Send(msg) // nothing is being typed meanwhile: lines come whole
	}
	if s.after != nil {
		if wait := s.after(pause, msg); wait != nil {
			go func() { s.send(arrival{msg: wait()}) }()
		}
		return nil
	}
	time.AfterFunc(pause, func() { s.send(arrival{msg: msg}) })
	return nil
}

func (s *session) send(a arrival) {
	select {
	case s.arrivals <- a:
	case <-s.ended:
	}
}

func (s *session) run(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	s.running++
	go func() {
		defer func() {
			if reason := recover(); reason != nil {
				s.send(arrival{tui.NewCrash(reason), true})
			}
		}()
		s.send(arrival{cmd(), true})
	}()
}

func (s *session) take(a arrival) {
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

// When waiting is said to go on.
const longWait = 5 * time.Second

// settle goes on until nothing is under way any more. An interrupt ends the wait, not what is waited for.
func (s *session) settle(ctx context.Context) error {
	wait := time.NewTicker(longWait)
	defer wait.Stop()
	for s.running > 0 && !s.quit && !s.tired {
		select {
		case a := <-s.arrivals:
			s.take(a)
		case text, open := <-s.notices:
			s.notice(text, open)
			s.tell()
		case <-wait.C:
			s.say("Still waiting for an answer.")
		case <-s.interrupts:
			s.tired = true
			s.say("It is still under way, and is told of when it is done.")
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

// talk says what is new, asks, and does what is answered.
func (s *session) talk(ctx context.Context) error {
	for {
		if err := s.settle(ctx); err != nil {
			return err
		}
		if s.quit {
			s.tell()
			return nil
		}
		s.announce()
		if form := s.form(); form != nil || s.app.Overlay() == nil {
			s.enter(form)
		}
		q := s.question()
		if q.secret { // the terminal shows nothing any more when the prompt comes
			s.in.ask(true)
		}
		fmt.Fprint(s.out, q.prompt)
		if !q.secret {
			s.in.ask(false)
		}
		if err := s.await(ctx, q); err != nil || s.quit {
			return err
		}
	}
}

// await waits until the question was answered or left, or something has happened that asks another.
func (s *session) await(ctx context.Context, q question) error {
	for {
		select {
		case line := <-s.in.lines:
			s.in.asked, s.in.before = false, nil
			s.stopping, s.tired = false, false
			if line.ended {
				s.say("")
				s.sayUnsaved()
				if line.err == nil {
					s.say("The input has ended.")
				}
				s.quit = true
				return line.err
			}
			s.run(q.answer(line.text))
			return nil
		case <-s.interrupts:
			s.in.leave()
			s.interrupt(q)
			return nil
		case a := <-s.arrivals:
			s.take(a)
		case text, open := <-s.notices:
			s.notice(text, open)
		case <-ctx.Done():
			s.in.leave()
			return ctx.Err()
		}
		if s.quit || s.question().about != q.about || s.hasNews() {
			s.say("")
			return nil
		}
	}
}

// interrupt leaves a question. The second one in a row quits, whatever that loses.
func (s *session) interrupt(q question) {
	s.say("")
	if s.stopping {
		s.sayUnsaved()
		s.quit = true
		return
	}
	s.stopping = true
	s.run(q.leave())
}

func (s *session) sayUnsaved() {
	drafts, lost := s.app.End()
	for _, text := range drafts {
		s.say(text + " A draft is kept.")
	}
	for _, text := range lost {
		s.say("Lost: " + text)
	}
}
