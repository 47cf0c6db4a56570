package user

import (
	"context"
	"errors"
	"maps"
	"net/http"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// titlesAtOnce limits how many perks are read at the same time, so that a page of redemptions does not hit the rate limit.
const titlesAtOnce = 4

// titles is what the perks of redemptions are called, which redemptions do not say.
type titles struct {
	readers [titlesAtOnce]*screen.Loader[api.Perk]
	reading [titlesAtOnce]string // the ids of those perks
	known   map[string]string    // by the perk's id: "" while it is read, and where it could not be
	stopped bool                 // a read failed, and the others would fail alike
}

func newTitles(shell *screen.Shell) *titles {
	t := &titles{known: map[string]string{}}
	for i := range t.readers {
		t.readers[i] = screen.NewLoader[api.Perk](shell)
	}
	return t
}

// read reads the perks of these redemptions as far as there are free readers. Each perk is asked for once, whatever comes of it.
func (t *titles) read(redemptions []api.Redemption) tea.Cmd {
	var cmds []tea.Cmd
	for _, r := range redemptions {
		if _, asked := t.known[r.PerkID]; asked || t.stopped {
			continue
		}
		free := t.free()
		if free < 0 {
			break
		}
		id := r.PerkID
		t.known[id], t.reading[free] = "", id
		cmds = append(cmds, t.readers[free].Load(func(ctx context.Context, c *client.Client) (api.Perk, error) { return c.Perk(ctx, id) }))
	}
	return tea.Batch(cmds...)
}

func (t *titles) free() int {
	for i, reader := range t.readers {
		if !reader.Busy() {
			return i
		}
	}
	return -1
}

// take takes the end of a read. Only a perk that is missing says nothing of the others: after any other failure no more are read
// until retry.
func (t *titles) take(msg tea.Msg) {
	for i, reader := range t.readers {
		if _, changed := reader.Take(msg); !changed {
			continue
		}
		var answer *client.Error
		if reader.Err == nil {
			t.known[t.reading[i]] = reader.Value.Title
		} else if !errors.As(reader.Err, &answer) || answer.Status != http.StatusNotFound {
			t.stopped = true
		}
	}
}

// retry allows another read of the perks that could not be read.
func (t *titles) retry() {
	t.cancel()
	t.stopped = false
	maps.DeleteFunc(t.known, func(_, title string) bool { return title == "" })
}

// forget drops all titles: at another service the same ids mean other perks.
func (t *titles) forget() {
	t.cancel()
	t.stopped = false
	clear(t.known)
}

func (t *titles) cancel() {
	for _, reader := range t.readers {
		reader.Cancel()
	}
}
