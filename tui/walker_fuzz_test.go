package tui_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/api/client"
	"example.com/perks/api/display"
	"example.com/perks/tui"
	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/tuitest"
)

// walker uses the terminal UI at random, in one goroutine, so that a seed repeats a walk. Commands wait in todo until
// the walker runs one, and its result may wait in late, as over a slow network.
type walker struct {
	*world
	app           *tui.App
	service       *erraticService
	now           time.Time
	width, height int
	keys          []string // the keys of all actions, and some others

	todo []tea.Cmd
	late []tea.Msg
	quit bool
	yes  int // confirmed dialogs

	lastSteps []string
}

func newWalker(source randomSource) *walker {
	w := &walker{world: &world{randomSource: source}, now: tuitest.Noon,
		keys: []string{"ctrl+c", "enter", "esc", "backspace", "delete", "ctrl+w", "ctrl+u", "alt+x", "f1", "x", "7",
			"shift+tab"}}
	for _, action := range actions.Default().Actions() {
		w.keys = append(w.keys, action.Keys...)
	}
	w.service = &erraticService{world: w.world, now: func() time.Time { return w.now }}
	w.start()
	return w
}

// start starts a session.
func (w *walker) start() {
	w.realistic = chance(w, 2)
	*w = walker{world: w.world, service: w.service, now: w.now, keys: w.keys, lastSteps: append(w.lastSteps, "start")}
	w.service.deletes = 0
	names := []theme.Name{theme.Dark, theme.Light, theme.HighContrast, theme.None}
	keys := 0
	w.app = tui.New(tui.Options{
		Accounts: &erraticAccounts{w.world, w.service}, Memory: &tuitest.Memory{}, Desktop: erraticDesktop{w.world},
		Theme: pick(w, names), Colours: pick(w, []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.Ascii}),
		Mouse: chance(w, 2),
		Start: w.route(),
		Now:   func() time.Time { return w.now },
		After: func(_ time.Duration, msg tea.Msg) tea.Cmd { return screen.Send(msg) },
		Sleep: func(context.Context, time.Duration) error { return nil },
		NewID: func() string { keys++; return fmt.Sprint("key-", keys) },
	})
	w.enqueue(w.app.Init())
	w.resize()
}

func (w *walker) enqueue(cmd tea.Cmd) {
	if cmd != nil {
		w.todo = append(w.todo, cmd)
	}
}

// send gives the terminal UI a message, as bubbletea would.
func (w *walker) send(msg tea.Msg) {
	switch msg := msg.(type) {
	case nil:
		return
	case tea.QuitMsg:
		w.quit = true
		return
	case tea.BatchMsg:
		for _, cmd := range msg {
			w.enqueue(cmd)
		}
		return
	}
	// tea.Sequence
	if list := reflect.ValueOf(msg); list.Kind() == reflect.Slice && list.Type().Elem() == reflect.TypeFor[tea.Cmd]() {
		for i := range list.Len() {
			w.enqueue(list.Index(i).Interface().(tea.Cmd))
		}
		return
	}
	_, cmd := w.app.Update(msg)
	w.enqueue(cmd)
}

// step does one thing.
func (w *walker) step() {
	switch n := w.n(100); {
	case n < 34 && len(w.todo) > 0:
		w.runCommand()
	case n < 38 && len(w.late) > 0:
		at := w.n(len(w.late))
		msg := w.late[at]
		w.late = append(w.late[:at], w.late[at+1:]...)
		w.note("late result %T", msg)
		w.send(msg)
	case n < 66:
		w.pressUseful()
	case w.realistic && n < 90:
		w.pressUseful()
	case n < 74:
		w.press(pick(w, w.keys))
	case n < 84 && w.typing():
		w.paste()
	case n < 89:
		w.resize()
	case n < 94:
		w.mouse()
	case n < 96:
		w.now = w.now.Add(time.Duration(w.n(100)) * time.Minute)
		w.note("it is %s", w.now.Format(time.DateTime))
	default:
		w.open()
	}
	if w.quit {
		w.start()
	}
}

