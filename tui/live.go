package tui

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

// eventPause is how long to wait before asking what others have changed.
const eventPause = 3 * time.Second

// live follows the changes that others make.
type live struct {
	events   *screen.Loader[api.EventPage]
	asked    time.Time // when events were asked for last
	position string    // of the last event that was seen; "" before the first answer
	round    int       // an eventsDue of an earlier login is out of date
	missed   map[screen.Screen][]api.Event
	waiting  waiting
}

type eventsDue struct{ round int }

// watch begins to ask for changes. It asks for the position at once, so that nothing is missed from now on.
func (a *App) watch() tea.Cmd {
	a.live.events.Cancel()
	a.live = live{events: a.live.events, round: a.live.round + 1, missed: map[screen.Screen][]api.Event{},
		waiting: newWaiting()}
	return screen.Send(eventsDue{a.live.round})
}

func (a *App) watchLater() tea.Cmd {
	return a.shell.After(eventPause, eventsDue{a.live.round})
}

// askForEvents asks for the events since the last ones, or for the position of now, if a screen shows what others
// change, or people want to be told of what waits.
func (a *App) askForEvents(due eventsDue) tea.Cmd {
	if due.round != a.live.round {
		return nil
	}
	cmd := a.tellChanges()
	isWatcher := func(s screen.Screen) bool { _, watches := s.(screen.Watcher); return watches }
	watches := a.notifies() || slices.ContainsFunc(a.all(), isWatcher)
	if a.connectivity.isOffline() || a.isLoggingIn() || !watches {
		return tea.Batch(cmd, a.watchLater())
	}
	after := a.live.position
	a.live.asked = a.shell.Now()
	return tea.Batch(cmd, a.live.events.Load(func(ctx context.Context, c *client.Client) (api.EventPage, error) {
		return c.Events(ctx, after, api.MaxPerPage, 0)
	}))
}

// onEvents takes the events. A service that has none for this client is not asked again.
func (a *App) onEvents(msg tea.Msg) tea.Cmd {
	if own, is := msg.(screen.Redeemed); is && a.live.waiting.own != nil {
		a.live.waiting.own[own] = true
	}
	if _, changed := a.live.events.Handle(msg); !changed {
		return nil
	}
	if err := a.live.events.Err; err != nil {
		refused, is := errors.AsType[*client.Error](err)
		if is && refused.Status/100 == 4 && refused.Status != http.StatusTooManyRequests {
			return nil
		}
		return a.watchLater()
	}
	page, isFirst := a.live.events.Value, a.live.position == ""
	a.live.position = page.Next
	if isFirst {
		return a.watchLater()
	}
	for _, s := range a.all() {
		if watcher, watches := s.(screen.Watcher); watches {
			for _, event := range page.Data {
				if watcher.Watches(event) {
					a.live.missed[s] = append(a.live.missed[s], event)
				}
			}
		}
	}
	return tea.Batch(a.tellWaiting(page.Data), a.tellChanges(), a.watchLater())
}

// tellChanges tells the screens that are seen what they have missed. It waits until nothing is asked or searched for.
func (a *App) tellChanges() tea.Cmd {
	for s := range a.live.missed {
		if !slices.Contains(a.all(), s) {
			delete(a.live.missed, s)
		}
	}
	if a.Overlay() != nil || a.Top() == nil {
		return nil
	}
	seen := []screen.Screen{a.Top()}
	if a.besideWidth(a.Top()) > 0 {
		seen = append(seen, a.below(a.Top()))
	}
	var cmds []tea.Cmd
	for _, s := range seen {
		missed := a.live.missed[s]
		if len(missed) > 0 && (s.Form() == nil || s.(screen.Watcher).WatchesWhileTyping()) {
			delete(a.live.missed, s)
			cmds = append(cmds, s.Update(screen.Changed{Events: missed}))
		}
	}
	return tea.Batch(cmds...)
}
