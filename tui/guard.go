package tui

import (
	"fmt"
	"runtime/debug"

	tea "github.com/charmbracelet/bubbletea"
)

// Crash is a fault in the program, which has ended the terminal UI.
type Crash struct {
	Panic string
	Stack string
}

func (c *Crash) Error() string { return "the terminal UI failed: " + c.Panic }

func newCrash(reason any) *Crash { return &Crash{fmt.Sprint(reason), string(debug.Stack())} }

// Guard keeps a fault in a model from leaving the terminal unusable: it ends the program in the ordinary way, which restores
// the terminal, and keeps what led there. Left to itself, a panic in a command would end the process in the middle of the
// screen.
type Guard struct {
	model   tea.Model
	crash   *Crash
	crashed chan struct{} // closed by a fault in View, which can send no message
}

// Guarded guards a model.
func Guarded(model tea.Model) *Guard { return &Guard{model: model, crashed: make(chan struct{})} }

// Crash returns the fault that has ended the model; nil if there was none.
func (g *Guard) Crash() *Crash { return g.crash }

// Init begins, and waits for faults in View.
func (g *Guard) Init() (cmd tea.Cmd) {
	defer g.endOnPanic(&cmd)
	await := func() tea.Msg { <-g.crashed; return tea.Quit() }
	return tea.Batch(await, g.guard(g.model.Init()))
}

// Update takes a message.
func (g *Guard) Update(msg tea.Msg) (next tea.Model, cmd tea.Cmd) {
	next = g
	if crash, ok := msg.(*Crash); ok && g.crash == nil {
		g.crash = crash
	}
	if g.crash != nil {
		return g, tea.Quit
	}
	defer g.endOnPanic(&cmd)
	_, cmd = g.model.Update(msg)
	return g, g.guard(cmd)
}

// View draws the model, and nothing once it has failed.
func (g *Guard) View() (view string) {
	defer func() {
		if reason := recover(); reason != nil {
			g.crash, view = newCrash(reason), ""
			close(g.crashed)
		}
	}()
	if g.crash != nil {
		return ""
	}
	return g.model.View()
}

func (g *Guard) endOnPanic(cmd *tea.Cmd) {
	if reason := recover(); reason != nil {
		g.crash, *cmd = newCrash(reason), tea.Quit
	}
}

// guard guards a command, and those that it returns.
func (g *Guard) guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if reason := recover(); reason != nil {
				msg = newCrash(reason)
			}
		}()
		msg = cmd()
		if batch, ok := msg.(tea.BatchMsg); ok {
			for i, inner := range batch {
				batch[i] = g.guard(inner)
			}
		}
		return msg
	}
}
