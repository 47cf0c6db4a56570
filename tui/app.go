package tui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/uuid"

	"example.com/perks/tui/actions"
	"example.com/perks/tui/screen"
	"example.com/perks/tui/widget"
)

// App is the whole terminal UI as one model.
type App struct {
	shell   *screen.Shell
	options Options

	screens  []screen.Screen  // the last is on top
	kept     screen.Screen    // closed, and can be opened again; may be nil
	overlays []screen.Overlay // likewise

	width, height int
	mouse         bool
	keyed         bool      // what is taken now came of a key
	unasked       time.Time // when the last overlay has come of anything else
	status        status
	link          link
}

// New makes the terminal UI. Nothing is read or sent before Init.
func New(options Options) *App {
	if options.Keys == nil {
		options.Keys = actions.Default()
	}
	if options.Now == nil {
		options.Now = time.Now
	}
	if options.After == nil {
		options.After = func(d time.Duration, msg tea.Msg) tea.Cmd {
			return tea.Tick(d, func(time.Time) tea.Msg { return msg })
		}
	}
	if options.NewID == nil {
		options.NewID = uuid.NewString
	}
	if options.Start == nil {
		options.Start = screen.ToPerks{}
	}
	a := &App{
		options: options,
		mouse:   options.Mouse,
		shell: &screen.Shell{
			Theme:    widget.NewTheme(options.Theme, options.Colours),
			Keys:     options.Keys,
			Accounts: options.Accounts,
			Memory:   options.Memory,
			Desktop:  options.Desktop,
			Now:      options.Now,
			After:    options.After,
			NewID:    options.NewID,
		},
	}
	a.shell.Screens = a.all
	return a
}

// Shell returns what the screens are given.
func (a *App) Shell() *screen.Shell { return a.shell }

// Init connects, and opens the first screen once that is done.
func (a *App) Init() tea.Cmd {
	cmds := []tea.Cmd{a.connect(a.options.Profile), a.listen()}
	if a.mouse {
		cmds = append(cmds, tea.EnableMouseCellMotion)
	}
	return tea.Batch(cmds...)
}

// Update takes one message, and those that screens have posted because of it.
func (a *App) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, a.keyed = msg.(tea.KeyMsg)
	form, field := a.typingIn()
	cmd := tea.Batch(a.take(msg), a.Deliver())
	if now, next := a.typingIn(); form != nil && (now != form || next != field) {
		cmd = tea.Batch(cmd, a.broadcast(screen.FieldLeft{}), a.Deliver())
	}
	return a, cmd
}

// typingIn returns the form of the screen on top, and the field that has the keyboard; no form if none is open.
func (a *App) typingIn() (*widget.Form, string) {
	if a.Top() == nil || a.Top().Form() == nil {
		return nil, ""
	}
	form := a.Top().Form()
	return form, form.Focus()
}

// Deliver takes what screens have posted. Whoever calls a screen without Update has to call it then.
func (a *App) Deliver() tea.Cmd {
	var cmds []tea.Cmd
	for msg, ok := a.shell.Posted(); ok; msg, ok = a.shell.Posted() {
		cmds = append(cmds, a.take(msg))
	}
	return tea.Batch(cmds...)
}

// take takes one message. What is not the shell's own goes to every open screen, because answers may be for one that is
// covered.
func (a *App) take(msg tea.Msg) tea.Cmd {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		a.width, a.height = msg.Width, msg.Height
		a.resize()
		return nil
	case tea.KeyMsg:
		return a.key(msg)
	case tea.MouseMsg:
		return a.point(msg)
	case connected:
		return a.begin(msg)
	case screen.LoggedIn:
		return a.loggedIn(msg.Account)
	case agreed:
		return a.goOn(msg.account)
	case screen.Go:
		return a.open(msg)
	case screen.Back:
		if msg.From != nil && msg.From != a.Top() {
			return nil
		}
		return a.close()
	case screen.Toast:
		return a.tell(msg)
	case screen.Confirm:
		if len(msg.Words) > 0 {
			return a.lay(screen.NewTyped(msg, a.shell.Theme))
		}
		return a.lay(screen.NewConfirm(msg, a.shell.Keys))
	case screen.Pick:
		return a.lay(screen.NewPick(msg, a.shell.Theme))
	case screen.Prompt:
		return a.lay(screen.NewPrompt(msg, a.shell.Theme))
	case perform:
		return a.find(msg.id)
	case notice:
		return tea.Batch(a.tell(screen.Toast{Kind: screen.Note, Text: string(msg)}), a.listen())
	case faded:
		a.status.fade(msg)
		return nil
	case ring:
		return a.call(msg)
	case rang:
		return a.hear(msg)
	}
	return tea.Batch(a.observe(msg), a.passOn(msg))
}

// passOn gives a message to the form that is being filled in, which may have asked for it, and to every screen.
func (a *App) passOn(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	if form := a.face().Form(); form != nil {
		cmd, edited := form.Update(msg)
		cmds = append(cmds, cmd)
		if edited {
			cmds = append(cmds, a.edited(form.Focus()))
		}
	}
	return tea.Batch(append(cmds, a.broadcast(msg))...)
}

func (a *App) broadcast(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	defer a.shell.Covered(false)
	for _, s := range a.all() {
		a.shell.Covered(s != a.Top() || a.Overlay() != nil)
		cmds = append(cmds, s.Update(msg))
	}
	return tea.Batch(cmds...)
}

// Top returns the screen on top; nil before the first is open.
func (a *App) Top() screen.Screen {
	if len(a.screens) == 0 {
		return nil
	}
	return a.screens[len(a.screens)-1]
}

// Overlay returns what lies on top of the screen; nil if nothing does.
func (a *App) Overlay() screen.Overlay {
	if len(a.overlays) == 0 {
		return nil
	}
	return a.overlays[len(a.overlays)-1]
}

// Depth returns how many screens and overlays are open.
func (a *App) Depth() int { return len(a.screens) + len(a.overlays) }
