package list

import (
	"context"
	"maps"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// atOnce limits how many records are read at the same time, so that a page of rows stays below the rate limit.
const atOnce = 4

// Lookup reads what rows lack, one request for each id, a few at a time and each once, as long as it is known.
type Lookup[T any] struct {
	shell   *screen.Shell
	fetch   func(ctx context.Context, c *client.Client, id string) (T, error)
	known   map[string]T // by the id; the zero value while it is read, or if that failed
	read    map[string]bool
	reading map[string]*screen.Loader[T]
	stopped bool // a read failed, so others would fail too
}

// NewLookup makes a Lookup that has read nothing.
func NewLookup[T any](
	shell *screen.Shell, fetch func(ctx context.Context, c *client.Client, id string) (T, error),
) *Lookup[T] {
	return &Lookup[T]{
		shell: shell, fetch: fetch, known: map[string]T{}, read: map[string]bool{},
		reading: map[string]*screen.Loader[T]{},
	}
}

// Known returns what was read of an id; the zero value if nothing was.
func (l *Lookup[T]) Known(id string) T { return l.known[id] }

// Know takes what is known of an id already, so that it is not read.
func (l *Lookup[T]) Know(id string, value T) { l.known[id], l.read[id] = value, true }

// Read reads the first few ids that were not asked for yet. Call it again after each Take.
func (l *Lookup[T]) Read(ids ...string) tea.Cmd {
	var cmds []tea.Cmd
	for _, id := range ids {
		if l.read[id] || l.stopped || len(l.reading) == atOnce {
			continue
		}
		l.read[id], l.reading[id] = true, screen.NewBackgroundLoader[T](l.shell)
		cmds = append(cmds, l.reading[id].Load(func(ctx context.Context, c *client.Client) (T, error) {
			return l.fetch(ctx, c, id)
		}))
	}
	return tea.Batch(cmds...)
}

// Take takes the end of a read, and tells whether it was one. After any failure but a missing record, it reads no more
// until Retry.
func (l *Lookup[T]) Take(msg tea.Msg) (taken bool) {
	for id, loader := range l.reading {
		if _, changed := loader.Handle(msg); changed {
			delete(l.reading, id)
			if taken = true; loader.Err == nil {
				l.known[id] = loader.Value
				l.forgetSome()
			}
			l.stopped = l.stopped || loader.Err != nil && !client.IsNotFound(loader.Err)
		}
	}
	return taken
}

// mostKnown is how many records are kept: more than a list has rows.
const mostKnown = 2000

// forgetSome bounds what is known. What is forgotten is read again when a row lacks it.
func (l *Lookup[T]) forgetSome() {
	for id := range l.known {
		if len(l.known) <= mostKnown {
			return
		}
		delete(l.known, id)
		delete(l.read, id)
	}
}

// Retry reads again what could not be read.
func (l *Lookup[T]) Retry() {
	l.Cancel()
	l.stopped = false
	maps.DeleteFunc(l.read, func(id string, _ bool) bool { _, known := l.known[id]; return !known })
}

// Forget reads everything again.
func (l *Lookup[T]) Forget() {
	clear(l.known)
	l.Retry()
}

// Cancel stops reading.
func (l *Lookup[T]) Cancel() {
	for id, loader := range l.reading {
		loader.Cancel()
		delete(l.read, id)
	}
	clear(l.reading)
}
