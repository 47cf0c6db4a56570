package tui

import (
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/screens/perk"
	"example.com/perks/tui/screens/perks"
	"example.com/perks/tui/screens/property"
	"example.com/perks/tui/screens/redeem"
	"example.com/perks/tui/screens/user"
)

// make turns a route into a screen. It is the only place that knows them all.
func (a *App) make(to screen.Route) screen.Screen {
	switch to := to.(type) {
	case screen.ToPerk:
		return perk.New(a.shell, to)
	case screen.ToRedeem:
		return redeem.New(a.shell, to)
	case screen.ToUser:
		return user.New(a.shell, to)
	case screen.ToProperty:
		return property.New(a.shell, to)
	case screen.ToLogin:
		return login.New(a.shell, "")
	}
	return perks.New(a.shell)
}

// open shows a screen. The list of perks is the bottom of the stack: it is not opened twice.
func (a *App) open(way screen.Go) tea.Cmd {
	var kept tea.Cmd
	if _, home := way.To.(screen.ToPerks); home && len(a.screens) > 0 {
		if _, isList := a.screens[0].(*perks.Screen); isList {
			return a.backToFirst()
		}
		kept = a.drop(len(a.screens))
	}
	if _, again := way.To.(screen.ToLogin); again {
		if a.isLoggingIn() {
			return nil
		}
		a.dropLogins()
	}
	if way.Instead {
		kept = tea.Batch(kept, a.drop(1))
	}
	return tea.Batch(kept, a.push(a.make(way.To)))
}

func (a *App) push(s screen.Screen) tea.Cmd {
	a.screens = append(a.screens, s)
	a.resize()
	return s.Init()
}

// drop closes screens from the top, and gives up what they are still loading. The command keeps drafts of what they have not saved.
func (a *App) drop(n int) tea.Cmd {
	left := len(a.screens) - min(n, len(a.screens))
	kept := keeping(a.screens[left:])
	for _, s := range a.screens[left:] {
		if leaver, ok := s.(interface{ Close() }); ok {
			leaver.Close()
		}
		if results, ok := s.(screen.Reopener); ok && results.Reopens() {
			a.kept = s
		}
	}
	a.screens = a.screens[:left]
	return tea.Batch(kept...)
}

// reopen shows the results that were closed last. Of several that were closed at once, those are the ones on top.
func (a *App) reopen() tea.Cmd {
	a.screens, a.kept = append(a.screens, a.kept), nil
	a.resize()
	return nil
}

// all is the screens that are open, and below them the one that can be opened again.
func (a *App) all() []screen.Screen {
	if a.kept == nil {
		return a.screens
	}
	return slices.Concat([]screen.Screen{a.kept}, a.screens)
}

func (a *App) close() tea.Cmd {
	if len(a.screens) < 2 {
		return nil
	}
	kept := a.drop(1)
	a.resize()
	return tea.Batch(kept, a.Top().Update(screen.Revealed{}))
}

func (a *App) backToFirst() tea.Cmd {
	if len(a.screens) == 1 {
		return nil
	}
	kept := a.drop(len(a.screens) - 1)
	a.resize()
	return tea.Batch(kept, a.Top().Update(screen.Revealed{}))
}

func (a *App) lay(o screen.Overlay) tea.Cmd {
	a.overlays = append(a.overlays, o)
	if a.unasked = (time.Time{}); !a.keyed {
		a.unasked = a.shell.Now()
	}
	a.status.interrupted = false
	return nil
}

// connected is how the first connection went.
type connected struct {
	account screen.Account
	err     error
}

func (a *App) connect(profile string) tea.Cmd {
	accounts := a.shell.Accounts
	return func() tea.Msg {
		account, err := accounts.Connect(profile)
		return connected{account, err}
	}
}

// begin opens the first screen, or the login before it.
func (a *App) begin(msg connected) tea.Cmd {
	if msg.err == nil {
		a.shell.Account = msg.account
		return a.push(a.make(a.options.Start))
	}
	why := msg.err.Error()
	var missing *screen.NotLoggedIn
	if errors.As(msg.err, &missing) {
		why = ""
	}
	return a.push(login.New(a.shell, why))
}

// loggedIn goes on where a login has interrupted. Another account closes the screens of the former, because what they show is
// not there; where that would lose something, it is asked first.
func (a *App) loggedIn(account screen.Account) tea.Cmd {
	if !a.isOther(account.Profile) {
		return a.goOn(account)
	}
	return a.leave(a.all(), "Switch to profile "+account.Profile.Name+"?", "close what is open, and switch", func() tea.Cmd {
		return a.shell.Post(agreed{account})
	})
}

// agreed says that an account is to be gone on with.
type agreed struct{ account screen.Account }

func (a *App) isOther(profile screen.Profile) bool {
	before := a.shell.Account.Profile
	return before.APIURL != profile.APIURL || before.ClientID != profile.ClientID || before.Sandbox != profile.Sandbox
}

func (a *App) goOn(account screen.Account) tea.Cmd {
	other := a.isOther(account.Profile)
	a.shell.Account = account
	a.link = link{round: a.link.round + 1}
	a.dropLogins()
	if len(a.screens) == 0 || other {
		kept := a.drop(len(a.screens))
		a.overlays, a.kept = nil, nil
		return tea.Batch(kept, a.push(a.make(a.options.Start)))
	}
	a.resize()
	return a.broadcast(screen.Reconnected{})
}

// dropLogins closes logins wherever they lie, such as below a screen that was opened over one by the palette.
func (a *App) dropLogins() {
	a.screens = slices.DeleteFunc(a.screens, func(s screen.Screen) bool {
		l, isLogin := s.(*login.Screen)
		if isLogin {
			l.Close()
		}
		return isLogin
	})
}
