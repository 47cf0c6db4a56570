// Package tui is the shell of the terminal UI: it maps keys to actions, stacks screens, opens dialogs, and shows
// whether the service can be reached, and as whom.
//
// It knows the service only through api/client, and configuration, keyring and files only through its Options.
package tui

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/uuid"
	"github.com/muesli/termenv"

	"example.com/perks/api"
	"example.com/perks/tui/actions"
	_ "example.com/perks/tui/background" // before bubbletea, see there
	"example.com/perks/tui/screen"
	"example.com/perks/tui/theme"
	"example.com/perks/tui/widget"
)

// App is the terminal UI as one bubbletea model.
type App struct {
	shell   *screen.Shell
	options Options

	screens    []screen.Screen            // of the tab that is shown; the last is on top
	tab        int                        // its index in tabs
	parked     [len(tabs)][]screen.Screen // those of the other tabs
	reopenable screen.Screen              // closed; nil if there is none
	awaiting   screen.Screen              // a step from it waits for the next rows of its list; nil if none does
	overlays   []screen.Overlay           // the last is on top

	width, height int
	bodyHeight    int // for which the screens were laid out
	mouse         bool

	dialogX, dialogY int // where the inside of the top overlay is drawn

	byUser       bool      // the message being handled is a key or a click
	openedAt     time.Time // when the last overlay was opened
	raised       bool      // a reply opened it, not the user
	refusedAt    time.Time // when a key that asks for text was refused, or that text was last typed
	withdrawnAt  time.Time // when a question was last withdrawn
	status       status
	connectivity connectivity
	live         live
	lacking      *screen.Loader[[]string] // what the service does not have
	beats        bool                     // a beat is scheduled
}

// New makes the terminal UI. It reads and sends nothing before Init.
func New(options Options) *App {
	options.Keys, options.Start = cmp.Or(options.Keys, actions.Default()),
		cmp.Or(options.Start, screen.Route(screen.ToPerks{}))
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.After == nil {
		options.After = func(d time.Duration, msg tea.Msg) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return msg })
		}
	}
	if options.Sleep == nil {
		options.Sleep = sleep
	}
	if options.Suspend == nil {
		options.Suspend = func() func() { return func() {} }
	}
	if options.NewID == nil {
		options.NewID = uuid.NewString
	}
	a := &App{
		options: options,
		mouse:   options.Mouse,
		shell: &screen.Shell{
			Theme: theme.New(options.Theme, options.Colours), Keys: options.Keys, Accounts: options.Accounts,
			Memory:  options.Memory,
			Desktop: options.Desktop, Now: options.Now, After: options.After, NewID: options.NewID,
			Command: options.Command, Suspend: options.Suspend, Sleep: options.Sleep,
		},
	}
	if a.options.Exec == nil {
		a.options.Exec = a.runInTerminal
	}
	a.shell.Screens = a.all
	a.live.events = screen.NewBackgroundLoader[api.EventPage](a.shell)
	a.lacking = screen.NewBackgroundLoader[[]string](a.shell)
	return a
}

func (a *App) Shell() *screen.Shell { return a.shell }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Init connects, and then opens the first screen.
func (a *App) Init() tea.Cmd {
	accounts, memory, profile := a.shell.Accounts, a.shell.Memory, a.options.Profile
	connect := func() tea.Msg {
		account, err := accounts.Connect(profile)
		return connected{account, err, memory.Settings()}
	}
	return tea.Batch(connect, a.listen(), a.captureMouse(), a.nextMinute())
}

// minute redraws the ages on the screen.
type minute struct{}

// nextMinute waits for the next redraw. Who listens is not told how ages change.
func (a *App) nextMinute() tea.Cmd {
	if a.shell.Command != nil {
		return nil
	}
	return a.shell.After(time.Minute, minute{})
}

// Update handles a message, and those that screens post because of it.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, isKey := msg.(tea.KeyMsg)
	_, isMouse := msg.(tea.MouseMsg)
	a.byUser = isKey || isMouse
	form, field := a.typingIn()
	cmd := tea.Batch(a.dispatch(msg), a.Deliver(), a.openAwaited())
	if now, next := a.typingIn(); form != nil && (now != form || next != field) {
		cmd = tea.Batch(cmd, a.broadcast(screen.FieldLeft{}), a.Deliver())
	}
	if _, height := a.body(); height != a.bodyHeight { // a message has come, or is gone
		a.resize()
	}
	if _, owes := a.asked(); owes && !a.beats {
		a.beats = true
		cmd = tea.Batch(cmd, a.shell.After(widget.Beat, beat{}))
	}
	return a, cmd
}

// beat redraws how long the user waits for the service.
type beat struct{}

