package tui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"example.com/perks/api/client"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/screens/login"
	"example.com/perks/tui/screens/perks"
	"example.com/perks/tui/screens/property"
	"example.com/perks/tui/screens/redeem"
	"example.com/perks/tui/screens/redemptions"
	"example.com/perks/tui/screens/user"
)

// newScreen returns the screen for a route. Nothing else knows all screens but those that a Maker
// makes.
func (a *App) newScreen(to screen.Route) screen.Screen {
	switch to := to.(type) {
	case screen.ToPerk:
		return perks.NewDetail(a.shell, to)
	case screen.ToRedeem:
		return redeem.New(a.shell, to)
	case screen.ToUser:
		return user.New(a.shell, to)
	case screen.ToRedemption:
		return user.NewRedemption(a.shell, to)
	case screen.ToProperty:
		return property.New(a.shell, to)
	case screen.Maker:
		return to.New(a.shell)
	case screen.ToLogin:
		return login.New(a.shell, "")
	case screen.ToUsers:
		return user.NewList(a.shell)
	case screen.ToProperties:
		return property.NewList(a.shell)
	case screen.ToRedemptions:
		return redemptions.NewList(a.shell)
	}
	return perks.NewList(a.shell)
}

// open shows a screen, unless it could show nothing but a refusal. That of a tab is the bottom of its stack, so it is
// not opened twice.
func (a *App) open(request screen.Go) tea.Cmd {
	if why := a.shell.WhyNotOpen(request.To); why != "" {
		return a.explain(why)
	}
	if tab := request.To.Tab(); request.To == tabs[tab].route {
		return a.showTab(tab)
	}
	if _, isLogin := request.To.(screen.ToLogin); isLogin {
		if a.isLoggingIn() {
			return nil
		}
		a.dropLogins()
	}
	return a.push(a.newScreen(request.To))
}

func (a *App) push(s screen.Screen) tea.Cmd {
	a.screens = append(a.screens, s)
	a.resize()
	return s.Init()
}

// drop closes the top n screens, cancels what they load, and returns the commands that save their drafts.
func (a *App) drop(n int) tea.Cmd {
	left := len(a.screens) - min(n, len(a.screens))
	drafts := draftCommands(a.screens[left:])
	for _, s := range a.screens[left:] {
		if leaver, ok := s.(interface{ Close() }); ok {
			leaver.Close()
		}
		if results, ok := s.(screen.Reopener); ok && results.Reopens() {
			a.reopenable = s
		}
	}
	a.screens = a.screens[:left]
	return tea.Batch(drafts...)
}

// all returns the open screens, below them those of other tabs, and the one that can be reopened.
func (a *App) all() (all []screen.Screen) {
	if a.reopenable != nil {
		all = append(all, a.reopenable)
	}
	return append(append(all, slices.Concat(a.parked[:]...)...), a.screens...)
}

// close closes the top screen, unless it is the only one.
func (a *App) close() tea.Cmd { return a.closeDownTo(max(1, len(a.screens)-1)) }

// closeDownTo closes screens until n are left, and tells the one that is on top then.
func (a *App) closeDownTo(left int) tea.Cmd {
	if len(a.screens) <= left {
		return nil
	}
	drafts := a.drop(len(a.screens) - left)
	a.resize()
	return tea.Batch(drafts, a.Top().Update(screen.Revealed{}))
}

func (a *App) openOverlay(o screen.Overlay) tea.Cmd {
	a.overlays = append(a.overlays, o)
	a.openedAt, a.raised = a.shell.Now(), !a.byUser
	a.status.interrupted = false
	return o.Update(screen.Opened{})
}

// withdraw closes the questions of a screen.
func (a *App) withdraw(by screen.Screen) {
	open := len(a.overlays)
	a.overlays = slices.DeleteFunc(a.overlays, func(o screen.Overlay) bool {
		question, is := o.(*screen.ConfirmDialog)
		return is && question.IsOf(by)
	})
	if len(a.overlays) < open {
		a.withdrawnAt = a.shell.Now()
	}
}

// connected is the result of the first connection.
type connected struct {
	account  screen.Account
	err      error
	settings map[string]string
}

// onConnected opens the first screen, or a login before it.
func (a *App) onConnected(msg connected) tea.Cmd {
	a.shell.Settings = msg.settings
	if msg.err == nil {
		a.shell.Account = msg.account
		return tea.Batch(a.openStart(), a.showHint(), a.watch())
	}
	if errors.As(msg.err, new(*screen.NotLoggedIn)) {
		return a.push(login.New(a.shell, ""))
	}
	return a.push(login.New(a.shell, msg.err.Error()))
}

// loggedIn resumes what a login interrupted. A different account closes all screens, because their data is not its own.
// It asks first if that would lose something.
func (a *App) loggedIn(account screen.Account) tea.Cmd {
	if a.shell.Account.Profile.IsSame(account.Profile) {
		return a.useAccount(account)
	}
	return a.leave(a.all(), "Switch to profile "+account.Profile.Name+"?", "switch", func() tea.Cmd {
		return a.shell.Post(switchAccount{account})
	})
}