// runCommand runs one of the commands in todo. Over a slow network, its result comes later.
func (w *walker) runCommand() {
	at := w.n(len(w.todo))
	cmd := w.todo[at]
	w.todo = append(w.todo[:at], w.todo[at+1:]...)
	w.service.requests = 0
	msg := cmd()
	if chance(w, 5) && len(w.late) < 20 {
		w.note("delayed result %T", msg)
		w.late = append(w.late, msg)
		return
	}
	w.note("result %T", msg)
	w.send(msg)
}

// pressUseful presses a key of an action that is offered now, or types.
func (w *walker) pressUseful() {
	offers := w.app.Offers()
	if len(offers) == 0 || w.typing() && chance(w, 5) {
		w.press(string(pick(w, []rune("abc 019.,-=:/{}\"@äß東👍"))))
		return
	}
	if typed, asks := w.app.Overlay().(*screen.ConfirmDialog); asks && typed.Frame().Grave && chance(w, 3) {
		w.press("end") // ctrl+u erases only what is before the cursor
		w.press("ctrl+u")
		w.note("type delete")
		w.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("delete")})
		if !agrees(typed) {
			panic("delete cannot be typed")
		}
	}
	offer := pick(w, offers)
	if keys := w.app.Shell().Keys.Action(offer.ID).Keys; len(keys) > 0 &&
		(w.app.Overlay() != nil || !leaves(offer.ID) || chance(w, 12)) {
		w.press(pick(w, keys))
	}
}

// leaves tells whether an action leaves the screen.
func leaves(id actions.ID) bool {
	return id.Group() == "app" || id == actions.Cancel || id == actions.No
}

func (w *walker) typing() bool {
	if o := w.app.Overlay(); o != nil {
		return o.Form() != nil
	}
	return w.app.Top() != nil && w.app.Top().Form() != nil
}

// agrees tells whether what is typed confirms.
func agrees(d *screen.ConfirmDialog) bool {
	return d.Answer(d.Form().Value(d.Form().Focus())).Do == actions.Submit
}

func (w *walker) press(key string) {
	switch d, asks := w.app.Overlay().(*screen.ConfirmDialog); {
	case asks && !d.Frame().Grave && key == "y":
		w.yes++
	case asks && d.Frame().Grave && (key == "enter" || key == "ctrl+s") && agrees(d):
		w.yes++
	}
	w.note("key %q", key)
	w.send(tuitest.Key(key))
}

func (w *walker) paste() {
	if chance(w, 2) {
		w.press("ctrl+u") // empties a field
	}
	t := w.text()
	w.note("paste %.60q", t)
	w.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(t), Paste: chance(w, 2)})
}

func (w *walker) resize() {
	w.width, w.height = 1+w.n(200), 1+w.n(60)
	if chance(w, 3) {
		w.width, w.height = 1+w.n(30), 1+w.n(10)
	}
	w.note("resize to %dx%d", w.width, w.height)
	w.send(tea.WindowSizeMsg{Width: w.width, Height: w.height})
}

func (w *walker) mouse() {
	msg := tea.MouseMsg{
		X: w.n(w.width+2) - 1, Y: w.n(w.height+2) - 1, Action: tea.MouseAction(w.n(3)),
		Button: tea.MouseButton(w.n(12)),
		Ctrl:   chance(w, 9), Shift: chance(w, 9),
	}
	w.note("mouse %s at %d,%d", msg, msg.X, msg.Y)
	w.send(msg)
}

// open opens a screen as another screen would.
func (w *walker) open() {
	if w.app.Top() == nil || w.app.Overlay() != nil || w.app.Depth() > 8 {
		return // no screen opens another then
	}
	to := w.route()
	w.note("open %T", to)
	w.send(screen.Go{To: to})
}

func (w *walker) route() screen.Route {
	perk := w.service.perk()
	return pick(w, []screen.Route{
		screen.ToPerks{}, screen.ToPerk{ID: perk.ID}, screen.ToPerk{ID: perk.ID, Known: &perk},
		screen.ToRedeem{Perks: []api.Perk{perk}},
		screen.ToRedeem{Perks: []api.Perk{perk, w.service.perk(), w.service.perk()}, UserID: w.text()},
		screen.ToUser{ID: w.text()}, screen.ToUser{},
		screen.ToProperty{ID: "1"}, screen.ToProperty{}, screen.ToLogin{},
		screen.ToUsers{}, screen.ToProperties{}, screen.ToRedemptions{}, screen.ToRedemption{ID: w.text()},
		screen.ToUser{ID: w.text(), Redeemed: true},
	})
}