// typingIn returns the form of the top screen and its focused field; nil if it shows no form.
func (a *App) typingIn() (*widget.Form, string) {
	if a.Top() == nil || a.Top().Form() == nil {
		return nil, ""
	}
	form := a.Top().Form()
	return form, form.Focus()
}

// Deliver handles what screens have posted. Call it after calling a screen directly.
func (a *App) Deliver() tea.Cmd {
	var cmds []tea.Cmd
	for msg, ok := a.shell.Posted(); ok; msg, ok = a.shell.Posted() {
		cmds = append(cmds, a.dispatch(msg))
	}
	return tea.Batch(cmds...)
}

// dispatch handles one message. Those that are not for the shell go to every open screen, because a covered one may
// await them.
func (a *App) dispatch(msg tea.Msg) tea.Cmd {
	a.shell.Ends(msg)
	switch msg := msg.(type) {
	case beat:
		a.beats = false
		return nil
	case minute:
		return a.nextMinute()
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		a.resize()
		return nil
	case tea.KeyMsg:
		return a.key(msg)
	case tea.MouseMsg:
		return a.mouseEvent(msg)
	case connected:
		return a.onConnected(msg)
	case screen.LoggedIn:
		return a.loggedIn(msg.Account)
	case switchAccount:
		return a.useAccount(msg.account)
	case screen.Go:
		return a.open(msg)
	case screen.Back:
		if msg.From != nil && msg.From != a.Top() {
			return nil
		}
		return a.close()
	case screen.Toast:
		return a.toast(msg)
	case screen.Question:
		return a.openOverlay(msg.Overlay(a.shell))
	case screen.Withdraw:
		a.withdraw(msg.By)
		return nil
	case screen.Perform:
		return a.doOffered(msg.ID)
	case notice:
		return tea.Batch(a.toast(noticeToast(string(msg))), a.listen())
	case showHint:
		return a.showHint()
	case eventsDue:
		return a.askForEvents(msg)
	case commandEnded:
		return a.endCommand(msg)
	case tea.ResumeMsg:
		return a.captureMouse() // bubbletea does not
	case toastExpired:
		if msg.number == a.status.number {
			a.status.shown = nil
		}
		return nil
	case second:
		return a.countDown(msg)
	case ping:
		return a.ping(msg)
	case pong:
		return a.pong(msg)
	}
	if _, changed := a.lacking.Handle(msg); changed {
		a.shell.Lacking = a.lacking.Value
	}
	cmds := []tea.Cmd{a.observe(msg), a.onEvents(msg)}
	if form := a.target().Form(); form != nil { // its field may await the message
		cmds = append(cmds, a.write(form, msg))
	}
	for _, o := range a.overlays {
		cmds = append(cmds, o.Update(msg))
	}
	return tea.Batch(append(cmds, a.broadcast(msg))...)
}

func (a *App) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	defer a.shell.SetCovered(false)
	for _, s := range a.all() {
		a.shell.SetCovered(s != a.Top() || a.Overlay() != nil)
		cmds = append(cmds, s.Update(msg))
	}
	return tea.Batch(cmds...)
}

// Top returns the screen on top; nil before the first is open.
func (a *App) Top() screen.Screen { return last(a.screens) }

// Overlay returns the top overlay; nil if none is open.
func (a *App) Overlay() screen.Overlay { return last(a.overlays) }

func last[T any](stack []T) (top T) {
	if len(stack) > 0 {
		top = stack[len(stack)-1]
	}
	return top
}

// Depth returns how many screens and overlays are open.
func (a *App) Depth() int { return len(a.screens) + len(a.overlays) }

// Options is what the terminal UI needs. Fields without a comment are required.
type Options struct {
	Accounts screen.Accounts
	Memory   screen.Memory
	Desktop  screen.Desktop

	Profile string // the profile to begin with; empty is the one that flags and environment choose
	Theme   theme.Name
	Colours termenv.Profile
	Keys    *actions.Registry // nil is the default keys
	Mouse   bool              // use the mouse from the start
	Hint    bool              // show once how to begin
	Notify  Notify            // how to tell that something new waits; "" is off
	Start   screen.Route      // the first screen; nil is the list of perks

	// Commands are the user's own. The actions of Keys have their names and keys, in the same order.
	Commands []*Command

	// Notices are sentences from outside the screens, such as that a request waits. May be nil.
	Notices <-chan string
	// Crash saves a crash report, and returns its path. May be nil.
	Crash func(report string) (path string, err error)

	Now   func() time.Time                           // nil is the clock
	After func(d time.Duration, msg tea.Msg) tea.Cmd // nil is the clock
	Sleep func(context.Context, time.Duration) error // nil is the clock; for commands
	NewID func() string                              // nil makes UUIDs

	// Command names an action in a sentence instead of its key. May be nil.
	Command func(id actions.ID) string
	// Suspend leaves interrupts to another program until resume is called. It may be nil.
	Suspend func() (resume func())
	Exec    func([]string, tea.ExecCallback) tea.Cmd // runs a program; nil gives it the terminal
}

