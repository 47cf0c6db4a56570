package screen

import (
	"context"
	"errors"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
)

// Fetch asks the service for something. It runs outside of Update, and must not touch the screen.
type Fetch[T any] func(ctx context.Context, c *client.Client) (T, error)

// Loader loads something for a screen. What was loaded last stays until something else has come; a new load cancels the one
// before, and an answer that comes late is dropped.
type Loader[T any] struct {
	Value T
	Has   bool      // Value was loaded
	At    time.Time // when
	Err   error     // of the last load; nil if it went well

	shell  *Shell
	fetch  Fetch[T]
	number int // of the last load
	busy   bool
	cancel context.CancelFunc
}

// NewLoader makes a loader that has loaded nothing.
func NewLoader[T any](shell *Shell) *Loader[T] { return &Loader[T]{shell: shell} }

// Load begins to load, and gives up what is being loaded.
func (l *Loader[T]) Load(fetch Fetch[T]) tea.Cmd {
	l.begin(fetch)
	return l.run()
}

// LoadAfter does so once nothing else was asked for in that time: it is for text that is still being typed. The load that is
// under way is given up at once.
func (l *Loader[T]) LoadAfter(d time.Duration, fetch Fetch[T]) tea.Cmd {
	l.begin(fetch)
	return l.shell.After(d, rested{l, l.number})
}

// Again loads the same once more; nothing if nothing was ever asked for.
func (l *Loader[T]) Again() tea.Cmd {
	if l.fetch == nil {
		return nil
	}
	return l.Load(l.fetch)
}

// Busy tells whether something is being loaded, or is about to be.
func (l *Loader[T]) Busy() bool { return l.busy }

// Cancel gives up what is being loaded.
func (l *Loader[T]) Cancel() {
	l.number++
	l.busy = false
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Reset gives up what is being loaded and forgets what was.
func (l *Loader[T]) Reset() {
	l.Cancel()
	*l = Loader[T]{shell: l.shell, number: l.number}
}

// Put sets the value as if it had been loaded now.
func (l *Loader[T]) Put(value T) { l.Value, l.Has, l.At, l.Err = value, true, l.shell.Now(), nil }

// Take takes a message if it is this loader's. It returns the load that a pause has ended with, and whether Value, Err or
// Busy have changed.
func (l *Loader[T]) Take(msg tea.Msg) (next tea.Cmd, changed bool) {
	switch msg := msg.(type) {
	case rested:
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

func (l *Loader[T]) begin(fetch Fetch[T]) {
	l.Cancel()
	l.fetch, l.busy = fetch, true
}

func (l *Loader[T]) run() tea.Cmd {
	ctx, cancel := context.WithCancel(context.Background()) // #nosec G118 -- Cancel calls it
	l.cancel = cancel
	number, fetch, c := l.number, l.fetch, l.shell.Account.Client
	return func() tea.Msg {
		value, err := fetchWith(ctx, c, fetch)
		return loaded[T]{l, number, value, err, ctx.Err() != nil}
	}
}

func fetchWith[T any](ctx context.Context, c *client.Client, fetch Fetch[T]) (T, error) {
	if c == nil {
		var none T
		return none, &NotLoggedIn{Message: "Not logged in."}
	}
	return fetch(ctx, c)
}

// rested says that the pause before a load has passed.
type rested struct {
	loader any
	number int
}

type loaded[T any] struct {
	loader  *Loader[T]
	number  int
	value   T
	err     error
	givenUp bool
}

// Outcome tells the shell how the load ended, from which it learns whether the service is there and the token good. A load
// that was given up tells nothing.
func (l loaded[T]) Outcome() (known bool, err error) {
	return !l.givenUp && !errors.Is(l.err, context.Canceled), l.err
}
