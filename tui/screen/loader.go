package screen

import (
	"context"
	"errors"
	"net/http"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/actions"
)

// Fetch calls the service. It runs outside of Update, and must not touch the screen.
type Fetch[T any] func(ctx context.Context, c *client.Client) (T, error)

func (f Fetch[T]) with(ctx context.Context, c *client.Client) (value T, err error) {
	if c == nil {
		return value, &NotLoggedIn{Message: "Not logged in."}
	}
	return f(ctx, c)
}

// Loader loads something for a screen. The last value stays until there is another. A new load cancels the one before,
// and a late reply is dropped.
type Loader[T any] struct {
	Value T
	Has   bool      // Value was loaded
	At    time.Time // when
	Err   error     // of the last load; nil if it went well

	shell      *Shell
	fetch      Fetch[T]
	number     int // of the last load
	busy       bool
	cancel     context.CancelFunc
	request    *request // under way; nil for one in the background
	background bool
}

func NewLoader[T any](shell *Shell) *Loader[T] { return &Loader[T]{shell: shell} }

// NewBackgroundLoader makes a loader for what nobody waits for.
func NewBackgroundLoader[T any](shell *Shell) *Loader[T] {
	return &Loader[T]{shell: shell, background: true}
}

// Load starts to load, and cancels the load before.
func (l *Loader[T]) Load(fetch Fetch[T]) tea.Cmd {
	l.Cancel()
	l.fetch, l.busy = fetch, true
	return l.run()
}

// LoadAfter loads after a pause in which nothing else was asked for, such as while text is typed.
func (l *Loader[T]) LoadAfter(d time.Duration, fetch Fetch[T]) tea.Cmd {
	l.Cancel()
	l.fetch, l.busy = fetch, true
	return l.shell.After(d, pauseEnded{l, l.number})
}

// Again repeats the last load, if there was one.
func (l *Loader[T]) Again() tea.Cmd {
	if l.fetch == nil {
		return nil
	}
	return l.Load(l.fetch)
}

func (l *Loader[T]) Busy() bool { return l.busy }

func (l *Loader[T]) Cancel() {
	l.number++
	l.busy = false
	l.shell.ended(l.request)
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Reset cancels the load, and forgets the value.
func (l *Loader[T]) Reset() {
	l.Cancel()
	*l = Loader[T]{shell: l.shell, number: l.number, background: l.background}
}

// Put sets the value as if it had been loaded now.
func (l *Loader[T]) Put(value T) { l.Value, l.Has, l.At, l.Err = value, true, l.shell.Now(), nil }

// Handle handles a message if it is of this loader. It returns the load that a pause delayed, and whether Value, Err or
// Busy changed.
func (l *Loader[T]) Handle(msg tea.Msg) (next tea.Cmd, changed bool) {
	switch msg := msg.(type) {
	case pauseEnded:
		if msg.loader == any(l) && msg.number == l.number {
			return l.run(), false
		}
	case loaded[T]:
		if msg.loader != l || msg.number != l.number {
			return nil, false
		}
		l.cancel()
		l.busy, l.Err = false, msg.err
		if msg.err == nil {
			l.Put(msg.value)
		}
		return nil, true
	}
	return nil, false
}

func (l *Loader[T]) run() tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background()) // #nosec G118 -- Cancel calls it
	l.cancel = cancel
	if l.request = nil; !l.background {
		l.request = l.shell.started()
	}
	number, fetch, c, request := l.number, l.fetch, l.shell.Account.Client, l.request
	return func() tea.Msg {
		value, err := fetch.with(ctx, c)
		return loaded[T]{l, number, value, err, ctx.Err() != nil, request}
	}
}

// pauseEnded says that the pause before a load has passed.
type pauseEnded struct {
	loader any
	number int
}

type loaded[T any] struct {
	loader  *Loader[T]
	number  int
	value   T
	err     error
	givenUp bool
	request *request
}