// Run shows the terminal UI until the user quits or the context ends, and always restores the terminal. If the program
// fails, the error is a *Crash that says where its report is.
func Run(ctx context.Context, in io.Reader, out io.Writer, options Options) error {
	return RunModel(ctx, in, out, New(options), options.Crash)
}

func RunModel(ctx context.Context, in io.Reader, out io.Writer, model tea.Model,
	keep func(report string) (string, error)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if terminal, ok := in.(*os.File); ok {
		in = &watchedTerminal{terminal, func() { end(errGone) }}
	}
	guarded := &Guard{model: model, crashed: make(chan struct{})}
	program := tea.NewProgram(guarded, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out),
		tea.WithAltScreen(), tea.WithoutSignalHandler())
	_, err := program.Run()
	if app, ok := model.(interface{ SaveDrafts() }); ok {
		app.SaveDrafts()
	}
	switch {
	case guarded.crash != nil:
		return reportCrash(guarded.crash, keep)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, tea.ErrProgramKilled):
		return context.Canceled
	case err != nil:
		return fmt.Errorf("show the terminal UI: %w", err)
	}
	return nil
}

// SaveDrafts saves the drafts of all screens, and closes them. Call it when the program ends. A panic is ignored: after
// a crash, the first one is reported.
func (a *App) SaveDrafts() {
	defer func() { _ = recover() }()
	runAll(draftCommands(a.all()))
	a.stopWriting()
}

// stopTime is how long the end of the program waits for what has to be cleaned up.
const stopTime = 2 * time.Second

// stopWriting closes all screens, and waits until no part of a file is left.
func (a *App) stopWriting() {
	for _, s := range a.all() {
		if leaver, ok := s.(interface{ Close() }); ok {
			leaver.Close()
		}
	}
	stopped := make(chan struct{})
	go func() {
		a.shell.Writing.Lock()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(stopTime):
	}
}

// draftCommands returns the commands that save the drafts of screens.
func draftCommands(screens []screen.Screen) (cmds []tea.Cmd) {
	for _, s := range screens {
		if keeper, ok := s.(screen.DraftSaver); ok {
			if keep := keeper.SaveDraft(); keep != nil {
				cmds = append(cmds, keep)
			}
		}
	}
	return cmds
}

// runAll runs commands one after the other, and returns their messages as a batch.
func runAll(cmds []tea.Cmd) (batch tea.BatchMsg) {
	for _, cmd := range cmds {
		batch = append(batch, screen.Send(cmd()))
	}
	return batch
}

var errGone = errors.New("the terminal is gone")

// watchedTerminal calls closed when its window is closed. Bubbletea would keep running without a keyboard.
type watchedTerminal struct {
	*os.File
	closed func()
}

func (w *watchedTerminal) Read(p []byte) (int, error) {
	n, err := w.File.Read(p)
	if err != nil {
		w.closed()
	}
	return n, err
}

func reportCrash(crash *Crash, keep func(string) (string, error)) error {
	advice := "Changes that you confirmed may have been made: check before you repeat them."
	if keep == nil {
		return fmt.Errorf("%w. %s", crash, advice)
	}
	path, err := keep(crash.Panic + "\n\n" + crash.Stack)
	if err != nil {
		return fmt.Errorf("%w, and its report could not be saved (%s). %s", crash, err, advice)
	}
	return fmt.Errorf("%w. %s The report is in %s", crash, advice, path)
}

// What follows is for those that say what the screen shows instead of drawing it.

// Offline returns since when the service cannot be reached, if it cannot. The accessible mode announces it.
func (a *App) Offline() (since time.Time, lost bool) {
	return a.connectivity.offlineSince, a.connectivity.isOffline()
}

// End saves the drafts of all screens, and returns what is unsaved, a sentence each: drafts are saved, lost is not.
// Call it when the program ends, instead of SaveDrafts.
func (a *App) End() (drafts, lost []string) {
	for _, s := range a.all() {
		text, isKept := s.Unsaved(), false
		for _, keep := range draftCommands([]screen.Screen{s}) {
			result, ok := keep().(interface{ Failed() bool })
			isKept = !ok || !result.Failed()
		}
		switch {
		case text == "":
		case isKept:
			drafts = append(drafts, text)
		case !slices.Contains(lost, text):
			lost = append(lost, text)
		}
	}
	a.stopWriting()
	return drafts, lost
}

// Crashed makes an error of what recover returned, and saves its report as Run does.
func Crashed(reason any, keep func(report string) (path string, err error)) error {
	crash, ok := reason.(*Crash)
	if !ok {
		crash = newCrash(reason)
	}
	return reportCrash(crash, keep)
}
