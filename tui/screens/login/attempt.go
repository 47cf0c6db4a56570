package login

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/tui/screen"
)

type (
	// connected tells how connecting with a kept secret has ended.
	connected struct {
		screen  *Screen
		number  int
		profile screen.Profile
		account screen.Account
		err     error
	}
	// loggedIn tells how a login has ended.
	loggedIn struct {
		screen  *Screen
		number  int
		profile screen.Profile // as it was entered
		account screen.Account
		note    string
		err     error
	}
)

func (s *Screen) busy() bool { return s.giveUp != nil }

func (s *Screen) begin() (ctx context.Context, number int) {
	ctx, s.giveUp = context.WithCancel(context.Background())
	s.number++
	s.status = status{}
	return ctx, s.number
}

// stop gives up the attempt that is under way, whose end is not listened to any more.
func (s *Screen) stop() {
	if s.giveUp != nil {
		s.giveUp()
		s.giveUp = nil
	}
	s.number++
}

// connect takes a profile whose secret may be kept.
func (s *Screen) connect(profile screen.Profile) tea.Cmd {
	s.fill(profile)
	_, number := s.begin()
	accounts := s.shell.Accounts
	return func() tea.Msg {
		account, err := accounts.Connect(profile.Name)
		return connected{s, number, profile, account, err}
	}
}

func (s *Screen) connected(msg connected) tea.Cmd {
	if msg.screen != s || msg.number != s.number {
		return nil
	}
	s.stop()
	var missing *screen.NotLoggedIn
	switch {
	case msg.err == nil:
		return s.shell.Post(screen.LoggedIn{Account: msg.account})
	case errors.As(msg.err, &missing):
		s.status = status{text: fmt.Sprintf("No secret is kept for profile %s: enter it.", msg.profile.Name)}
	default:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	}
	return nil
}

// submit logs in with what was entered, unless that is wrong or a login is under way.
func (s *Screen) submit() tea.Cmd {
	if s.busy() {
		return nil
	}
	s.rejected = false
	s.form.Refuse(api.FieldErrors{addressField: nil}) // the service may be there by now
	s.askAboutHTTP(true)
	if !s.form.Check() {
		return nil
	}
	profile, secret := s.entered(), s.value(secretField)
	ctx, number := s.begin()
	accounts := s.shell.Accounts
	return func() tea.Msg {
		account, note, err := accounts.Login(ctx, profile, secret)
		return loggedIn{s, number, profile, account, note, err}
	}
}

func (s *Screen) loggedIn(msg loggedIn) tea.Cmd {
	if msg.screen != s || msg.number != s.number {
		return nil
	}
	s.stop()
	if msg.err != nil {
		s.fail(msg)
		return nil
	}
	s.form.Set(secretField, "")
	s.shell.Post(screen.LoggedIn{Account: msg.account})
	return screen.Tell(screen.Done, "Logged in. %s", msg.note)
}

// fail says beside which field a login has failed, and why.
func (s *Screen) fail(msg loggedIn) {
	var refused *client.Error
	var unreachable *client.Unreachable
	switch {
	case errors.As(msg.err, &unreachable):
		problem := screen.Sentence("", unreachable)
		if unreachable.Advice() == "" {
			problem += " Check the address, and the network."
		}
		s.blameAddress(msg.profile.APIURL, problem)
	case errors.As(msg.err, &refused) && refused.Status == http.StatusUnauthorized:
		s.rejected = true
		s.form.Set(secretField, "")
		s.form.Check()
		s.form.FocusOnName(secretField)
	case errors.As(msg.err, &refused) && (refused.Status == http.StatusNotFound || refused.Stray):
		s.blameAddress(msg.profile.APIURL, fmt.Sprintf("No API of perks answers at this address (status %d). It ends with the path of the version, such as /v2.", refused.Status))
	default:
		s.status = status{failed: true, text: screen.Sentence("", msg.err)}
	}
}

// blameAddress speaks beside the address, unless that is another one by now.
func (s *Screen) blameAddress(sent, problem string) {
	if s.entered().APIURL != sent {
		s.status = status{failed: true, text: problem}
		return
	}
	s.form.Refuse(api.FieldErrors{addressField: {problem}})
}