func (l loaded[T]) answers() *request { return l.request }

// Outcome tells the shell the result of the load. A cancelled load has none.
func (l loaded[T]) Outcome() (known bool, err error) {
	return !l.givenUp && !errors.Is(l.err, context.Canceled), l.err
}

// MayAskForLogin tells whether a login may cover the screen because of the reply: not if nobody waits for it, nor
// while a form is filled in, because it would get what is typed.
func (l loaded[T]) MayAskForLogin(typing bool) bool { return l.request != nil && !typing }

// Sender sends a change. It is never cancelled, and a second change is ignored while the first is under way.
type Sender[T any] struct {
	shell *Shell
	busy  bool
}

func NewSender[T any](shell *Shell) *Sender[T] { return &Sender[T]{shell: shell} }

func (s *Sender[T]) Send(change Fetch[T]) tea.Cmd {
	if s.busy {
		return nil
	}
	s.busy = true
	c, request := s.shell.Account.Client, s.shell.started()
	return func() tea.Msg {
		value, err := change.with(context.Background(), c)
		return Sent[T]{value, err, s, request}
	}
}

func (s *Sender[T]) Busy() bool { return s.busy }

// Handle returns the result of the change if the message has it.
func (s *Sender[T]) Handle(msg tea.Msg) (Sent[T], bool) {
	sent, ok := msg.(Sent[T])
	if !ok || sent.sender != s || !s.busy {
		return Sent[T]{}, false
	}
	s.busy = false
	return sent, true
}

// Sent is the result of a change.
type Sent[T any] struct {
	Value T
	Err   error

	sender  *Sender[T]
	request *request
}

func (s Sent[T]) answers() *request { return s.request }

// Outcome tells the shell the result of the change.
func (s Sent[T]) Outcome() (known bool, err error) { return true, s.Err }

// MayAskForLogin tells whether a login may cover the screen because of the reply: the user has asked for the change.
func (s Sent[T]) MayAskForLogin(bool) bool { return true }

// IsLacking tells whether the service has no such address, or does not let the client use it: asking again would not
// help.
func IsLacking(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && (refused.Unsupported || refused.Status == http.StatusForbidden)
}

// MeetsAll tells whether a failure would meet any other change, too: it is not about what was sent.
func MeetsAll(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	if !is {
		return err != nil && !errors.As(err, new(*api.Error)) // the client itself refuses ids that lead elsewhere
	}
	return refused.NotFromService || refused.LoginNeeded() ||
		refused.Status == http.StatusForbidden || refused.Status == http.StatusTooManyRequests
}

// Explain says why a request failed, and what to do next.
func (s *Shell) Explain(err error) (what, next string) {
	retry := s.Key(actions.Refresh) + " retries."
	if missing, is := errors.AsType[*NotLoggedIn](err); is {
		return display.Line(missing.Message), s.Key(actions.Login) + " logs in."
	}
	if unreachable, is := errors.AsType[*client.Unreachable](err); is {
		return Sentence("", unreachable), retry + " It also reloads by itself."
	}
	refused, is := errors.AsType[*client.Error](err)
	if !is {
		return Sentence("", err), retry
	}
	what = Sentence("", refused)
	if refused.RequestID != "" && refused.Status >= http.StatusInternalServerError {
		what += " Request id: " + display.Line(refused.RequestID) + "."
	}
	switch {
	case refused.Unsupported:
		return what, ""
	case refused.NotFromService:
		return what, "The reply may not be from the service. Check its address. " + retry
	case refused.LoginNeeded():
		return what, s.Key(actions.Login) + " logs in."
	case refused.Status == http.StatusForbidden:
		return what, s.Switches()
	}
	return what, retry
}

// Age says when something was loaded that could not be loaded again: "Last loaded 5 min ago."
func (s *Shell) Age(loaded time.Time) string {
	return "Last loaded " + display.Age(s.Now().Sub(loaded)) + "."
}