// switchAccount says that the user agreed to switch accounts.
type switchAccount struct{ account screen.Account }

func (a *App) useAccount(account screen.Account) tea.Cmd {
	same := a.shell.Account.Profile.IsSame(account.Profile)
	if a.shell.SetAccount(account, same); !same {
		a.lacking.Reset()
	}
	a.connectivity = connectivity{round: a.connectivity.round + 1}
	a.dropLogins()
	if len(a.screens) == 0 || !same {
		drafts := a.drop(len(a.screens))
		for tab := range a.parked {
			a.screens, a.parked[tab] = a.parked[tab], nil
			drafts = tea.Batch(drafts, a.drop(len(a.screens)))
		}
		a.overlays, a.reopenable = nil, nil
		// after that of the login
		return tea.Batch(drafts, a.openStart(), a.watch(), a.shell.After(noteTime, showHint{}))
	}
	a.resize()
	return tea.Batch(a.watch(), a.broadcast(screen.Reconnected{}))
}

// dropLogins closes every login, also one that a screen from the palette covers.
func (a *App) dropLogins() {
	a.screens = slices.DeleteFunc(a.screens, func(s screen.Screen) bool {
		l, isLogin := s.(*login.Screen)
		if isLogin {
			l.Close()
		}
		return isLogin
	})
}

// connectivity is whether the service can be reached, and accepts the token.
type connectivity struct {
	loggedOut    bool      // it has refused the token
	heard        time.Time // its last reply; zero before the first
	offlineSince time.Time // zero while the service can be reached
	pingAt       time.Time // when it is asked next whether it is there
	tries        int
	round        int // pings of former rounds are out of date
}

func (c connectivity) isOffline() bool { return !c.offlineSince.IsZero() }

// The pause between two pings doubles from the first to the last.
const (
	minPingPause = 2 * time.Second
	maxPingPause = 30 * time.Second
	pingTimeout  = 5 * time.Second
)

// silentTime is how long a request may take before the header says that there is no reply.
const silentTime = 5 * time.Second

// asked returns since when the service owes a reply, also to what nobody waits for, if it does.
func (a *App) asked() (since time.Time, owes bool) {
	if since, owes = a.shell.Waits(); !owes && a.live.events.Busy() {
		since, owes = a.live.asked, true
	}
	return since, owes
}

// silence returns how long the service has replied to nothing although it was asked; 0 if that is not long.
func (a *App) silence() time.Duration {
	since, owes := a.asked()
	if heard := a.connectivity.heard; heard.After(since) {
		since = heard // it is only slow with one of them
	}
	silence := a.shell.Now().Sub(since)
	if !owes || silence < silentTime || a.shell.Progress != "" {
		return 0
	}
	return silence
}

type ping struct{ round int }

type pong struct {
	round int
	err   error
}

// outcome is a message with the result of a request.
type outcome interface {
	Outcome() (known bool, err error)
	// MayAskForLogin tells whether a login may cover the screen because of it.
	MayAskForLogin(typing bool) bool
}

// observe learns from every reply whether the service can be reached, and whether it accepts the token.
func (a *App) observe(msg tea.Msg) tea.Cmd {
	result, ok := msg.(outcome)
	if !ok {
		return nil
	}
	known, err := result.Outcome()
	isUnreachable := errors.As(err, new(*client.Unreachable))
	if known && !isUnreachable && a.shell.Account.Client != nil {
		a.connectivity.heard = a.shell.Now()
	}
	switch {
	case !known, isUnreachable && a.connectivity.isOffline(), needsLogin(err) && a.isLoggingIn():
		return nil
	case isUnreachable:
		a.connectivity = connectivity{offlineSince: a.shell.Now(), round: a.connectivity.round + 1}
		return tea.Batch(a.pingLater(), a.countDown(second{a.connectivity.round}))
	case needsLogin(err) && !result.MayAskForLogin(a.target().Form() != nil):
		if a.connectivity.loggedOut {
			return nil
		}
		a.connectivity.loggedOut = true
		text := "Logged out. " + a.shell.Key(actions.Login) + " logs in."
		if a.target().Form() != nil {
			text = "Logged out. Your text is kept; saving logs in."
		}
		return a.toast(screen.Toast{Kind: screen.Warning, Text: text})
	case needsLogin(err):
		return a.askForLogin()
	case isLacking(err):
		return a.askWhatIsLacking()
	case err == nil && a.connectivity.loggedOut: // such as after a login in another window
		a.connectivity.loggedOut = false
		return a.watch()
	case a.connectivity.isOffline():
		return a.backOnline()
	}
	return nil
}

// isLacking tells whether the service has no such address, or a proxy has a page there.
func isLacking(err error) bool {
	refused, is := errors.AsType[*client.Error](err)
	return is && (refused.Unsupported || refused.NotFromService && refused.Status < http.StatusMultipleChoices)
}