func (w *walker) note(format string, args ...any) {
	if w.lastSteps = append(w.lastSteps, fmt.Sprintf(format, args...)); len(w.lastSteps) > 40 {
		w.lastSteps = w.lastSteps[1:]
	}
}

// check draws the screen, and returns what is wrong with it.
func (w *walker) check() error {
	if w.service.deletes > w.yes {
		return fmt.Errorf("%d deletions were sent, but only %d dialogs confirmed", w.service.deletes, w.yes)
	}
	view := w.app.View()
	lines := strings.Split(view, "\n")
	if len(lines) > w.height {
		return fmt.Errorf("%d lines in a height of %d:\n%s", len(lines), w.height, view)
	}
	for _, line := range lines {
		if width := ansi.StringWidth(line); width > w.width {
			return fmt.Errorf("a line of %d cells in a width of %d: %q", width, w.width, line)
		}
		if r := control(line); r >= 0 {
			return fmt.Errorf("%U would be written to the terminal: %q", r, line)
		}
	}
	if s := w.app.Top(); s != nil && chance(w, 20) {
		for line := range strings.SplitSeq(s.AccessibleText(), "\n") {
			if r := control(strings.ReplaceAll(line, "\t", " ")); r >= 0 {
				return fmt.Errorf("%U would be in the accessible text: %q", r, line)
			}
		}
	}
	return nil
}

// control returns the first control character that is not part of an SGR escape; -1 if there is none.
func control(line string) rune {
	for i := 0; i < len(line); {
		r, size := utf8.DecodeRuneInString(line[i:])
		if r == '\x1b' {
			if n := styling(line[i:]); n > 0 {
				i += n
				continue
			}
		}
		if display.IsControl(r) {
			return r
		}
		i += size
	}
	return -1
}

// styling returns the length of the SGR escape at the start of a text; 0 if there is none.
func styling(text string) int {
	rest, ok := strings.CutPrefix(text, "\x1b[")
	if !ok {
		return 0
	}
	rest = strings.TrimLeft(rest, "0123456789;:")
	if !strings.HasPrefix(rest, "m") {
		return 0
	}
	return len(text) - len(rest) + 1
}

// erraticAccounts has a login that fails at random.
type erraticAccounts struct {
	*world
	service *erraticService
}

func (a *erraticAccounts) Profiles() ([]screen.Profile, string, error) {
	if chance(a, 10) {
		return nil, "", errors.New(a.text())
	}
	profiles := make([]screen.Profile, a.n(4))
	for i := range profiles {
		profiles[i] = a.profile()
		profiles[i].Name = a.text()
	}
	return profiles, "staging", nil
}

func (a *erraticAccounts) profile() screen.Profile {
	return screen.Profile{Name: "staging", APIURL: "https://perks.example/v2", ClientID: "acme", Sandbox: chance(a, 2)}
}

func (a *erraticAccounts) Connect(string) (screen.Account, error) {
	switch {
	case a.rarely(10):
		return screen.Account{}, &screen.NotLoggedIn{Message: a.text()}
	case a.rarely(10):
		return screen.Account{}, errors.New(a.text())
	}
	return a.account(a.profile())
}

func (a *erraticAccounts) Login(
	_ context.Context, profile screen.Profile, _ string, _ screen.AskName,
) (screen.Account, string, error) {
	switch a.n(4) {
	case 0:
		return screen.Account{}, "", &client.Error{Code: api.CodeInvalidToken, Message: a.text(),
			Status: http.StatusUnauthorized}
	case 1:
		return screen.Account{}, "", errors.New(a.text())
	}
	profile.APIURL = "https://perks.example/v2"
	account, err := a.account(profile)
	return account, a.text(), err
}

func (a *erraticAccounts) account(profile screen.Profile) (screen.Account, error) {
	c, err := client.New(client.Config{BaseURL: profile.APIURL, Sandbox: profile.Sandbox, Transport: a.service,
		Tokens: client.StaticToken("a token")})
	return screen.Account{Profile: profile, Client: c}, err
}
