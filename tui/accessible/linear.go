// Package linear is the terminal UI for people who listen to it, or read it on a braille line: there is nothing but lines
// that are appended, and questions that are answered by a line. Nothing is drawn, repainted, or wrapped.
//
// It drives the same model as the full screen, and knows no single screen: what it says and asks comes from what every
// screen tells of itself.
package accessible

import (
	"context"
	"io"
	"os"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/display"
	"example.com/perks/tui"
)

// Run talks with a person until that person quits, the input ends, or the context does. Secrets are read without echo if in
// is a terminal. Each signal on interrupts leaves the question that stands; two without a line between them quit. A nil
// channel has none. The errors are those of tui.Run; the end of the input is none.
func Run(ctx context.Context, in io.Reader, out io.Writer, interrupts <-chan os.Signal, options tui.Options) (err error) {
	s := &session{
		in: newInput(in), out: display.Writer(out), interrupts: interrupts, notices: options.Notices,
		arrivals: make(chan arrival), ended: make(chan struct{}), after: options.After, now: options.Now,
	}
	defer close(s.ended)
	defer func() {
		if reason := recover(); reason != nil {
			err = tui.Crashed(reason, options.Crash)
		}
	}()
	if s.now == nil {
		s.now = time.Now
	}
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
