package list

import (
	"context"
	"maps"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui/screen"
)

// atOnce limits how many records are read at the same time, so that a page of rows stays below the rate limit.
const atOnce = 4

// Few reads what rows lack, one request for each id, a few at a time and each once.
type Few[T any] struct {
	shell   *screen.Shell
	fetch   func(ctx context.Context, c *client.Client, id string) (T, error)
	known   map[string]T // by the id; the zero value while it is read, or if that failed
	read    map[string]bool
	reading map[string]*screen.Loader[T]
	stopped bool // a read failed, so others would fail too
}

// NewFew makes a Few that has read nothing.
func NewFew[T any](shell *screen.Shell, fetch func(ctx context.Context, c *client.Client, id string) (T, error)) *Few[T] {
	return &Few[T]{shell: shell, fetch: fetch, known: map[string]T{}, read: map[string]bool{}, reading: map[string]*screen.Loader[T]{}}
}

// Known returns what was read of an id; the zero value if nothing was.
func (f *Few[T]) Known(id string) T { return f.known[id] }

// Read reads the first few ids that were not asked for yet. Call it again after each Take.
func (f *Few[T]) Read(ids ...string) tea.Cmd {
	var cmds []tea.Cmd
	for _, id := range ids {
		if f.read[id] || f.stopped || len(f.reading) == atOnce {
			continue
		}
		f.read[id], f.reading[id] = true, screen.NewBackgroundLoader[T](f.shell)
		cmds = append(cmds, f.reading[id].Load(func(ctx context.Context, c *client.Client) (T, error) { return f.fetch(ctx, c, id) }))
	}
	return tea.Batch(cmds...)
}

// Take takes the end of a read, and tells whether it was one. After any failure but a missing record, it reads no more until Retry.
func (f *Few[T]) Take(msg tea.Msg) (taken bool) {
	for id, loader := range f.reading {
		if _, changed := loader.Handle(msg); changed {
			delete(f.reading, id)
			if taken = true; loader.Err == nil {
				f.known[id] = loader.Value
			}
			f.stopped = f.stopped || loader.Err != nil && !client.IsNotFound(loader.Err)
		}
	}
	return taken
}

// Retry reads again what could not be read.
func (f *Few[T]) Retry() {
	f.Cancel()
	f.stopped = false
	maps.DeleteFunc(f.read, func(id string, _ bool) bool { _, known := f.known[id]; return !known })
}

// Forget reads everything again.
func (f *Few[T]) Forget() {
	clear(f.known)
	f.Retry()
}

// Cancel stops reading.
func (f *Few[T]) Cancel() {
	for id, loader := range f.reading {
		loader.Cancel()
		delete(f.read, id)
	}
	clear(f.reading)
}

// Titles reads the titles of perks, because redemptions have only their ids.
type Titles struct{ *Few[api.Perk] }

// NewTitles makes a Titles that knows none.
func NewTitles(shell *screen.Shell) Titles {
	return Titles{NewFew(shell, func(ctx context.Context, c *client.Client, id string) (api.Perk, error) { return c.Perk(ctx, id) })}
}

// Of is the title of a perk; "" if it is not known.
func (t Titles) Of(perkID string) string { return display.Line(t.Known(perkID).Title) }
