package tui

import (
	"context"
	"errors"
	"net/http"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
)

// link is what is known of the way to the service.
type link struct {
	lost  time.Time // since when nothing is heard of it; zero if it is there
	tries int
	round int // rings of former rounds are out of date
}

func (l link) isLost() bool { return !l.lost.IsZero() }

// The pauses between two tries to reach the service again double from the first to the last.
const (
	firstRing = 2 * time.Second
	lastRing  = 30 * time.Second
	ringTime  = 5 * time.Second
)

type ring struct{ round int }

type rang struct {
	round int
	err   error
}

// outcome is a message that tells how asking the service ended.
type outcome interface {
	Outcome() (known bool, err error)
}

// observe learns from every answer whether the service is there, and whether it still takes the token.
func (a *App) observe(msg tea.Msg) tea.Cmd {
	told, ok := msg.(outcome)
	if !ok {
		return nil
	}
	known, err := told.Outcome()
	if !known {
		return nil
	}
	switch {
	case isUnreachable(err):
		return a.lose()
	case needsLogin(err):
		return a.expire()
	case a.link.isLost():
		return a.regain()
	}
	return nil
}

func isUnreachable(err error) bool {
	var unreachable *client.Unreachable
	return errors.As(err, &unreachable)
}

// needsLogin tells whether only another login can help. A source of tokens that has no secret says so by LoginNeeded.
func needsLogin(err error) bool {
	var refused *client.Error
	var missing *screen.NotLoggedIn
	var needs interface{ LoginNeeded() bool }
	return errors.As(err, &refused) && refused.Status == http.StatusUnauthorized || errors.As(err, &missing) ||
		errors.As(err, &needs) && needs.LoginNeeded()
}

func (a *App) expire() tea.Cmd {
	if a.isLoggingIn() {
		return nil
	}
	a.dropLogins()
	a.overlays = nil // a question over the login could not be told from one of its own
	return a.push(login.New(a.shell, "The service does not accept the session any more. Log in again; what you have typed is kept."))
}

// isLoggingIn tells whether a login is on top. One that is covered, which the palette can bring about, is none that helps.
func (a *App) isLoggingIn() bool {
	_, is := a.Top().(*login.Screen)
	return is
}

func (a *App) lose() tea.Cmd {
	if a.link.isLost() {
		return nil
	}
	a.link = link{lost: a.shell.Now(), round: a.link.round + 1}
	return a.ringLater()
}

func (a *App) ringLater() tea.Cmd {
	pause := min(firstRing<<min(a.link.tries, 10), lastRing)
	a.link.tries++
	return a.shell.After(pause, ring{a.link.round})
}

// call asks the service for a sign of life. Every answer is one.
func (a *App) call(msg ring) tea.Cmd {
	if msg.round != a.link.round || !a.link.isLost() || a.shell.Account.Client == nil {
		return nil
	}
	c := a.shell.Account.Client
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), ringTime)
		defer cancel()
		_, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: "health"})
		return rang{msg.round, err}
	}
}

func (a *App) hear(msg rang) tea.Cmd {
	switch {
	case msg.round != a.link.round || !a.link.isLost():
		return nil
	case isUnreachable(msg.err):
		return a.ringLater()
	}
	return a.regain()
}

func (a *App) regain() tea.Cmd {
	a.link = link{round: a.link.round + 1}
	return tea.Batch(a.tell(screen.Toast{Kind: screen.Done, Text: "The service can be reached again."}), a.broadcast(screen.Reconnected{}))
}