// askWhatIsLacking asks, once for each account, what else the service lacks, after a reply that it lacks something.
func (a *App) askWhatIsLacking() tea.Cmd {
	if a.lacking.Has || a.lacking.Busy() {
		return nil
	}
	return a.lacking.Load(func(ctx context.Context, c *client.Client) ([]string, error) {
		return c.Lacking(ctx, client.Examples{}, client.ListOfRedemptions, client.ListOfProperties,
			client.HistoryOfListings, client.ChangesOfPerks)
	})
}

// askForLogin opens a login because the service did not accept the token.
func (a *App) askForLogin() tea.Cmd {
	a.connectivity.loggedOut = true
	a.dropLogins()
	a.overlays = nil // a dialog above the login would look like its own
	return a.push(login.New(a.shell, "Your session has expired. Log in again; your text is kept."))
}

func needsLogin(err error) bool {
	var needs interface{ LoginNeeded() bool } // a refusal, or a source of tokens that has no secret
	return errors.As(err, new(*screen.NotLoggedIn)) || errors.As(err, &needs) && needs.LoginNeeded()
}

// isLoggingIn tells whether a login is on top. A covered one does not help.
func (a *App) isLoggingIn() bool {
	_, is := a.Top().(*login.Screen)
	return is
}

func (a *App) pingLater() tea.Cmd {
	pause := min(minPingPause<<min(a.connectivity.tries, 10), maxPingPause)
	a.connectivity.tries++
	a.connectivity.pingAt = a.shell.Now().Add(pause)
	return a.shell.After(pause, ping{a.connectivity.round})
}

// second passes while the service cannot be reached, so that the header counts down to the next ping.
type second struct{ round int }

func (a *App) countDown(msg second) tea.Cmd {
	if msg.round != a.connectivity.round || !a.connectivity.isOffline() {
		return nil
	}
	return a.shell.After(time.Second, msg)
}

// ping asks the service whether it is there.
func (a *App) ping(msg ping) tea.Cmd {
	c := a.shell.Account.Client
	if msg.round != a.connectivity.round || c == nil {
		return nil
	}
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), pingTimeout)
		defer cancel()
		_, err := c.Do(ctx, client.Request{Method: http.MethodGet, Path: "health"})
		return pong{msg.round, err}
	}
}

// pong handles the result of a ping. Any reply means that the service is there.
func (a *App) pong(msg pong) tea.Cmd {
	switch {
	case msg.round != a.connectivity.round:
		return nil
	case errors.As(msg.err, new(*client.Unreachable)):
		return a.pingLater()
	}
	return a.backOnline()
}

func (a *App) backOnline() tea.Cmd {
	a.connectivity = connectivity{round: a.connectivity.round + 1, heard: a.shell.Now()}
	return tea.Batch(a.toast(screen.Toast{Kind: screen.Done, Text: "Back online."}), a.broadcast(screen.Reconnected{}))
}

// Crash is a bug that crashed the terminal UI.
type Crash struct {
	Panic string
	Stack string
}

func (c *Crash) Error() string { return "the terminal UI failed: " + c.Panic }

// newCrash makes a Crash of what recover returned. Call it where the stack is still that of the panic.
func newCrash(reason any) *Crash { return &Crash{fmt.Sprint(reason), string(debug.Stack())} }

// Catch takes a panic. Defer it.
func Catch(take func(*Crash)) {
	if reason := recover(); reason != nil {
		take(newCrash(reason))
	}
}

// Guard keeps a panic from leaving the terminal unusable. It quits as usual, which restores the terminal,
// and keeps the crash. Without it, a panic in a command would end the process.
type Guard struct {
	model   tea.Model
	crash   *Crash        // the fault that stopped the model; nil if there was none
	crashed chan struct{} // closed by a fault in View, which can send no message
}

// Init starts the model, and waits for panics in View.
func (g *Guard) Init() (cmd tea.Cmd) {
	defer Catch(func(crash *Crash) { g.crash, cmd = crash, tea.Quit })
	await := func() tea.Msg { <-g.crashed; return tea.Quit() }
	return tea.Batch(await, g.guard(g.model.Init()))
}

func (g *Guard) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g
	if crash, ok := msg.(*Crash); ok && g.crash == nil {
		g.crash = crash
	}
	if g.crash != nil {
		return g, tea.Quit
	}
	defer Catch(func(crash *Crash) { g.crash, cmd = crash, tea.Quit })
	_, cmd = g.model.Update(msg)
	return g, g.guard(cmd)
}

// View draws the model; nothing once it has crashed.
func (g *Guard) View() (view string) {
	if g.crash != nil {
		return ""
	}
	defer Catch(func(crash *Crash) {
		g.crash = crash
		close(g.crashed)
	})
	return g.model.View()
}

// guard guards a command, and the commands of a batch that it returns.
func (g *Guard) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer Catch(func(crash *Crash) { msg = crash })
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, inner := range batch {
				batch[i] = g.guard(inner)
			}
		}
		return msg
	}
}
